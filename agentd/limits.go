package agentd

import (
	"fmt"
	"time"

	"vigil/agentd/shim"
)

// hangLimit is how long journal and fork of one life may take before the daemon
// gives up on them: a shim that has not started its program in StartLimit is killed,
// so what takes longer waits for a disk or a process that does not react.
const hangLimit = 2 * shim.StartLimit

// gate bounds the starts of this host by its own means, whatever is ordered.
type gate struct {
	held bool          // an open order waits for the gate
	next time.Duration // when the next start would be if all kept their distance
}

// ahead is how far starts may run ahead of their distance: a few agents that die
// together must not wait for each other.
func (k *keeper) ahead() time.Duration {
	return time.Duration(k.config.MaxStarting-1) * k.config.StartEvery
}

// pass notes that a start begins.
func (k *keeper) pass(now time.Duration) {
	k.gate.next = max(k.gate.next, now) + k.config.StartEvery
}

// open tells whether another start may begin.
func (k *keeper) open(now time.Duration) bool {
	if k.pressure.reason != "" || now < k.gate.next-k.ahead() {
		return false
	}
	under := 0
	for _, l := range k.lives {
		if l.phase != running && !l.hung {
			under++
		}
	}
	return under < k.config.MaxStarting
}

// retry takes the orders that had to wait, and says when to look again. They are
// taken from the newest list: what is no longer in it is no longer open.
func (k *keeper) retry(now time.Duration) time.Duration {
	if !k.gate.held {
		return longestNap
	}
	if k.open(now) {
		k.gate.held = false
		k.take(k.orders)
	}
	if wait := k.gate.next - k.ahead() - now; k.gate.held && wait > 0 {
		return wait
	}
	return longestNap // the end of a start or of a look at the memory wakes the keeper
}

// watchStart gives up on a start that hangs: its slot and its fence are not held
// for ever. Should it come to an end after all, the life is taken up or buried then.
func (k *keeper) watchStart(now time.Duration, l *life) {
	if l.phase != starting || l.hung || now-l.begun <= hangLimit {
		return
	}
	l.hung = true
	k.unkillable(l, fmt.Sprintf("its start has not come to an end within %s: a disk of this host or the "+
		"machine itself does not react", hangLimit))
}
