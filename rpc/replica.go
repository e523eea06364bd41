package rpc

import (
	"context"
	"io"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/door"
)

// Writer takes writes. On a server that does not lead, all of them return
// fsm.ErrNotLeader and propose nothing; fsm.ErrUnknownOutcome says that the write
// may or may not be in the log. What is still fresh of a request's Word goes into its
// entry. Safe for concurrent use.
type Writer interface {
	Submit(ctx context.Context, req fsm.Request) (noun.Outcome, error)
	// SubmitAll fills out, which is as long as reqs, in order.
	SubmitAll(ctx context.Context, reqs []fsm.Request, out []noun.Outcome) error
	Beat(ctx context.Context, beats fsm.HostBeats) (noun.BeatAnswer, error)
	// Match is called before Run; m appends to the entries that this server seals while it leads.
	Match(m fsm.Matcher)
}

// Reader gives access to the replicated state. Safe for concurrent use.
type Reader interface {
	door.Reader
	// Subscribe is called before Run; fn is called after each applied entry,
	// outside the lock, and must not block.
	Subscribe(fn func(noun.Effects))
}

// Member is a server as the replication sees it.
type Member struct {
	ID, RaftAddr string
	Voter        bool
	Health       string        // alive, suspect, dead; empty: not known
	Silent       time.Duration // not heard, or not reached, for so long; 0: it is heard, or nothing is known
}

// Members changes and lists the servers of the cluster. All but List work on the
// leader only and return fsm.ErrNotLeader elsewhere.
type Members interface {
	List(ctx context.Context) ([]Member, error)
	Add(ctx context.Context, id, raftAddr string) error
	Remove(ctx context.Context, id string, force bool) error
	// Transfer gives the leadership to the named server, with "" to the one that
	// is most up to date.
	Transfer(ctx context.Context, to string) error
}

// Backups writes and restores snapshots of the whole state.
type Backups interface {
	Snapshot(w io.Writer) error
	// Restore works on the leader only. It returns when the restored state serves.
	Restore(ctx context.Context, r io.Reader, others fsm.Others) error
}

// Health tells what /readyz and Status show beyond the state.
type Health interface {
	// Ready is nil when this server may be sent traffic; its error says why not.
	Ready() error
	// Warnings are sentences for people; empty when all is well.
	Warnings() []string
}

// WatchdogStats are what this server's conversation watchdog has done since it started.
type WatchdogStats struct {
	Checks, Checked, Warned, Canceled, Errors uint64
	LastCheck                                 time.Time // zero: there was none
	LastDuration, TotalDuration               time.Duration
}
