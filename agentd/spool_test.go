package agentd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/results"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// leave does what an agent does that could not deliver a completion.
func leave(t *testing.T, spool, name string, c results.Completion) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	temporary := filepath.Join(spool, "."+name)
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(spool, name+".json")); err != nil {
		t.Fatal(err)
	}
}

// L8: a completion that no server took is delivered by agentd, in order, as soon as
// one does.
func TestCompletionsOfARunningAgent(t *testing.T) {
	r, p := newPuppetRig(t, true)
	r.stream.orders(t, order("start", 1, 5, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	spool := spoolOf(t, one.spec)
	var calls atomic.Int32
	r.set(func() {
		r.onWork = func(*vigilv1.CompleteTaskRequest) error {
			if calls.Add(1) <= 2 {
				return no("unavailable")
			}
			return nil
		}
	})
	c := results.Completion{Agent: "demo/r1", Incarnation: 5, Task: 8, Attempt: 2, Result: "second", Token: "secret",
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	leave(t, spool, "02", c)
	c.Task, c.Attempt, c.Result, c.Traceparent = 7, 1, "first", "secret\nsecret"
	leave(t, spool, "01", c)
	var got []string
	for len(got) < 4 {
		r.advance(4 * time.Second)
		w := next(t, r.completed)
		s := w.GetSpeaker()
		if s.GetAgent() != "demo/r1" || s.GetIncarnation() != 5 || s.GetToken() != "secret" {
			t.Fatalf("completion %v", w)
		}
		got = append(got, w.GetResult())
	}
	if strings.Join(got, " ") != "first first first second" {
		t.Errorf("delivered %q", got)
	}
	until(t, "an empty spool", func() bool {
		left, _ := os.ReadDir(spool)
		return len(left) == 0
	})
	if log := r.log.String(); strings.Contains(log, "secret") || // nor the token
		strings.Count(log, "was delivered") != 2 || strings.Count(log, "trace=4bf92f3577b34da6a3ce929d0e0e4736") != 1 {
		t.Errorf("the log says:\n%s", log)
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// What the agent left is delivered before its end is, also by a later daemon.
func TestCompletionsComeBeforeTheEnd(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.streams).orders(t, order("start", 1, 1, "wait"))
	a := next(t, h.agents)
	a.expect(t, "up")
	next(t, h.starts)
	d.kill(t)
	leave(t, filepath.Join(h.spec.Dir, "lives", "1-1", shim.SpoolFolder), "01",
		results.Completion{Agent: "demo/r1", Incarnation: 1, Task: 7, Attempt: 1, Result: "done", Token: "x"})
	a.conn.Close()
	until(t, "the record", func() bool { return disk.ReadExit(filepath.Join(h.spec.Dir, "lives", "1-1")) != nil })
	taken := make(chan bool, 1)
	h.set(func() {
		h.onWork = func(*vigilv1.CompleteTaskRequest) error { taken <- true; return nil }
		h.onExit = func(*vigilv1.ReportExitRequest) error {
			if len(taken) != 1 {
				t.Error("the end came before the completion")
			}
			return nil
		}
	})
	d = h.start(t)
	if w := next(t, h.completed); w.GetResult() != "done" || w.GetTask() != 7 {
		t.Errorf("completion %v", w)
	}
	next(t, h.exits)
	d.stop(t)
	h.clear(t)
	none(t, h.completed, "delivered twice")
}

// L8: what an agent had finished when its host went down is delivered after the
// reboot, at once: the fence of its life holds the registration up and may not be over.
func TestCompletionsSurviveAReboot(t *testing.T) {
	r, p := newPuppetRig(t, false)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	folder, lock, err := disk.Journal{Dir: r.dir + "/lives"}.Begin(disk.Intent{Version: 1, Boot: "boot-0", Agent: 1,
		AgentName:   "demo/r1",
		Incarnation: 3, TTL: time.Minute, SpoolOwner: os.Geteuid()}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	c := results.Completion{Agent: "demo/r1", Incarnation: 3, Task: 7, Attempt: 1, Token: "x"}
	for i := range 2*results.MaxFiles + 1 { // more than one look takes
		c.Result = fmt.Sprintf("%03d", i)
		leave(t, filepath.Join(folder, shim.SpoolFolder), c.Result, c)
	}
	known := make(chan struct{})
	r.set(func() {
		r.onRegister = func(*vigilv1.RegisterRequest) error {
			select {
			case <-known:
				return nil
			default:
				return no("host_in_use")
			}
		}
		calls := 0
		r.onWork = func(*vigilv1.CompleteTaskRequest) error {
			if calls++; calls == 1 {
				return no("unavailable")
			}
			return nil
		}
	})
	drained(r.registers)
	go func() {
		for i := range 2*results.MaxFiles + 2 { // the first of them twice
			if w := <-r.completed; w.GetResult() != fmt.Sprintf("%03d", max(i-1, 0)) ||
				w.GetSpeaker().GetIncarnation() != 3 {
				t.Errorf("completion %d: %v", i, w)
			}
		}
		close(known)
	}()
	p.open(t, r, false)
	until(t, "an empty journal", func() bool {
		left, _ := filepath.Glob(filepath.Join(r.dir, "lives", "*"))
		return len(left) == 0
	})
	none(t, r.exits, "an end was reported that nobody has seen")
	none(t, r.completed, "delivered twice")
}

// What cannot be removed from a spool is complained about once, and holds up nothing.
func TestSpoolThatCannotBeCleared(t *testing.T) {
	r, p := newPuppetRig(t, true)
	r.stream.orders(t, order("start", 1, 5, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	spool := spoolOf(t, one.spec)
	for i := range results.MaxFiles + 1 {
		if err := os.MkdirAll(filepath.Join(spool, fmt.Sprintf("0-%03d.json", i), "full"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for task := uint64(1); task <= 3; task++ {
		leave(t, spool, strconv.FormatUint(task, 10), results.Completion{Agent: "demo/r1", Incarnation: 5, Task: task,
			Attempt: 1})
		until(t, "the completion", func() bool {
			r.advance(4 * time.Second)
			return len(r.completed) > 0
		})
		if w := next(t, r.completed); w.GetTask() != task {
			t.Errorf("completion %v", w)
		}
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
	until(t, "the end of the folder", func() bool {
		_, err := os.Stat(filepath.Dir(spool))
		return os.IsNotExist(err)
	})
	if n := strings.Count(r.log.String(), "0-007.json: directory not empty"); n != 1 {
		t.Errorf("complained about %d times", n)
	}
}

// flaky fails the reads of files with a name, as a disk does, until it is told to stop.
type flaky struct {
	name  string
	left  atomic.Int32 // so many reads fail
	reads atomic.Int32 // that have failed
}

func (f *flaky) read(s results.Spool, path string) (results.Completion, error) {
	if filepath.Base(path) == f.name && f.left.Add(-1) >= 0 {
		f.reads.Add(1)
		return results.Completion{}, &os.PathError{Op: "read", Path: path, Err: syscall.EIO}
	}
	return s.Read(path)
}

// L8: a result whose file cannot be read at the moment stays, and is delivered when it can be. It
// holds up neither other results nor those of other lives.
func TestResultThatCannotBeReadOnce(t *testing.T) {
	f := &flaky{name: "01.json"}
	f.left.Store(1)
	r, p := newPuppetRig(t, true, func(c *Config) { c.Spooled = f.read })
	r.stream.orders(t, order("start", 1, 5, "sleep"), order("start", 2, 5, "sleep"))
	var all []*puppet
	for range 2 {
		all = append(all, next(t, p.started))
		next(t, r.starts)
	}
	for _, one := range all {
		agent := uint64(one.spec.Mark.Agent)
		for _, task := range []uint64{2 * agent, 2*agent - 1} {
			leave(t, spoolOf(t, one.spec), fmt.Sprintf("0%d", task), results.Completion{
				Agent: fmt.Sprintf("demo/r%d", agent), Incarnation: 5, Task: task, Attempt: 1})
		}
	}
	var got []uint64
	for len(got) < 4 { // 1 is read in vain at first
		r.advance(4 * time.Second)
		got = append(got, next(t, r.completed).GetTask())
	}
	if f.reads.Load() != 1 || slices.Index(got, 1) < slices.Index(got, 2) || len(slices.Compact(slices.Sorted(
		slices.Values(got)))) != 4 {
		t.Errorf("delivered %v after %d reads that failed", got, f.reads.Load())
	}
	if n := strings.Count(r.log.String(), "cannot be read, and stays"); n != 1 {
		t.Errorf("the log says %d times that it cannot be read", n)
	}
	for _, one := range all {
		one.exit <- shim.Exit{}
		next(t, r.exits)
	}
}

// L8: the end of a life waits for a result that cannot be read at the moment.
func TestEndWaitsForAResultThatCannotBeRead(t *testing.T) {
	f := &flaky{name: "01.json"}
	f.left.Store(3)
	r, p := newPuppetRig(t, true, func(c *Config) { c.Spooled = f.read })
	r.stream.orders(t, order("start", 1, 5, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	leave(t, spoolOf(t, one.spec), "01", results.Completion{Agent: "demo/r1", Incarnation: 5, Task: 7, Attempt: 1})
	var completed atomic.Bool
	r.set(func() {
		r.onWork = func(*vigilv1.CompleteTaskRequest) error { completed.Store(true); return nil }
		r.onExit = func(*vigilv1.ReportExitRequest) error {
			if !completed.Load() {
				t.Error("the end came before the completion")
			}
			return nil
		}
	})
	one.exit <- shim.Exit{}
	next(t, r.exits)
	if w := next(t, r.completed); w.GetTask() != 7 || f.reads.Load() < 1 {
		t.Errorf("completion %v", w)
	}
}

// A result that can never be read holds up the end of its life for half a minute, and is kept for people.
func TestResultThatCanNeverBeReadIsSetAside(t *testing.T) {
	f := &flaky{name: "01.json"}
	f.left.Store(1 << 30)
	r, p := newPuppetRig(t, true, func(c *Config) { c.Spooled = f.read })
	r.stream.orders(t, order("start", 1, 5, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	spool := spoolOf(t, one.spec)
	c := results.Completion{Agent: "demo/r1", Incarnation: 5, Task: 7, Attempt: 1, Result: "precious"}
	leave(t, spool, "01", c)
	c.Task = 8
	leave(t, spool, "02", c)
	one.exit <- shim.Exit{}
	if w := next(t, r.completed); w.GetTask() != 8 {
		t.Errorf("completion %v", w)
	}
	until(t, "some reads", func() bool { return f.reads.Load() >= 2 })
	none(t, r.exits, "the end did not wait")
	r.advance(unreadLimit + time.Second)
	next(t, r.exits)
	kept, err := filepath.Glob(filepath.Join(r.dir, "dead-letters", "1-5-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(text), "precious") {
		t.Errorf("kept %q, %v", text, err)
	}
	until(t, "the end of the folder", func() bool {
		_, err := os.Stat(filepath.Dir(spool))
		return os.IsNotExist(err)
	})
	for told := ""; !strings.Contains(told, "dead-letters"); { // the first registration came before
		told = strings.Join(next(t, r.registers).GetWarnings(), " ")
	}
}

// Where not even the folder can be read nobody knows what is lost with it: the end is told, and the folder stays.
func TestFolderThatCanNeverBeReadStays(t *testing.T) {
	r, p := newPuppetRig(t, true)
	r.stream.orders(t, order("start", 1, 5, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	spool := spoolOf(t, one.spec)
	if err := errors.Join(os.RemoveAll(spool), os.WriteFile(spool, nil, 0o600)); err != nil { // it is no folder any more
		t.Fatal(err)
	}
	one.exit <- shim.Exit{}
	until(t, "the end", func() bool {
		r.advance(unreadLimit)
		return len(r.exits) > 0
	})
	next(t, r.exits)
	if err := r.end(); err != nil { // all that it does then is done
		t.Fatal(err)
	}
	if _, err := os.Stat(spool); err != nil {
		t.Errorf("the folder of the life is gone: %v", err)
	}
}

// The spool belongs to the agent, who may be anybody: it cannot speak for others,
// nor make the daemon read what it cannot read itself.
func TestSpoolIsNotTrusted(t *testing.T) {
	r, p := newPuppetRig(t, false)
	r.stream.orders(t, order("start", 1, 5, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	spool := spoolOf(t, one.spec)
	good := results.Completion{Agent: "demo/r1", Incarnation: 5, Task: 9, Attempt: 1}
	elsewhere := t.TempDir()
	leave(t, elsewhere, "good", good)
	for name, put := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(filepath.Join(elsewhere, "good.json"), path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"fifo":      func(path string) error { return mkfifo(path) },
		"garbage":   func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"large":     func(path string) error { return os.WriteFile(path, make([]byte, results.MaxBytes+1), 0o600) },
	} {
		if err := put(filepath.Join(spool, "1-"+name+".json")); err != nil {
			t.Fatal(err)
		}
	}
	other := good
	other.Agent = "demo/r2"
	leave(t, spool, "1-other", other)
	other = good
	other.Incarnation = 4
	leave(t, spool, "1-older", other)
	good.Task = 10
	leave(t, spool, "2-good", good)
	one.exit <- shim.Exit{}
	if w := next(t, r.completed); w.GetTask() != 10 {
		t.Errorf("completion %v", w)
	}
	next(t, r.exits)
	none(t, r.completed, "something else was delivered")
}

// spoolOf is the folder that a life's environment names; nobody else sees into it.
func spoolOf(t *testing.T, spec shim.Spec) string {
	t.Helper()
	for _, kv := range spec.Env {
		if path, ok := strings.CutPrefix(kv, results.Env+"="); ok {
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Fatalf("spool %s: %v, %v", path, info, err)
			}
			return path
		}
	}
	t.Fatalf("no spool in %q", spec.Env)
	return ""
}
