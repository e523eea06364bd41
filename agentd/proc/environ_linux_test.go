package proc

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// A5: a process whose memory the kernel does not give, since it waits for a disk that is gone, holds nobody
// else up, is read by one goroutine however often it is asked for, and is still known by its mark.
func TestA05ProcessThatHangsHoldsNobodyUp(t *testing.T) {
	mark := Mark{"hang", 7, 3}
	started, going := make(chan int, 100), make(chan struct{})
	var hangs atomic.Bool
	pid := os.Getpid()
	r := newReader()
	r.hung = func(int) bool { return true }
	r.read = func(p int, buf []byte) ([]byte, []byte, bool) {
		started <- p
		if p == pid && hangs.Load() {
			<-going
		}
		return append(buf[:0], (mark.Env() + "\x00")...), buf, true
	}
	look := func(p int) []Mark {
		s := r.begin()
		defer s.end()
		return s.marks(p)
	}
	if got := look(pid); !slices.Equal(got, []Mark{mark}) {
		t.Fatalf("before it hangs: %v", got)
	}
	hangs.Store(true)
	for range 5 {
		if got := look(pid); !slices.Equal(got, []Mark{mark}) {
			t.Errorf("while it hangs: %v", got)
		}
		if got := look(1); !slices.Equal(got, []Mark{mark}) {
			t.Errorf("another one: %v", got)
		}
	}
	if tried := len(started); tried != 1+1+5 {
		t.Errorf("%d reads, want one before, one that hangs and five of another process", tried)
	}
	close(going)
	hangs.Store(false)
	until(t, "the end of the hang", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.left) == 0
	})
	if got := look(pid); !slices.Equal(got, []Mark{mark}) {
		t.Errorf("afterwards: %v", got)
	}
}

// A5: one that only has no processor is waited for: nothing of a tree may be passed over (law L7).
func TestA05SlowProcessIsWaitedFor(t *testing.T) {
	mark := Mark{"slow", 7, 3}
	asked := make(chan struct{})
	r := newReader()
	r.hung = func(int) bool { close(asked); return false }
	r.read = func(_ int, buf []byte) ([]byte, []byte, bool) {
		<-asked
		return append(buf[:0], (mark.Env() + "\x00")...), buf, true
	}
	s := r.begin()
	defer s.end()
	if got := s.marks(1); !slices.Equal(got, []Mark{mark}) {
		t.Errorf("%v", got)
	}
}

// L7: a process whose exec lasts, since it gets no processor or loads from a slow disk, is still known by
// the mark that it had before.
func TestL7WhatExecutesForLongKeepsItsMark(t *testing.T) {
	mark := Mark{"exec", 7, 3}
	r, executes := newReader(), false
	r.read = func(_ int, buf []byte) ([]byte, []byte, bool) {
		if executes {
			return nil, buf, false
		}
		return append(buf[:0], (mark.Env() + "\x00")...), buf, true
	}
	s := r.begin()
	defer s.end()
	for _, executes = range []bool{false, true, true, false} {
		if got := s.marks(os.Getpid()); !slices.Equal(got, []Mark{mark}) {
			t.Errorf("in the middle of an exec %v: %v", executes, got)
		}
	}
	r.read = func(_ int, buf []byte) ([]byte, []byte, bool) { return nil, buf, true }
	fresh := r.begin()
	defer fresh.end()
	if got := fresh.marks(os.Getpid()); got != nil {
		t.Errorf("it executes something that carries no mark: %v", got)
	}
}

// A3: what an agent's tools set for the processes that they start, such as another agent's name and
// incarnation, does not change whose process it is.
func TestA03MarkIsNobodysToSet(t *testing.T) {
	mark := Mark{HostMark("a3"), uint32(os.Getpid()), 3}
	cmd := exec.Command("/bin/sleep", "300")
	cmd.Env = append(mark.In([]string{"VIGIL_AGENT=web/builder"}), "VIGIL_AGENT=other/agent",
		"VIGIL_INCARNATION=1.7", "VIGIL_HOST=x", "VIGIL_AGENT_ID=9")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if found := NewScanner().Find(mark); !slices.Equal(found, []int{cmd.Process.Pid}) {
		t.Errorf("found %v, want %d", found, cmd.Process.Pid)
	}
	if env := mark.Env(); strings.Contains(env, "a3") {
		t.Errorf("the mark tells the host's key: %s", env)
	}
}

// A10: the agents of an agentd that an agent runs belong to that agent's tree too.
func TestA10NestedTreesCarryBothMarks(t *testing.T) {
	outer, inner := Mark{HostMark("outer"), uint32(os.Getpid()), 1}, Mark{HostMark("inner"), uint32(os.Getpid()), 2}
	t.Setenv(EnvMark, outer.String())
	cmd := exec.Command("/bin/sleep", "300")
	cmd.Env = inner.In(nil)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for _, m := range []Mark{outer, inner} {
		if found := NewScanner().Find(m); !slices.Contains(found, cmd.Process.Pid) {
			t.Errorf("by %s: %v, want %d among them", m, found, cmd.Process.Pid)
		}
	}
	if got := NewScanner().FindHost(outer.Host)[cmd.Process.Pid]; got != outer {
		t.Errorf("of the outer host it is %v", got)
	}
	deep := strings.Repeat(outer.String()+",", 100)
	t.Setenv(EnvMark, deep)
	if got := marksIn(strings.TrimPrefix(inner.Env(), EnvMark+"=")); len(got) != maxMarks || got[0] != inner {
		t.Errorf("%d marks, the first %v", len(got), got[0])
	}
}
