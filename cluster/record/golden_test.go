package record

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"vigil/fsm"
)

var update = flag.Bool("update", false, "write golden files")

// grown are the commands that got fields since their golden file was written, each
// with the number of its newest file: SetAgent.hex is read for ever, SetAgent.2.hex
// has all fields of today.
func grown() map[string]int {
	return map[string]int{"PutServer": 3, "ApplyRoom": 12, "DeleteRoom": 2, "SetAgent": 3,
		"SetPause": 2, "DrainHost": 2, "RestartAgent": 3, "UnparkAgent": 2, "NoteNudge": 2,
		"RegisterHost": 4, "ReportExit": 2, "CreateTask": 5, "FailTask": 4, "ProgressTask": 2, "SetRoomWatch": 2,
		"CompleteTask": 2, "Handoff": 2, "AnswerLook": 2, "Claim": 2,
		"NoteLeaf": 3}
}

// TestGoldenBytesDecodeForEver reads what earlier versions wrote. Files are added
// when commands or fields are added (go test -run Golden -update), never changed.
func TestGoldenBytesDecodeForEver(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, cmd := range commands() {
		cmd = filled(r, cmd)
		name := reflect.TypeOf(cmd).Name()
		newest := max(1, grown()[name])
		for n := 1; n <= newest; n++ {
			file := name + ".hex"
			if n > 1 {
				file = fmt.Sprintf("%s.%d.hex", name, n)
			}
			data, e := golden(t, filepath.Join("testdata", "log", file), cmd)
			if len(e.Requests) != 1 || reflect.TypeOf(e.Requests[0].Cmd) != reflect.TypeOf(cmd) || e.Stint != 3 {
				t.Fatalf("%s became %+v", file, e)
			}
			again, err := Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, data) {
				t.Errorf("%s: encodes differently now", file)
			}
			if n == newest {
				everyFieldIsSet(t, file, reflect.ValueOf(e.Requests[0].Cmd))
			}
		}
	}
}

// golden reads and decodes a file of encoded bytes; with -update it writes one that
// is not there, of an entry with cmd.
func golden(t *testing.T, path string, cmd fsm.Command) ([]byte, *fsm.Entry) {
	t.Helper()
	if _, err := os.Stat(path); *update && os.IsNotExist(err) {
		data, err := Encode(&fsm.Entry{Stint: 3, Stamp: 5e9, Wall: 1,
			Requests: []fsm.Request{{Session: 9, Seq: 2, Planned: true, Cmd: cmd}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(hex.EncodeToString(data)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	e := &fsm.Entry{}
	if err := Decode(data, e); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return data, e
}

// everyFieldIsSet fails when the newest golden file of a command lacks a field that
// the command has: it got the field without a new file.
func everyFieldIsSet(t *testing.T, at string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			everyFieldIsSet(t, at+" "+v.Type().Field(i).Name, v.Field(i))
		}
	case v.IsZero():
		t.Errorf("%s is not set: raise the command's number in grown by one (2 when it is not there yet), then "+
			"go test ./cluster/record -run Golden -update writes the next file", at)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			everyFieldIsSet(t, at, v.Index(i))
		}
	}
}

// What a request says beside its command is read for ever, too.
func TestGoldenBytesOfTheAuditDecodeForEver(t *testing.T) {
	path := filepath.Join("testdata", "audit.hex")
	entry := &fsm.Entry{Stint: 3, Stamp: 5e9, Wall: 1, Requests: []fsm.Request{{Session: 9, Seq: 2, Cmd: fsm.NoteAudit{},
		Audit: []fsm.AuditNote{{Who: "user/anna", Method: "Fleet/SetPause", Room: "web", Source: "10.0.0.9:4711",
			Digest: "00ff"}}}}}
	if _, err := os.Stat(path); *update && os.IsNotExist(err) {
		data, err := Encode(entry)
		if err == nil {
			err = os.WriteFile(path, []byte(hex.EncodeToString(data)+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, e := golden(t, path, fsm.NoteAudit{})
	if !reflect.DeepEqual(e.Requests, entry.Requests) {
		t.Errorf("read is %+v, want %+v", e.Requests, entry.Requests)
	}
	if again, err := Encode(e); err != nil || !bytes.Equal(again, data) {
		t.Errorf("it encodes differently now (%v)", err)
	}
}
