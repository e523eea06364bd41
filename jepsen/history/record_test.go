package history

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
)

// What many goroutines record is read back, for each of them in its order.
func TestRecord(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	r, err := Create(folder)
	if err != nil {
		t.Fatal(err)
	}
	const processes, each = 8, 50
	var all sync.WaitGroup
	for p := range processes {
		all.Go(func() {
			for n := range each {
				r.Op(Op{Workload: "reads", Process: p, Kind: "get", Call: int64(n), Return: int64(n + 1),
					Outcome: OK, List: []string{"a", "b"}})
				r.Look(Look{Agent: fmt.Sprint(p), At: int64(n)})
				r.Event(Event{Watcher: p, Seq: uint64(n), Text: "two\nlines"})
			}
		})
	}
	all.Wait()
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, opsFile)); err != nil || len(text) == 0 {
		t.Fatalf("after a flush the file has %d bytes (%v)", len(text), err)
	}
	fault := Fault{Kind: "kill", Lane: "servers", From: 1, To: 2,
		Effects: []Effect{{Machine: "s1", What: Killed, From: 1, To: 2}}}
	r.Fault(fault)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	run := Run{Command: "vigil jepsen", Seed: 7, Servers: []string{"s1"}, Settings: map[string]string{"ttl": "2s"}}
	if err := WriteRun(folder, run); err != nil {
		t.Fatal(err)
	}
	got, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Run, run) {
		t.Errorf("run: got %+v, want %+v", got.Run, run)
	}
	if !reflect.DeepEqual(got.Faults, []Fault{fault}) {
		t.Errorf("faults: got %+v, want %+v", got.Faults, fault)
	}
	if len(got.Ops) != processes*each || len(got.Looks) != processes*each || len(got.Events) != processes*each {
		t.Fatalf("got %d ops, %d looks, %d events, want %d of each", len(got.Ops), len(got.Looks),
			len(got.Events), processes*each)
	}
	next := map[int]int64{}
	for _, op := range got.Ops {
		if op.Call != next[op.Process] || !reflect.DeepEqual(op.List, []string{"a", "b"}) {
			t.Errorf("process %d: got %+v, want call %d", op.Process, op, next[op.Process])
		}
		next[op.Process]++
	}
	if got.Events[0].Text != "two\nlines" {
		t.Errorf("text: got %q", got.Events[0].Text)
	}
}

// A line that was cut off by a kill is left out; one that is broken inside is an error.
func TestReadCutOff(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ops        int
		fails      bool
	}{
		{"whole", "{\"kind\":\"a\"}\n{\"kind\":\"b\"}\n", 2, false},
		{"cut", "{\"kind\":\"a\"}\n{\"kind\":\"", 1, false},
		{"only a cut line", "{\"ki", 0, false},
		{"empty", "", 0, false},
		{"broken inside", "{\"kind\":\n{\"kind\":\"b\"}\n", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := WriteRun(folder, Run{}); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, opsFile), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Read(folder)
			if (err != nil) != c.fails {
				t.Fatalf("error: got %v, want one: %v", err, c.fails)
			}
			if err == nil && len(r.Ops) != c.ops {
				t.Errorf("ops: got %d, want %d", len(r.Ops), c.ops)
			}
		})
	}
}

// A record is never written over another one, and a folder without a run is none.
func TestFolder(t *testing.T) {
	folder := t.TempDir()
	r, err := Create(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(folder); err == nil {
		t.Error("a second record was begun in the same folder")
	}
	if _, err := Read(folder); err == nil {
		t.Error("a folder without a run was read")
	}
}
