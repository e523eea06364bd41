package term

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// PrintJSON prints v as one JSON object. Messages keep the field names of the
// public interface, with every field present, so that scripts need no defaults.
func (t *Terminal) PrintJSON(v any) error {
	b, err := Marshal(v)
	if err != nil {
		return err
	}
	_, err = t.Out.Write(append(b, '\n'))
	return err
}

// Marshal renders one line. protojson puts spaces in at random, so its output is
// rendered again; names stay in the order of the message.
func Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return json.Marshal(v)
	}
	b, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(json.RawMessage(b))
}
