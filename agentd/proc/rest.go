package proc

import "golang.org/x/sys/unix"

// This file is about processes that the agent itself had stopped before its tree was frozen.

// signalGroup signals the leader's group; t.mu is held. In a freeze it notes who is stopped already.
func (t *Tree) signalGroup(sig unix.Signal) error {
	if sig == unix.SIGCONT && len(t.resting) > 0 {
		for _, pid := range groupOf(t.pid) {
			if t.resting[pid] == 0 || t.resting[pid] != bornAt(pid) {
				_ = unix.Kill(pid, sig) // it may have ended
			}
		}
		return nil
	}
	if sig == unix.SIGSTOP {
		for _, pid := range groupOf(t.pid) {
			t.rest(pid)
		}
	}
	return unix.Kill(-t.pid, sig)
}

// rest notes a process that is stopped; t.mu is held.
func (t *Tree) rest(pid int) bool {
	if state, _, _ := stat(pid); !t.noting || state != 'T' {
		return false
	}
	if t.resting == nil {
		t.resting = map[int]uint64{}
	}
	t.resting[pid] = bornAt(pid)
	return true
}

// rests tells whether a process is to be left as it is: at a freeze one that is stopped already, and at the
// thaw the same one.
func (t *Tree) rests(pid int, sig unix.Signal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sig == unix.SIGCONT {
		return t.resting[pid] != 0 && t.resting[pid] == bornAt(pid)
	}
	_, _, group := stat(pid)
	return sig == unix.SIGSTOP && (group != t.pid || t.holder != 0) && t.rest(pid)
}
