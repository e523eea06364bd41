package record

import (
	"go/build"
	"strings"
	"testing"
)

// The room knows the commands of the state machine and nothing of how they are replicated.
func TestImportsStayInTheRoom(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if path == "vigil/fsm" || path == "vigil/fsm/noun" || path == "google.golang.org/protobuf/encoding/protowire" {
			continue
		}
		if strings.Contains(path, ".") || strings.HasPrefix(path, "vigil/") {
			t.Errorf("imports %s", path)
		}
	}
}
