package ui

import (
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"

	"vigil/cmd/vigil/conf"
)

// maxRoomFile is how long a room file may be, in bytes.
const maxRoomFile = 1 << 20

// roomFile reads a room file as `vigil apply` does, and gives what the API would be asked for, room by room.
// It asks nobody and changes nothing.
func (s *Server) roomFile(w http.ResponseWriter, r *http.Request) {
	if !isPost(w, r) || s.signedIn(w, r) == nil {
		return
	}
	var body struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxRoomFile)).Decode(&body); err != nil ||
		len(body.Text) > maxRoomFile {
		refuse(w, http.StatusBadRequest, "invalid", "The room file is longer than 1 MiB, or no text.")
		return
	}
	rooms, err := conf.ParseRooms("room file", body.Text)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid", err.Error())
		return
	}
	var out struct {
		Rooms []json.RawMessage `json:"rooms"`
	}
	for _, room := range rooms {
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(room)
		if err != nil {
			refuse(w, http.StatusBadRequest, "invalid", "The room file holds a value that cannot be sent: "+err.Error())
			return
		}
		out.Rooms = append(out.Rooms, text)
	}
	answer(w, out)
}
