package cluster

import (
	"slices"
	"sync"
)

// How much of the log is kept behind a snapshot, when Limits.TrailingLogs does not say. A server
// that is sent a snapshot goes on with the entries behind it, so these must be there when it has
// loaded it: else it is sent the next snapshot, and so on for ever. The log reaches back to
// the snapshot before, so loading may take as long as lies between two snapshots, and to
// the fourth before while a member lags behind that, unless the disk has little room.
const (
	laggardIntervals = 4
	// trailingSlack is how many entries may come between the decision and the cut.
	trailingSlack = 128
	// firstTrailing is kept until the first snapshot.
	firstTrailing = 2048
)

// logMark is where the log was when a snapshot was taken.
type logMark struct {
	index uint64 // of the snapshot
	bytes int64  // of log that this process had applied
}

// trail remembers the last snapshots. It is used by raft's goroutines that apply and that take
// snapshots.
type trail struct {
	mu    sync.Mutex
	bytes int64     // of log that was applied
	marks []logMark // the newest last, the first one where this process began
}

func (t *trail) add(bytes int) {
	t.mu.Lock()
	t.bytes += int64(bytes)
	t.mu.Unlock()
}

// mark notes that a snapshot of the state at index is taken.
func (t *trail) mark(index uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks = append(t.marks, logMark{index, t.bytes})
	if n := len(t.marks) - laggardIntervals - 1; n > 0 {
		t.marks = slices.Delete(t.marks, 0, n)
	}
}

// restart forgets all marks: the state has another past.
func (t *trail) restart(index uint64) {
	t.mu.Lock()
	t.marks = append(t.marks[:0], logMark{index, t.bytes})
	t.mu.Unlock()
}

// from is the index from which on the log is kept behind the newest snapshot, without more than
// so many bytes. Lags tells whether a member has not reached the index given to it.
func (t *trail) from(lags func(index uint64) bool, most int64) uint64 {
	t.mu.Lock()
	list, bytes := slices.Clone(t.marks), t.bytes
	t.mu.Unlock()
	at := max(0, len(list)-2)
	if lags(list[at].index) {
		at = 0
	}
	for at < len(list)-1 && bytes-list[at].bytes > most {
		at++
	}
	return list[at].index
}
