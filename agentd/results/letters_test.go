package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/agentd/disk"
)

// What agents can make of it stays small, and none pushes out the letters of others.
func TestA08DeadLettersAreBounded(t *testing.T) {
	d := &Letters{Dir: filepath.Join(t.TempDir(), "dead-letters")}
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour)
	keep := func(agent uint32, task uint64, size int) {
		t.Helper()
		s := Spool{Intent: disk.Intent{Agent: agent, Incarnation: 1}}
		if err := d.Keep(s, "", &Completion{Task: task, Result: strings.Repeat("x", size)},
			"no"); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if err := os.Chtimes(filepath.Join(d.Dir, fmt.Sprintf("%d-1-%d-0.json", agent, task)), at,
			at); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	keep(2, 7, 1)
	keep(2, 7, 1)
	for task := range uint64(100) {
		keep(1, task, 1)
	}
	count := func() int {
		t.Helper()
		list, err := os.ReadDir(d.Dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := count(); n != maxLettersAgent+1 || d.Kept() != int64(n) {
		t.Errorf("%d files, %d counted", n, d.Kept())
	}
	if _, err := os.Stat(filepath.Join(d.Dir, "1-1-99-0.json")); err != nil {
		t.Errorf("the newest: %v", err)
	}
	d.bytes = 4000
	for agent := range uint32(5) {
		keep(10+agent, 1, 1000)
	}
	if n := count(); n > 4 || n < 3 {
		t.Errorf("%d files", n)
	}
	// Where no other file can be written the one of the spool is moved.
	from, to := filepath.Join(t.TempDir(), "01.json"), filepath.Join(d.Dir, "3-1-9-0.json")
	err := errors.Join(os.WriteFile(from, []byte("it"), 0o600), os.Mkdir(to+".new", 0o700))
	if err = errors.Join(err, d.Keep(Spool{Intent: disk.Intent{Agent: 3, Incarnation: 1}}, from,
		&Completion{Task: 9}, "no")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "it" {
		t.Errorf("%q, %v", text, err)
	}
}
