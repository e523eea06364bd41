package proc

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// outputGrace is how long output is awaited after the tree was seen empty. Only
	// a process that escaped the tree can hold the pipe open that long.
	outputGrace = time.Second
	// stuckAfter is when a tree that does not die is called stuck.
	stuckAfter = 5 * time.Second
	maxPause   = 100 * time.Millisecond
)

// Tree is one started process with all its descendants.
type Tree struct {
	mark  Mark
	pid   int
	scans *Scanner
	done  chan struct{}
	stuck chan struct{}
	exit  Exit // set before done is closed

	mu     sync.Mutex
	reaped bool // the leader's pid may belong to somebody else
	killer *time.Timer
	killAt time.Time // zero: no stop was asked for
}

func newTree(mark Mark, pid int, scans *Scanner) *Tree {
	return &Tree{mark: mark, pid: pid, scans: scans, done: make(chan struct{}), stuck: make(chan struct{})}
}

// PID is the leader's process id, which is also its group and session.
func (t *Tree) PID() int { return t.pid }

// Done is closed when nothing of the tree is left and its output was written.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Stuck is closed when the leader is gone and something of the tree has survived
// SIGKILL for five seconds. Done may still follow.
func (t *Tree) Stuck() <-chan struct{} { return t.stuck }

// Exit says how the leader ended. It is valid once Done is closed.
func (t *Tree) Exit() Exit { return t.exit }

// Stop sends SIGTERM to the group and SIGKILL after grace; a shorter grace than
// that of an earlier call wins, and 0 kills at once. It does not wait. A frozen
// tree gets its SIGTERM when it is thawed.
func (t *Tree) Stop(grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return
	}
	if grace <= 0 {
		_ = unix.Kill(-t.pid, unix.SIGKILL)
		return
	}
	_ = unix.Kill(-t.pid, unix.SIGTERM)
	at := time.Now().Add(grace)
	if t.killer != nil && !at.Before(t.killAt) {
		return
	}
	if t.killer != nil {
		t.killer.Stop()
	}
	t.killAt = at
	t.killer = time.AfterFunc(grace, func() { t.Stop(0) })
}

// Freeze stops every process of the tree from running. It is done when it
// returns nil; an error means that something may still run.
func (t *Tree) Freeze() error { return t.signal(unix.SIGSTOP) }

// Thaw lets a frozen tree go on.
func (t *Tree) Thaw() error { return t.signal(unix.SIGCONT) }

// signal reaches the group first, then whatever has left it.
func (t *Tree) signal(sig unix.Signal) error {
	t.mu.Lock()
	var err error
	if !t.reaped {
		err = unix.Kill(-t.pid, sig)
	}
	t.mu.Unlock()
	if err != nil && err != unix.ESRCH {
		return fmt.Errorf("send %v to group %d: %w", sig, t.pid, err)
	}
	// A stray may fork while the list is read; its child is in the next list.
	seen := map[int]bool{}
	for range 8 {
		fresh := 0
		for _, pid := range t.scans.Find(t.mark) {
			if !seen[pid] {
				seen[pid] = true
				fresh++
				signalMarked(pid, t.mark, sig)
			}
		}
		if fresh == 0 {
			return nil
		}
	}
	return fmt.Errorf("send %v to tree of %d: it forks faster than it can be listed", sig, t.pid)
}

// watch owns the tree until nothing of it is left.
func (t *Tree) watch(output *os.File, to io.Writer) {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(to, output)
	}()
	exit, reaped := awaitExit(t.pid)

	t.mu.Lock()
	// One signal is enough: the kernel does not let a fork slip past it.
	_ = unix.Kill(-t.pid, unix.SIGKILL)
	if !reaped {
		exit, _ = wait(t.pid)
	}
	t.reaped = true
	if t.killer != nil {
		t.killer.Stop()
	}
	t.mu.Unlock()

	t.exit = exit
	t.bury()
	_ = output.SetReadDeadline(time.Now().Add(outputGrace))
	<-copied
	output.Close()
	close(t.done)
}

// bury kills what is left until nothing is. A process that is being killed loses
// its environment before it is gone, so each one is waited for.
func (t *Tree) bury() {
	begin, stuck := time.Now(), false
	dying := map[int]deathbed{}
	for d := time.Millisecond; ; d = min(2*d, maxPause) {
		left := t.scans.Find(t.mark)
		for _, pid := range left {
			if _, known := dying[pid]; !known {
				dying[pid] = kill(pid, t.mark)
			}
		}
		for pid, bed := range dying {
			if bed.empty() {
				delete(dying, pid)
			}
		}
		if len(left) == 0 && len(dying) == 0 && !groupRuns(t.pid) {
			return
		}
		if !stuck && time.Since(begin) > stuckAfter {
			stuck = true
			close(t.stuck)
		}
		pause(nil, d)
	}
}

// Sweep kills every process that carries the host's mark, but for this process
// and its ancestors, and returns their number once they are gone. It gives up
// with the pids that are left when stop is closed.
func (s *Scanner) Sweep(host string, stop <-chan struct{}) (killed int, left []int) {
	seen := map[int]bool{}
	for d := time.Millisecond; ; d = min(2*d, maxPause) {
		found := s.FindHost(host)
		if len(found) == 0 {
			return len(seen), nil
		}
		left = left[:0]
		for pid, mark := range found {
			seen[pid] = true
			left = append(left, pid)
			signalMarked(pid, mark, unix.SIGKILL)
		}
		if !pause(stop, d) {
			return len(seen) - len(left), left
		}
	}
}
