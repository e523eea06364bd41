package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// outputGrace is how long output is awaited after the tree was seen empty. Only
	// a process that escaped the tree can hold the pipe open that long.
	outputGrace = time.Second
	// writeLimit is how long the last output may take to be written. A disk that
	// hangs must not hide that the tree is gone.
	writeLimit = 10 * time.Second
	// vanishLimit is for how long a tree is awaited before what is left of it is looked for.
	vanishLimit = 10 * time.Millisecond
	// stuckAfter is when a tree that does not die is called stuck.
	stuckAfter = 5 * time.Second
	maxPause   = 100 * time.Millisecond
	// stuckPause is the longest pause between looks at what outlives SIGKILL, perhaps for ever.
	stuckPause = 5 * time.Second
	// freezeLimit is the default of Spec.FreezeLimit.
	freezeLimit = 5 * time.Second
)

// Tree is one started process with all its descendants.
type Tree struct {
	mark   Mark
	pid    int
	holder int // process that waits for the leader; 0: this one does
	scans  *Scanner
	cgroup *Cgroup // nil: none
	sealed bool    // nothing of the tree can leave the control group
	reap   bool
	limit  time.Duration // of a freeze
	writes time.Duration // writeLimit, unless a test sets it
	done   chan struct{}
	stuck  chan struct{}
	says   sync.Once // closes stuck
	exit   Exit      // set before done is closed

	mu     sync.Mutex
	reaped bool // the leader's pid may belong to somebody else
	frozen bool
	killed bool
	killer *time.Timer
	killAt time.Time // zero: no stop was asked for
	// resting are the processes that were stopped before a freeze, by the agent itself, with the times at
	// which they began: a thaw leaves them alone.
	resting map[int]uint64
	noting  bool // this freeze is the first; later ones find what it has stopped
}

func newTree(spec Spec, pid int, scans *Scanner) *Tree {
	t := &Tree{mark: spec.Mark, pid: pid, scans: scans, cgroup: spec.Cgroup, reap: spec.Reap, limit: spec.FreezeLimit,
		writes: writeLimit, done: make(chan struct{}), stuck: make(chan struct{})}
	if t.limit <= 0 {
		t.limit = freezeLimit
	}
	// Moving out of a group takes rights over the group that both places have in
	// common; another account than ours has none there.
	c := spec.Credential
	t.sealed = t.cgroup.unifies() && c != nil && c.Uid != 0 && int(c.Uid) != os.Geteuid()
	return t
}

// PID is the leader's process id, which is also its group and session.
func (t *Tree) PID() int { return t.pid }

// Done is closed when nothing of the tree is left and its output was written; output
// that cannot be written within ten seconds is lost.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Stuck is closed when something of the tree has survived SIGKILL for five
// seconds. Done may still follow.
func (t *Tree) Stuck() <-chan struct{} { return t.stuck }

// Exit says how the leader ended. It is valid once Done is closed.
func (t *Tree) Exit() Exit { return t.exit }

// kill sends SIGKILL; t.mu is held and the leader is not reaped. What has left the
// group dies in bury, or here with the control group.
func (t *Tree) kill() {
	t.toGroup(unix.SIGKILL)
	t.cgroup.kill()
	if t.killed {
		return
	}
	t.killed = true
	if t.killer != nil {
		t.killer.Stop()
	}
	t.killer = time.AfterFunc(stuckAfter, t.sayStuck)
}

// toGroup reaches the leader's process group. Where another process reaps the
// leader, its number may be anybody's at any moment: only what carries the mark
// is reached then, and SIGKILL is for the holder too.
func (t *Tree) toGroup(sig unix.Signal) {
	if t.holder == 0 {
		_ = unix.Kill(-t.pid, sig)
		return
	}
	for _, pid := range t.scans.Find(t.mark) {
		if _, _, group := stat(pid); group == t.pid || sig == unix.SIGKILL {
			signalMarked(pid, t.mark, sig)
		}
	}
}

func (t *Tree) sayStuck() { t.says.Do(func() { close(t.stuck) }) }

// Freeze stops every process of the tree from running. It is done when it
// returns nil; an error means that something may still run. Threads that wait for a disk
// do not run: they stop before they go on.
func (t *Tree) Freeze() error {
	t.mu.Lock()
	t.noting, t.frozen = !t.frozen, true
	t.mu.Unlock()
	begin := time.Now()
	if t.cgroup.unifies() {
		if err := t.cgroup.freeze(true, t.limit); err != nil {
			return err
		}
	}
	if err := t.signal(unix.SIGSTOP); err != nil || t.sealed {
		return err
	}
	// A process with several threads goes on until the one that got the signal is
	// given a processor.
	for d := 100 * time.Microsecond; ; d = min(2*d, 20*time.Millisecond) {
		runs := t.running()
		if runs == 0 {
			return nil
		}
		if time.Since(begin) > t.limit {
			return fmt.Errorf("freeze tree of %d: process %d does not stop within %s", t.pid, runs, t.limit)
		}
		pause(nil, d)
	}
}

// running gives a process of the tree that is not stopped, 0 when there is none.
func (t *Tree) running() int {
	if !t.cgroup.unifies() && t.holder == 0 {
		if pid := runningOf(t.pid); pid != 0 {
			return pid
		}
	}
	mine := func(pid int) bool { return carries(pid, t.mark) }
	for _, pid := range t.scans.Find(t.mark) {
		if !(t.cgroup.unifies() && t.cgroup.holds(pid)) && !stopped(pid, mine) {
			return pid
		}
	}
	return 0
}

// Thaw lets a frozen tree go on.
func (t *Tree) Thaw() error {
	err := t.signal(unix.SIGCONT)
	if t.cgroup.unifies() {
		err = errors.Join(err, t.cgroup.freeze(false, t.limit))
	}
	t.mu.Lock()
	if t.frozen = t.frozen && err != nil; !t.frozen {
		t.resting = nil
	}
	t.mu.Unlock()
	return err
}

// signal reaches what the control group does not: without one the process group
// first, then whatever has left it.
func (t *Tree) signal(sig unix.Signal) error {
	if t.sealed {
		return nil
	}
	t.mu.Lock()
	var err error
	switch {
	case t.reaped || t.cgroup.unifies():
	case t.holder == 0:
		err = t.signalGroup(sig)
	default:
		signalMarked(t.holder, t.mark, sig) // before it sees its children stop
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
			if seen[pid] || t.cgroup.unifies() && t.cgroup.holds(pid) {
				continue
			}
			fresh++
			if t.rests(pid, sig) {
				seen[pid] = true
				continue
			}
			// One that was passed over is met again, if it is there.
			seen[pid] = signalMarked(pid, t.mark, sig)
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
	running, ended := context.WithCancel(context.Background())
	defer ended()
	go func() {
		defer close(copied)
		_, _ = io.Copy(to, newPacedReader(running, output))
	}()
	exit, reaped := awaitExit(t.pid, t.reap)
	t.grant()

	t.mu.Lock()
	// Once is enough: the kernel does not let a fork slip past it.
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
	ended()
	_ = output.SetReadDeadline(time.Now().Add(outputGrace))
	within(copied, t.writes)
	output.Close()
	close(t.done)
}

// watchHeld is watch for a leader that another process waits for.
func (t *Tree) watchHeld(wait func() Exit) {
	exit := wait()
	t.grant()
	t.mu.Lock()
	t.reaped = true
	if t.killer != nil {
		t.killer.Stop()
	}
	t.mu.Unlock()
	t.exit = exit
	t.bury()
	close(t.done)
}

// bury kills what is left until nothing is.
func (t *Tree) bury() {
	if t.vanishes() {
		return
	}
	find := func() []int { return t.scans.Find(t.mark) }
	if t.sealed {
		find = func() []int { return nil }
	}
	killAll(t.mark, find, func() (left bool) {
		left = t.cgroup.kill()
		if t.reap {
			reapAll()
		}
		return left || t.holder == 0 && groupRuns(t.pid)
	}, t.sayStuck)
}

// vanishes kills what the kernel holds together and tells whether all of the tree is gone with that: the control
// group is empty, and this process, to which all come that lose their parent, has no child. So nothing is a
// descendant any more, whatever group it went to and whatever environment it has, and the list of all processes,
// which is long on a host with many agents, need not be read. What is still dying is awaited for no longer than
// reading it takes.
func (t *Tree) vanishes() bool {
	if !t.reap || !t.cgroup.unifies() {
		return false
	}
	begin := time.Now()
	for d := 100 * time.Microsecond; ; d *= 2 {
		left := t.cgroup.kill()
		if !reapAll() && !left {
			return true
		}
		if time.Since(begin) > vanishLimit {
			return false
		}
		pause(nil, d)
	}
}

// killAll kills the processes that find gives until there are none and more says
// that nothing else is left. It calls stuck, perhaps often, when that takes longer
// than stuckAfter. A process that is being killed loses its environment before it
// is gone, so each one is waited for.
func killAll(mark Mark, find func() []int, more func() (left bool), stuck func()) (killed int) {
	begin, longest := time.Now(), maxPause
	dying := map[int]deathbed{}
	for d := time.Millisecond; ; d = min(2*d, longest) {
		left := find()
		for _, pid := range left {
			if _, known := dying[pid]; !known {
				dying[pid] = kill(pid, mark)
				killed++
			}
		}
		for pid, bed := range dying {
			if bed.empty() {
				delete(dying, pid)
			}
		}
		if !more() && len(left) == 0 && len(dying) == 0 {
			return killed
		}
		if time.Since(begin) > stuckAfter {
			stuck()
			longest = stuckPause
		}
		pause(nil, d)
	}
}

// Bury kills what is left of a tree whose holder is gone, by its mark and by the
// folders of its control groups, and returns the number of killed marked processes
// once nothing is left. This process and its ancestors are spared. It calls stuck,
// perhaps often, when something survives SIGKILL for five seconds, and goes on.
func (s *Scanner) Bury(mark Mark, groups []string, stuck func()) (killed int) {
	own := ancestors()
	return killAll(mark, func() []int {
		return slices.DeleteFunc(s.Find(mark), func(pid int) bool { return own[pid] })
	}, func() (left bool) {
		for _, folder := range groups {
			left = RemoveCgroup(folder) || left
		}
		return left
	}, stuck)
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
