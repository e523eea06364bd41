package duty

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Duties know the state machine and nothing of replication, network or clients.
func TestImports(t *testing.T) {
	allowed := map[string]bool{"vigil/fsm": true, "vigil/fsm/noun": true, "github.com/hashicorp/go-hclog": true}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if first, _, _ := strings.Cut(path, "/"); (strings.Contains(first, ".") || first == "vigil") &&
				!allowed[path] {
				t.Errorf("%s imports %s; allowed are the standard library, fsm and hclog", name, path)
			}
		}
	}
}
