package logstore

import (
	"go/build"
	"strings"
	"testing"
)

// The room knows raft and the disk; of the state machine, how a snapshot is loaded.
func TestImportsStayInTheRoom(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.HasPrefix(path, "vigil/") && path != "vigil/fsm" {
			t.Errorf("imports %s", path)
		}
	}
}
