//go:build linux

package shim

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLifeFromStartToRecord(t *testing.T) {
	r := newRig(t)
	s, a, _ := r.start(r.spec("polite"))
	started := s.Started()
	if started.PID != a.pid || started.PIDStart == 0 || started.Shim == 0 || started.ShimStart == 0 ||
		started.Boot == "" {
		t.Errorf("started %+v, the agent is %d", started, a.pid)
	}
	a.ask("print hello")
	a.tell("exit 3")
	exit := wait(t, s)
	if exit.Code != 3 || exit.Signal != "" || exit.Reason != "" || exit.Ordered || exit.NotStarted ||
		exit.Vanished || exit.Tail != "hello\n" {
		t.Errorf("exit %+v", exit)
	}
	if held, err := locked(r.folder); held || err != nil {
		t.Errorf("lock held %v, %v", held, err)
	}
	if log := r.logged(); !strings.Contains(log, "starts with runner test") ||
		!strings.Contains(log, "\nhello\n") || !strings.Contains(log, "exited with code 3") {
		t.Errorf("log %q", log)
	}
	for _, group := range started.Groups {
		if _, err := os.Stat(group); err == nil {
			t.Errorf("control group %s is left", group)
		}
	}
	if _, err := Adopt(r.folder); !errors.Is(err, ErrGone) {
		t.Errorf("Adopt: %v", err)
	}
	if again := Bury(r.folder, markOf(r.folder), func(string) {}); again != exit {
		t.Errorf("the record says %+v", again)
	}
}

// Agents go on when agentd dies: their shims hold them, and the record of their
// end waits on disk.
func TestAgentdKilledAgentLivesAndItsEndIsRecorded(t *testing.T) {
	r := newRig(t)
	cmd := r.daemon("polite")
	a, _ := r.up(0)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	a.ask("print still here")
	a.tell("exit 5")
	a.ended()
	until(t, "the shim's end", func() bool { held, err := locked(r.folder); return err == nil && !held })
	exit := Bury(r.folder, markOf(r.folder), func(string) {})
	if exit.Code != 5 || exit.Vanished || exit.Tail != "still here\n" {
		t.Errorf("exit %+v", exit)
	}
}

// Several daemons follow each other: each finds the same process.
func TestAdoptionKeepsTheAgent(t *testing.T) {
	r := newRig(t)
	cmd := r.daemon("polite")
	a, _ := r.up(0)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for range 3 {
		s, err := Adopt(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		if s.PID() != a.pid || s.Started().Mark != markOf(r.folder) {
			t.Errorf("adopted %+v, the agent is %d", s.Started(), a.pid)
		}
		s.Acknowledge(BootClock())
		a.ask("print x")
		s.Close()
		if exit := wait(t, s); exit != (Exit{}) {
			t.Errorf("after Close: %+v", exit)
		}
	}
	s, err := Adopt(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	s.Stop(time.Minute, "enough")
	a.await("bye")
	if exit := wait(t, s); exit.Code != 0 || !exit.Ordered || exit.Reason != "enough" {
		t.Errorf("exit %+v", exit)
	}
}

func TestStopTermGraceKill(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		s, a, children := r.start(r.spec("deaf+group+session"))
		s.Stop(time.Hour, "first")
		a.await("deaf")
		s.Stop(time.Millisecond, "second")
		exit := wait(t, s)
		if exit.Code != -1 || exit.Signal != "killed" || !exit.Ordered || exit.Reason != "first" {
			t.Errorf("exit %+v", exit)
		}
		for _, c := range append(children, a) {
			c.ended()
		}
	})
	onEveryHost(t, func(t *testing.T, r *rig) {
		s, a, children := r.start(r.spec("deaf+session"))
		s.Stop(0, "superseded")
		if exit := wait(t, s); exit.Signal != "killed" || !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
		for _, c := range append(children, a) {
			c.ended()
		}
	})
}

func TestStartFails(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"start /no/such/program": func(s *Spec) { s.Path = "/no/such/program" },
		"no such file":           func(s *Spec) { s.Dir = "/no/such/folder" },
		"limit ":                 func(s *Spec) { s.Limits.OpenFiles = 1 << 60 },
		"kind \"rocket\"":        func(s *Spec) { s.Kind = "rocket" },
		"agent name":             func(s *Spec) { s.Agent = "../x" },
		"not confirmed in time":  func(s *Spec) { s.Acknowledged -= 50 * time.Minute },
		"not positive":           func(s *Spec) { s.TTL = 0 },
	} {
		r := newRig(t)
		spec := r.spec("polite")
		change(&spec)
		_, err := r.launcher().Start(spec, r.lock())
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if held, err := locked(r.folder); held || err != nil {
			t.Errorf("%s: lock held %v, %v", name, held, err)
		}
		var exit Exit
		if err := readRecord(r.folder, ExitFile, &exit); name != "not positive" &&
			(err != nil || !exit.NotStarted || exit.Reason == "") {
			t.Errorf("%s: record %+v, %v", name, exit, err)
		}
		if exit.Ordered != (name == "not confirmed in time") {
			t.Errorf("%s: ordered %v", name, exit.Ordered)
		}
	}
	_, err := (&Launcher{Command: []string{"/no/such/shim"}}).Start(newRig(t).spec("polite"), newRig(t).lock())
	if err == nil || !strings.Contains(err.Error(), "/no/such/shim") {
		t.Errorf("no shim: %v", err)
	}
}

// A daemon that dies while it tells the shim what to start has started nothing.
func TestSpecCutShortStartsNothing(t *testing.T) {
	r := newRig(t)
	lock, notes := r.lock(), r.create(NoteFile)
	b, err := r.launcher().fork()
	if err != nil {
		t.Fatal(err)
	}
	if err := handOver(b.words, lock, notes, []byte(`{"Version":1,"Folder":"`+r.folder+
		`","Kind":"exec","Env":["VIGIL_TOKEN=geheim`)); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	notes.Close()
	drain(b.says)
	b.says.Close()
	state, err := b.process.Wait()
	if err != nil || state.ExitCode() != exitMisused {
		t.Errorf("%v, %v", state, err)
	}
	if word := note(r.folder); !strings.Contains(word, "nothing was started") || strings.Contains(word, "geheim") {
		t.Errorf("it says %q", word)
	}
	if exit := Bury(r.folder, markOf(r.folder), func(string) {}); !exit.Vanished {
		t.Errorf("exit %+v", exit)
	}
}

// Nobody may run a shim beside the one that holds the lock.
func TestShimNeedsTheLock(t *testing.T) {
	r := newRig(t)
	other, err := os.Create(r.folder + "/other")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.folder+"/"+LockFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = r.launcher().Start(r.spec("polite"), other)
	if err == nil || !strings.Contains(err.Error(), "is not the lock") {
		t.Errorf("another file: %v", err)
	}
	free, err := os.Open(r.folder + "/" + LockFile)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.launcher().Start(r.spec("polite"), free)
	if err == nil || !strings.Contains(err.Error(), "not held") {
		t.Errorf("not locked: %v", err)
	}
}

func TestTermOfTheShimEndsTheAgentInOrder(t *testing.T) {
	r := newRig(t)
	s, a, _ := r.start(r.spec("polite"))
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTERM} {
		if err := syscall.Kill(s.Started().Shim, sig); err != nil {
			t.Fatal(err)
		}
	}
	a.await("bye")
	if exit := wait(t, s); exit.Code != 0 || !exit.Ordered || !strings.Contains(exit.Reason, "SIGTERM") {
		t.Errorf("exit %+v", exit)
	}
}
