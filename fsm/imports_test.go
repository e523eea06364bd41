package fsm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imports are the folders of the state machine with those beneath fsm that each may import: no arrow
// goes up, and no watchdog knows another. The folder fsm itself may import all but judge.
var imports = map[string][]string{
	"table":            nil,
	"noun":             nil,
	"image":            nil,
	"judge":            {"noun"},
	"due":              {"noun"},
	"core":             {"noun", "table", "due"},
	"evidence":         {"noun", "judge", "core", "due"},
	"watch/mail":       {"noun", "core", "due"},
	"watch/escalation": {"noun", "core", "due"},
	"watch/silence":    {"noun", "core", "due"},
	"watch/screen":     {"noun", "core", "due"},
	"watch/ladder":     {"noun", "judge", "core", "evidence", "due"},
	"watch/budget":     {"noun", "core", "due"},
	"watch/chain":      {"noun", "judge", "core", "evidence", "due"},
	"trust":            {"noun", "core"},
}

// mayImport tells whether a folder of the state machine may import another one.
func mayImport(folder, other string) bool {
	if folder == "." {
		_, known := imports[other]
		return known && other != "judge"
	}
	return slices.Contains(imports[folder], other)
}

// A folder that is gone has no line left.
func TestImportsNameFoldersThatExist(t *testing.T) {
	for folder := range imports {
		if files, err := filepath.Glob(filepath.Join(folder, "*.go")); err != nil || len(files) == 0 {
			t.Errorf("%s has %d files of Go, %v: take its line out of imports", folder, len(files), err)
		}
	}
}

// L12: the state machine reads nothing but state and entry. No clock, randomness,
// goroutine, lock, file, log or network is within its reach.
func TestL12NothingButStateAndEntry(t *testing.T) {
	allowed := map[string]bool{"bufio": true, "cmp": true, "crypto/sha256": true, "encoding/binary": true,
		"errors": true, "fmt": true,
		"hash/crc32": true, "io": true, "iter": true, "reflect": true, "slices": true, "strconv": true, "strings": true,
		"time": true, "unicode/utf8": true, "unsafe": true, "github.com/tidwall/btree": true}
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true, "Tick": true,
		"NewTicker": true, "NewTimer": true, "Sleep": true}
	seen := 0
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		seen++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			below, ours := strings.CutPrefix(path, "vigil/fsm/")
			switch {
			case ours && !mayImport(filepath.Dir(name), below):
				t.Errorf("%s imports %s: no arrow goes up, and no watchdog knows another; a new folder needs "+
					"a line in imports", name, path)
			case !ours && !allowed[path]:
				t.Errorf("%s imports %s: the state machine has only what allowed names", name, path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			bad := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				bad = "starts a goroutine"
			case *ast.SelectStmt, *ast.ChanType:
				bad = "uses a channel"
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					bad = "has an init"
				}
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && clock[n.Sel.Name] {
					bad = "reads a clock"
				}
			}
			if bad != "" {
				t.Errorf("%s %s", set.Position(n.Pos()), bad)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files were looked at", seen)
	}
}
