package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cluster"
	"vigil/cluster/clustertest"
)

// lostQuorum gives the data directory of a server whose two companions are gone.
func lostQuorum(t *testing.T) (dir, id string) {
	t.Helper()
	var dirs [3]string
	c := clustertest.New(t, 3, clustertest.OnDisk(),
		clustertest.Configure(func(i int, cfg *cluster.Config) { dirs[i] = cfg.DataDir }))
	c.Agree()
	for i := range dirs {
		if err := c.Stop(i); err != nil {
			t.Fatal(err)
		}
	}
	return dirs[2], c.ID(2)
}

// The command says what it has found and what follows, and does nothing before somebody has
// said yes to it.
func TestN07RecoverAsksBeforeItChangesAnything(t *testing.T) {
	t.Parallel()
	dir, id := lostQuorum(t)
	identity := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "cluster"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	was := identity()
	for _, tt := range []struct {
		name string
		run  terminalRun
		args []string
		code int
		says []string
	}{
		{"only looking", terminalRun{}, []string{"--dry-run"}, 0,
			[]string{"given up", "term ", "must never be used again", "Nothing was changed."}},
		{"nobody to ask", terminalRun{}, nil, 2, []string{"--yes", "--dry-run", "nothing was changed"}},
		{"asked with --json", terminalRun{attended: true}, []string{"--json"}, 2, []string{"--yes"}},
		{"another name", terminalRun{attended: true, in: "y\n"}, nil, 2,
			[]string{"lost for good?", "nothing was changed"}},
		{"both", terminalRun{}, []string{"--yes", "--dry-run"}, 2, []string{"yes"}},
	} {
		code, out, errs := tt.run.do(t, append([]string{"server", "recover", "--data-dir", dir}, tt.args...)...)
		for _, want := range tt.says {
			if code != tt.code || !strings.Contains(out+errs, want) {
				t.Errorf("%s: exit code %d, want %d and %q: %s%s", tt.name, code, tt.code, want, out, errs)
			}
		}
		if identity() != was {
			t.Fatalf("%s: the data was changed", tt.name)
		}
	}
	code, out, errs := terminalRun{attended: true, in: id + "\n"}.do(t, "server", "recover", "--data-dir", dir)
	if code != 0 || strings.Count(out, "join: [") != 1 ||
		!strings.Contains(out, "vigil server --config") || identity() == was {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	code, _, errs = terminalRun{}.do(t, "server", "recover", "--data-dir", dir, "--yes")
	if code != 4 || !strings.Contains(errs, "only member") || !strings.Contains(errs, "just start it") {
		t.Errorf("once more: exit code %d: %s", code, errs)
	}
	for addr, want := range map[string]int{"10.0.0.9": 2, "10.0.0.9:7421": 0} { // alone, it can still move
		code, out, errs = terminalRun{}.do(t, "server", "recover", "--data-dir", dir, "--yes", "--raft-addr", addr)
		if code != want || !strings.Contains(out+errs, addr) {
			t.Errorf("to %s: exit code %d: %s%s", addr, code, out, errs)
		}
	}
}

func TestN07RecoverSaysItInJSON(t *testing.T) {
	t.Parallel()
	dir, id := lostQuorum(t)
	code, out, errs := terminalRun{}.do(t, "server", "recover", "--data-dir", dir, "--yes", "--json")
	var got struct {
		Server       string
		Was, Cluster string
		Lost         []struct{ ID string }
		Index        uint64
		Done         bool
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Server != id || len(got.Lost) != 2 ||
		got.Was == got.Cluster || got.Index == 0 || !got.Done {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, errs)
	}
}

// What cannot be recovered is said with its place and what to do, and left as it is.
func TestN07RecoverRefuses(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	running := ""
	c := clustertest.New(t, 1, clustertest.OnDisk(),
		clustertest.Configure(func(_ int, cfg *cluster.Config) { running = cfg.DataDir }))
	c.Agree()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, dir string
		code      int
		says      []string
	}{
		{"no such directory", filepath.Join(empty, "none"), 2, []string{"none", "--data-dir"}},
		{"no data", empty, 2, []string{empty, "nothing to recover", "data_dir"}},
		{"a file", file, 2, []string{file, "nothing to recover", "data_dir"}},
		{"a server that runs", running, 4, []string{running, "in use", "stop the server that runs there"}},
	} {
		code, out, errs := terminalRun{}.do(t, "server", "recover", "--data-dir", tt.dir, "--yes")
		for _, want := range tt.says {
			if code != tt.code || !strings.Contains(errs, want) {
				t.Errorf("%s: exit code %d, want %d and %q: %s%s", tt.name, code, tt.code, want, out, errs)
			}
		}
		if strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: it said %q, want one line", tt.name, errs)
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) != 1 {
		t.Errorf("it has made %v, %v", left, err)
	}
	code, _, errs := terminalRun{}.do(t, "server", "recover")
	if code != 2 || !strings.Contains(errs, "data-dir") {
		t.Errorf("without a directory: exit code %d: %s", code, errs)
	}
}
