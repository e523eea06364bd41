package cluster

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"vigil/cluster/record"
	"vigil/fsm/noun"
)

// Ready tells why this server should get no traffic; nil when it may.
func (r *Replica) Ready() error {
	switch {
	case r.raft.Load() == nil:
		return errors.New("the server is starting")
	case r.machine.broken.Load():
		return record.ErrUnknown
	case r.diverged.Load():
		return noun.ErrDiverged
	case r.Leader().ID == "":
		return errors.New("no leader is known")
	}
	return nil
}

// Warnings are sentences for people about the health of the cluster as this
// server sees it; empty when all is well.
func (r *Replica) Warnings() []string {
	var list []string
	if r.Cluster() == "" && r.cfg.Backend == nil {
		list = append(list, "this server belongs to no cluster yet: add it on the leader")
	}
	lead := r.Leader().Self
	for _, s := range r.Servers() {
		switch {
		case s.Diverged:
			list = append(list,
				fmt.Sprintf("server %s differs from the majority: remove it, empty its data directory and add it again", s.ID))
		case lead && s.Contact < 0:
			list = append(list, fmt.Sprintf("server %s has not been heard since this server leads", s.ID))
		case lead && s.Contact > reachable:
			list = append(list, fmt.Sprintf("server %s is silent for %v", s.ID, s.Contact.Round(reachable)))
		case lead && s.Lag > 8*caughtUp:
			list = append(list, fmt.Sprintf("server %s is %d %s", s.ID, s.Lag, Behind))
		}
	}
	return list
}

// Behind ends the warning about a server that has much of the log to learn.
const Behind = "log entries behind"

// Stats are figures of this server for status displays.
type Stats struct {
	ID, Cluster, State string // State: Leader, Follower, Candidate, Shutdown
	Term               uint64
	LastIndex          uint64 // of the log on this server's disk
	CommitIndex        uint64
	AppliedIndex       uint64
	LogBytes           int64 // applied since the last snapshot
	Stuck              bool  // an entry could not be read; the server is about to stop
	Diverged           bool
}

// Stats may be called at any time.
func (r *Replica) Stats() Stats {
	s := Stats{ID: r.cfg.ID, Cluster: r.Cluster(), State: raft.Shutdown.String(),
		LogBytes: r.machine.logBytes.Load(), Stuck: r.machine.broken.Load(), Diverged: r.diverged.Load()}
	if rf := r.raft.Load(); rf != nil {
		s.State, s.Term = rf.State().String(), rf.CurrentTerm()
		s.LastIndex, s.CommitIndex, s.AppliedIndex = rf.LastIndex(), rf.CommitIndex(), rf.AppliedIndex()
	}
	return s
}
