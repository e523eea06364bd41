package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms are the rooms of this tree, from the bottom up. Each may import those above it in the list
// that it names, and the rest of vigil where it says so.
var rooms = [...]struct{ name, imports string }{
	{"term", "fsm rpc"},
	{"cli", "term rpc"},
	{"join", "cli rpc"},
	{"life", "cli rpc agentd"},
	{"trust", "join cli term rpc"},
	{"servers", "cli term fsm rpc"},
	{"conf", "cli term fsm cluster rpc agentd"},
	{"doctor", "conf cli term rpc"},
	{"backups", "servers conf cli term fsm cluster rpc"},
	{"serve", "join conf cli term fsm cluster rpc agentd"},
	{"agent", "life cli term fsm rpc agentd"},
	{"people", "servers agent join conf life cli term fsm rpc agentd"},
	{"mcp", "agent life cli term rpc agentd"},
	{"top", "cli term rpc"},
	{"ui", "cli conf term rpc"},
	{"new", "cli rpc"},
	{"dev", "ui people serve join conf life cli term rpc agentd"},
	{"bench", "bench cli fsm cluster rpc agentd"},
}

// The rooms of the program rest on each other in one direction, and none imports what judges it.
func TestImportsOfTheRooms(t *testing.T) {
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join(room.name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("room %s: %v, %d files", room.name, err, len(files))
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, path := range importsOf(t, file) {
				top, ours := strings.CutPrefix(path, "vigil/")
				if !ours {
					continue
				}
				top = strings.TrimPrefix(top, "cmd/vigil/")
				if top, _, _ = strings.Cut(top, "/"); !slices.Contains(strings.Fields(room.imports), top) {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
	folders, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		listed := slices.ContainsFunc(rooms[:],
			func(r struct{ name, imports string }) bool { return r.name == f.Name() })
		if f.IsDir() && f.Name() != "testdata" && !listed {
			t.Errorf("room %s is not in the table", f.Name())
		}
	}
}

func importsOf(t *testing.T, file string) (paths []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
