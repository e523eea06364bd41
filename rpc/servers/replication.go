package servers

import (
	"context"
	"io"
	"time"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// Member is a server as the replication sees it.
type Member struct {
	ID, RaftAddr string
	Voter        bool
	Standby      bool          // kept without a vote
	Health       string        // alive, suspect, dead; empty: not known
	Silent       time.Duration // not heard, or not reached, for so long; 0: it is heard, or nothing is known
}

// Members changes and lists the servers of the cluster. All but List work on the
// leader only and return fsm.ErrNotLeader elsewhere.
type Members interface {
	List(ctx context.Context) ([]Member, error)
	// Figures is what each server says of its part in raft, by id.
	Figures(ctx context.Context) map[string]*vigilv1.RaftFigures
	// Add waits until the server has its vote, or as a standby until it has caught up.
	Add(ctx context.Context, id, raftAddr string, standby bool) error
	// Vote gives a standby its vote, or makes a voter a standby: that is refused when less than a majority
	// of the voters that are left answer, unless force is set.
	Vote(ctx context.Context, id string, vote, force bool) error
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
