package gossip

import (
	"go/build"
	"strings"
	"testing"
)

// Servers and hosts both use this package, so it knows nothing of either.
func TestImportsNothingOfOurs(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.HasPrefix(path, "vigil/") {
			t.Errorf("gossip imports %s", path)
		}
	}
}
