package backup

import (
	"go/build"
	"slices"
	"strings"
	"testing"
)

// The room knows the state only, and never a door.
func TestImportsStayInTheRoom(t *testing.T) {
	allowed := []string{"vigil/fsm"}
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.HasPrefix(path, "vigil/") && !slices.Contains(allowed, path) {
			t.Errorf("imports %s", path)
		}
	}
}
