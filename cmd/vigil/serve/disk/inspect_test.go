package disk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// A directory tells what is in it, of one object what the log says and how it is, with texts only when asked for
// them and secrets never. Nothing in it changes.
func TestInspectTellsWhatIsInADirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("servers on disk, in real time")
	}
	var dirs [2]string
	c := clustertest.New(t, 2, clustertest.OnDisk(),
		clustertest.Configure(func(i int, cfg *cluster.Config) { dirs[i] = cfg.DataDir }))
	k := c.Client()
	do := func(cmd fsm.Command) noun.Outcome {
		out := k.Do(cmd)
		if out.Code != noun.OK {
			t.Fatalf("%T: %+v", cmd, out)
		}
		return out
	}
	do(fsm.ApplyRoom{Room: "web", Roles: []noun.RoleSpec{{Name: "builder", Replicas: 1}}})
	do(fsm.RegisterHost{Key: "the-key-of-h", Name: "h1", Boot: "b"})
	id := do(fsm.CreateTask{Room: "web", Role: "builder", Title: "very private", Text: "tell nobody"}).Task
	do(fsm.CreateTask{Room: "web", Role: "builder", Title: "another one"})
	c.Agree()
	for i := range dirs {
		var out bytes.Buffer
		run := func(i inspecting, dir string) (string, error) {
			out.Reset()
			i.App = &cli.App{Terminal: term.Terminal{Out: &out, Err: &out, JSON: i.App != nil}}
			err := i.run(dir)
			return out.String(), err
		}
		if _, err := run(inspecting{}, dirs[i]); cli.ExitCode(err) != cli.ExitConflict {
			t.Errorf("while the server runs: %v", err)
		}
		if err := c.Stop(i); err != nil {
			t.Fatal(err)
		}
		before := bytesOf(t, dirs[i])
		kind := []string{"bolt", "wal"}[i]
		for _, tt := range []struct {
			name  string
			i     inspecting
			code  int
			has   []string
			lacks []string
		}{
			{"all", inspecting{}, 0, []string{c.ID(i), kind + ", entries 1 to", "CreateTask", "terms "}, nil},
			{"all as JSON", inspecting{App: &cli.App{}}, 0, []string{`"log":"` + kind + `"`}, nil},
			{"entries", inspecting{entries: ".."}, 0, []string{"Title=<12 bytes>", "Room=web", "RegisterHost", "members"},
				[]string{"private", "the-key"}},
			{"entries with texts", inspecting{entries: "1..", texts: true}, 0, []string{`"very private"`}, []string{"the-key"}},
			{"no entries", inspecting{entries: "100000.."}, cli.ExitConflict, nil, nil},
			{"no numbers", inspecting{entries: "a..b"}, cli.ExitUsage, nil, nil},
			{"a task", inspecting{object: fmt.Sprint("task/", id)}, 0, []string{"CreateTask", "-> task.created", "State="},
				[]string{"private", "nobody", "another"}},
			{"an agent", inspecting{object: "agent/web/builder"}, 0,
				[]string{"agent/web/builder after entry", "Name=web/builder"}, nil},
			{"a host", inspecting{object: "host/h1"}, 0, []string{"RegisterHost", "Name=h1"}, []string{"the-key"}},
			{"nobody", inspecting{object: "host/h2"}, 0, []string{"there is no host/h2"}, nil},
			{"nothing", inspecting{object: "room/web"}, cli.ExitUsage, nil, nil},
		} {
			text, err := run(tt.i, dirs[i])
			if got := cli.ExitCode(err); got != tt.code {
				t.Errorf("%s, %s: exit code %d, want %d: %v", kind, tt.name, got, tt.code, err)
			}
			for _, w := range tt.has {
				if !strings.Contains(text, w) {
					t.Errorf("%s, %s: want %q in:\n%s", kind, tt.name, w, text)
				}
			}
			for _, w := range tt.lacks {
				if strings.Contains(text, w) {
					t.Errorf("%s, %s: %q is in:\n%s", kind, tt.name, w, text)
				}
			}
		}
		if after := bytesOf(t, dirs[i]); before != after {
			t.Errorf("%s: the directory was changed", kind)
		}
		if _, err := run(inspecting{}, t.TempDir()); cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("an empty directory: %v", err)
		}
		c.Restart(i)
		c.Leader()
	}
}

// An entry that cannot be applied is named, with its sum.
func TestInspectNamesTheEntryThatCannotBeApplied(t *testing.T) {
	dir, broken, _ := chokedServer(t)
	var out bytes.Buffer
	i := inspecting{App: &cli.App{Terminal: term.Terminal{Out: &out, Err: &out}}, object: "task/1", defect: chokes}
	if err := i.run(dir); err != nil || !strings.Contains(out.String(), broken.Sum) ||
		!strings.Contains(out.String(), "OpenSession") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// bytesOf is all that is in a directory.
func bytesOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		all.WriteString(path)
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
