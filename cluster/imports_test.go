package cluster

import (
	"go/build"
	"slices"
	"strings"
	"testing"
)

// The room knows the state machine and the form of the log, never another door.
func TestImportsStayInTheRoom(t *testing.T) {
	allowed := []string{"vigil/fsm", "vigil/fsm/noun", "vigil/cluster", "vigil/cluster/record",
		"vigil/cluster/logstore", "vigil/cluster/wire"}
	for _, dir := range []string{".", "clustertest"} {
		pkg, err := build.ImportDir(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range pkg.Imports {
			if strings.HasPrefix(path, "vigil/") && !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", dir, path)
			}
			if path == "vigil/cluster/clustertest" {
				t.Errorf("%s imports %s, which is for tests", dir, path)
			}
			if path == "testing" && dir == "." {
				t.Error("production code imports testing")
			}
		}
	}
}
