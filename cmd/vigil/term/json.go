package term

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"

	"vigil/rpc/jsonform"
)

// PrintJSON prints v as one JSON object. Messages have the form of answers over HTTP, see
// package jsonform: what is not there is absent, lists are always there.
func (t *Terminal) PrintJSON(v any) error {
	b, err := Marshal(v)
	if err != nil {
		return err
	}
	_, err = t.Out.Write(append(b, '\n'))
	return err
}

// Marshal renders one line.
func Marshal(v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return jsonform.Append(nil, m.ProtoReflect())
	}
	return json.Marshal(v)
}
