package main

import (
	"go/parser"
	"go/token"
	"io/fs"
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
	{"serve/disk", "cli term fsm cluster"},
	{"serve", "serve/disk join conf cli term fsm cluster rpc agentd"},
	{"agent", "life cli term fsm rpc agentd"},
	{"people/deadlines", "cli term rpc"},
	{"people/events", "cli term rpc"},
	{"people/usage", "cli term rpc"},
	{"people/watchdog", "cli term rpc"},
	{"people/terminal", "conf cli term rpc agentd"},
	{"people/mail", "people/events agent life cli term rpc"},
	{"people/tasks", "people/usage people/events agent life cli term fsm rpc"},
	{"people/agents", "people/tasks people/terminal people/usage people/events people/deadlines agent cli term fsm rpc"},
	{"people/hosts", "people/agents cli term rpc"},
	{"people/rooms", "people/watchdog people/deadlines conf cli term rpc"},
	{"people", "people/rooms people/hosts people/agents people/tasks people/mail people/terminal people/watchdog " +
		"people/usage people/events servers cli term rpc"},
	{"mcp", "agent life cli term rpc agentd"},
	{"top", "cli term rpc"},
	{"ui", "cli conf term rpc"},
	{"new", "cli rpc"},
	{"dev", "ui people/events serve join conf life cli term rpc agentd"},
	{"bench/ledger", ""},
	{"bench", "bench/ledger cli fsm cluster rpc agentd"},
}

// The rooms of the program rest on each other in one direction, and none imports what judges it.
func TestImportsOfTheRooms(t *testing.T) {
	above := map[string]bool{}
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
				rest, ours := strings.CutPrefix(path, "vigil/")
				if !ours {
					continue
				}
				name, here := strings.CutPrefix(rest, "cmd/vigil/")
				if !here {
					name, _, _ = strings.Cut(rest, "/")
				}
				if !slices.Contains(strings.Fields(room.imports), name) || here && !above[name] {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
		above[room.name] = true
	}
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		folder := filepath.ToSlash(filepath.Dir(file))
		if err == nil && strings.HasSuffix(file, ".go") && folder != "." && !above[folder] {
			t.Errorf("room %s is not in the table", folder)
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
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
