package fsm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// L12: the state machine reads nothing but state and entry. No clock, randomness,
// goroutine, lock, file, log or network is within its reach.
func TestL12NothingButStateAndEntry(t *testing.T) {
	allowed := map[string]bool{"bufio": true, "cmp": true, "crypto/sha256": true, "encoding/binary": true, "errors": true, "fmt": true,
		"hash/crc32": true, "io": true, "iter": true, "reflect": true, "slices": true, "strconv": true, "strings": true,
		"time": true, "unicode/utf8": true, "unsafe": true, "github.com/tidwall/btree": true}
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true, "Tick": true,
		"NewTicker": true, "NewTimer": true, "Sleep": true}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, entry := range files {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if path, _ := strconv.Unquote(imp.Path.Value); !allowed[path] {
				t.Errorf("%s imports %s", name, path)
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
	}
	if seen < 20 {
		t.Fatalf("only %d files were looked at", seen)
	}
}
