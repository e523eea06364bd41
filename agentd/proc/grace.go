package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// This file is about the time between SIGTERM and SIGKILL.

// gracePause is the longest pause between two looks at a group that has its grace.
const gracePause = 20 * time.Millisecond

// Stop sends SIGTERM to the group and SIGKILL after grace, or once nothing of the group
// runs any more; a shorter grace than that of an earlier call wins, and 0 kills at once.
// It does not wait. A frozen tree could not use its grace: it is killed at once.
func (t *Tree) Stop(grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped || t.killed && grace > 0 {
		return
	}
	if grace <= 0 || t.frozen {
		t.kill()
		return
	}
	t.toGroup(unix.SIGTERM)
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

// grant waits, after the end of the leader, until nothing of its group runs any more or its grace is over. The
// leader may be a shell, which SIGTERM ends at once while the program that it ran still cleans up. Where no stop is
// under way it does not wait. See docs/decisions/agentd.md#the-grace-of-a-stop-is-the-whole-groups.
func (t *Tree) grant() {
	own := func(pid int) bool { return t.holder == 0 || carries(pid, t.mark) } // see toGroup
	for pid, d := 0, time.Millisecond; t.graced(); d = min(2*d, gracePause) {
		// Reading the list of all processes takes long: it is read when the one that is known has gone.
		if !belongs(pid, t.pid) {
			if pid = memberOf(t.pid, own); pid == 0 {
				return
			}
		}
		pause(nil, d)
	}
}

// graced tells whether a stop is under way that has neither killed nor met a freeze, which leaves no use for a grace.
func (t *Tree) graced() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.killAt.IsZero() && !t.killed && !t.frozen
}
