package conf

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
)

// RoomsJSON reads a room file as ParseRooms does and gives the requests as a list in JSON, for the page.
func RoomsJSON(text string) ([]byte, error) {
	rooms, err := ParseRooms("room file", text)
	if err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for _, room := range rooms {
		one, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(room)
		if err != nil {
			return nil, fmt.Errorf("room %s holds a value that cannot be sent: %w", room.GetRoom(), err)
		}
		out = append(out, one)
	}
	return json.Marshal(out)
}
