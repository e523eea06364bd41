//go:build linux

package shim

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// inReserve has n shims ready and gives them.
func inReserve(t *testing.T, l *Launcher, n int) []*blank {
	t.Helper()
	t.Cleanup(l.Close)
	l.Keep(n, n)
	var ready []*blank
	until(t, "the reserve", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		ready = append(ready[:0], l.ready...)
		return len(ready) == n
	})
	return ready
}

// there tells whether a process is there; one that is dead and not waited for counts.
func there(pid int) bool { return unix.Kill(pid, 0) == nil }

// A shim in reserve takes over the next life, and the one after that gets a new one.
func TestAStartTakesAShimFromTheReserve(t *testing.T) {
	r := newRig(t)
	l := r.launcher()
	ready := inReserve(t, l, 1)
	if cwd, err := os.Readlink("/proc/" + strconv.Itoa(ready[0].process.Pid) + "/cwd"); err != nil || cwd != "/" {
		t.Errorf("it waits in %s, %v", cwd, err)
	}
	for _, again := range []bool{false, true} {
		s, err := l.Start(r.spec("polite"), r.lock())
		if err != nil {
			t.Fatal(err)
		}
		a, _ := r.up(0)
		if mine := s.Started().Shim == ready[0].process.Pid; mine == again {
			t.Errorf("again %v: the shim is %d, in reserve was %d", again, s.Started().Shim, ready[0].process.Pid)
		}
		a.tell("exit 4")
		if exit := wait(t, s); exit.Code != 4 || exit.Signal != "" || exit.Reason != "" {
			t.Errorf("exit %+v", exit)
		}
		for _, name := range []string{ExitFile, StartedFile} {
			if err := os.Remove(r.folder + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// L7: no shim runs anything unless it was handed the lock and all of what to start: it goes with its daemon.
func TestL7AShimInReserveGoesWithItsDaemon(t *testing.T) {
	r := newRig(t)
	for name, leave := range map[string]func(b *blank){
		"without a word": func(*blank) {},
		"after the lock": func(b *blank) {
			lock, notes := r.lock(), r.create(NoteFile)
			defer lock.Close()
			defer notes.Close()
			if err := handOver(b.words, lock, notes, nil); err != nil {
				t.Error(err)
			}
		},
		"with the spec and without the lock": func(b *blank) {
			if _, err := b.words.Write([]byte(`{"Version":1,"Kind":"exec","Path":"/bin/true"}`)); err != nil {
				t.Error(err)
			}
		},
	} {
		b, err := r.launcher().fork()
		if err != nil {
			t.Fatal(err)
		}
		leave(b)
		b.words.Close() // as the kernel does when a process ends
		drain(b.says)
		b.says.Close()
		state, err := b.process.Wait()
		if err != nil || (state.ExitCode() == exitHeld) != (name == "without a word") ||
			state.ExitCode() != exitHeld && state.ExitCode() != exitMisused {
			t.Errorf("%s: %v, %v", name, state, err)
		}
		if held, err := locked(r.folder); held && err == nil {
			t.Errorf("%s: the lock is held", name)
		}
	}
	if marked := scans.Find(markOf(r.folder)); len(marked) > 0 {
		t.Errorf("processes %v carry the mark of the life", marked)
	}
}

// One that was killed while it waited costs no start.
func TestAShimThatDiesInReserveIsPassedOver(t *testing.T) {
	r := newRig(t)
	l := r.launcher()
	dead := inReserve(t, l, 2)
	for _, b := range dead {
		if err := b.process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.words.Read(make([]byte, 1)); err == nil { // until its last thread is gone
			t.Fatal("it speaks")
		}
	}
	l.Keep(0, 2)
	s, err := l.Start(r.spec("polite"), r.lock())
	if err != nil {
		t.Fatal(err)
	}
	a, _ := r.up(0)
	a.tell("exit 0")
	if exit := wait(t, s); exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
	for _, b := range dead {
		if there(b.process.Pid) {
			t.Errorf("shim %d was not waited for", b.process.Pid)
		}
	}
}

// No more are kept than should be, and none beyond the end of the daemon.
func TestReserveIsAsLargeAsItShouldBe(t *testing.T) {
	l := newRig(t).launcher()
	all := inReserve(t, l, 3)
	l.Keep(0, 1)
	for _, b := range all[1:] {
		until(t, "the end of a shim too many", func() bool { return !there(b.process.Pid) })
	}
	if !there(all[0].process.Pid) {
		t.Error("the reserve is empty")
	}
	l.Close()
	if there(all[0].process.Pid) {
		t.Error("a shim in reserve outlives its daemon")
	}
	if l.Keep(2, 2); len(l.ready) > 0 || l.filling {
		t.Error("the reserve is filled after its end")
	}
}

// Whoever calls the command by hand is told that it is not for people.
func TestAShimIsNotForPeople(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	tcp, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	for _, stdin := range []*os.File{null, tcp} {
		_, _, err := takeOver(stdin)
		if err == nil || !strings.Contains(err.Error(), "nothing was started") ||
			!strings.Contains(err.Error(), "by agentd") {
			t.Errorf("%s: %v", stdin.Name(), err)
		}
	}
}
