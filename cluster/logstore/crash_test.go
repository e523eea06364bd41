package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// changing are the verbs of steps after which the files are different.
var changing = []string{"make", "allot", "append", "sync", "copy", "write", "put", "delete"}

// crashes looks at the files as they are after each step of what is done with a log.
type crashes struct {
	*diskLog
	must  map[uint64]uint64 // entries that were acknowledged and that no snapshot holds: their terms
	count int
}

func (c *crashes) look(step string) {
	if verb, _, _ := strings.Cut(step, " "); !slices.Contains(changing, verb) {
		return
	}
	c.count++
	after := &diskLog{t: c.t, dir: copyDir(c.t, c.dir), size: c.size, kind: c.kind}
	after.file = filepath.Join(after.dir, "raft.db")
	r, err := after.open()
	if err != nil {
		c.t.Errorf("%s: crash %d at %q: %v", c.kind, c.count, step, err)
		return
	}
	defer r.Close()
	for index, term := range c.must {
		want := distinct(index, index, term)[0]
		var got raft.Log
		if err := r.Log.GetLog(index, &got); err != nil || got.Term != term || !bytes.Equal(got.Data, want.Data) {
			c.t.Errorf("L8: %s: crash %d at %q: entry %d is of term %d, %v", c.kind, c.count, step, index, got.Term, err)
			return
		}
	}
	last, err := r.Log.LastIndex()
	if err != nil {
		c.t.Error(err)
	}
	next := max(last, r.Index) + 1
	if err := r.Log.StoreLogs(distinct(next, next+1, 9)); err != nil {
		c.t.Errorf("%s: crash %d at %q: the log does not go on: %v", c.kind, c.count, step, err)
	}
}

// Whatever is done with a log, and wherever a crash comes: what was acknowledged is there, the log follows
// the snapshot without a gap, and can be written again.
func TestL8CrashAtAnyStepLosesNothing(t *testing.T) {
	for _, kind := range []Kind{Bolt, WAL} {
		c := &crashes{diskLog: walDir(t), must: map[uint64]uint64{}}
		if kind == Bolt {
			c.diskLog = newDiskLog(t, 9)
		}
		c.kind, c.size = kind, 4<<10
		r, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c.after = c.look
		if r, err = c.open(); err != nil {
			t.Fatal(err)
		}
		if _, says := any(r.Log).(raft.MonotonicLogStore); says {
			t.Error("L8: raft would delete what is acknowledged behind a snapshot that is sent twice")
		}
		store := func(from, to, term uint64) {
			for i := from; i <= to; i += 8 {
				if err := r.Log.StoreLogs(distinct(i, min(i+7, to), term)); err != nil {
					t.Fatal(err)
				}
				for j := i; j <= min(i+7, to); j++ {
					c.must[j] = term
				}
			}
		}
		drop := func(from, to uint64, do func() error) {
			for i := from; i <= to; i++ {
				delete(c.must, i)
			}
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		store(1, 100, 1)
		drop(81, 100, func() error { return r.Log.DeleteRange(81, 100) }) // another leader has others
		store(81, 90, 2)
		c.snapshot(60, 1)
		drop(1, 50, func() error { return r.Log.DeleteRange(1, 50) })
		c.snapshot(70, 1)
		drop(1, 70, func() error { return r.Log.Covered(70) }) // sent, and shorter than the log
		store(91, 95, 2)
		clear(c.must) // the next one is of another history
		c.snapshot(200, 3)
		drop(1, 200, func() error { return r.Log.Covered(200) })
		store(201, 220, 3)
		drop(201, 220, func() error { return r.Log.DeleteRange(201, 220) })
		store(201, 203, 4)
		if err := r.dir.Close(); err != nil {
			t.Fatal(err)
		}
		if c.count < 20 {
			t.Errorf("%s: only %d steps", kind, c.count)
		}
	}
}

// A write counts once the disk has it: what is answered after it is in the files, and when the disk refuses,
// nothing is answered.
func TestL8WriteIsAnsweredWhenItIsDurable(t *testing.T) {
	d := walDir(t)
	var steps []string
	d.after = func(step string) { steps = append(steps, step) }
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	steps = nil
	if err := r.Log.StoreLogs(distinct(1, 3, 1)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(steps); got != "[append to log segment sync log segment write log]" {
		t.Errorf("a write took the steps %s", got)
	}
	if err := r.dir.wal.Close(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- r.Log.StoreLogs(distinct(4, 4, 1)) }() // stays there
	if err := <-r.fatal; !errors.Is(err, ErrDiskFailed) {
		t.Errorf("a write to a log that is gone: %v", err)
	}
	select {
	case err := <-answered:
		t.Errorf("L8: it was answered: %v", err)
	default:
	}
}
