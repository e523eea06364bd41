package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"vigil/fsm/noun"
)

// raft v1.7.3 refuses every entry while it hands leadership over. That takes it 250 ms, but where the other server
// takes nothing (it is down, or is sent a snapshot) the second try in a row waits without bound, and when the leader
// loses its office meanwhile the refusal stays, also when it leads again (github.com/hashicorp/raft/issues/696). So
// leadership goes only to who is heard and has the log, and a leader that is refused for too long all the same ends
// its process.
const refusedLimit = 30 * time.Second

var errRefused = errors.New("raft has refused all entries for 30s, for a transfer of leadership that does not end: " +
	"this server ends, so that another one leads")

// refusals counts how long raft refuses entries for a transfer of leadership.
type refusals struct {
	since time.Time
	fail  func(error)
}

// again waits for the next try of an entry that was refused; ctx is the stint's.
func (r *refusals) again(ctx context.Context, pause time.Duration) error {
	if r.since.IsZero() {
		r.since = time.Now()
	}
	if time.Since(r.since) >= refusedLimit {
		r.fail(errRefused)
		<-ctx.Done() // Run ends the stint
		return errStintOver
	}
	select {
	case <-ctx.Done():
		return errStintOver
	case <-time.After(pause):
		return nil
	}
}

// transfer hands leadership to a voter that is heard and has all that the log held when this began: to the one named,
// or to the one that has most. It gives them a moment: what is known of them comes with heartbeats.
func (n *node) transfer(ctx context.Context, to string) error {
	rf := n.raft.Load()
	if rf.State() != raft.Leader {
		return nil
	}
	next, err := n.awaitSuccessor(ctx, to, rf.LastIndex())
	if err != nil {
		return fmt.Errorf("transfer leadership: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- rf.LeadershipTransferToServer(next.ID, next.Address).Error() }()
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case err = <-done:
	}
	if err != nil {
		return fmt.Errorf("transfer leadership: %w", err)
	}
	return nil
}

func (n *node) awaitSuccessor(ctx context.Context, to string, last uint64) (raft.Server, error) {
	tick := time.NewTicker(catchUpLook)
	defer tick.Stop()
	for begun := time.Now(); ; {
		next, err := n.successor(to, last)
		if err == nil || time.Since(begun) >= reachable {
			return next, err
		}
		select {
		case <-ctx.Done():
			return next, err
		case <-tick.C:
		}
	}
}

// successor is the server that can lead now, and why there is none.
func (n *node) successor(to string, last uint64) (next raft.Server, err error) {
	err = refuse(noun.Conflict, "no other server with a vote answers and has the log: start the others, and wait until "+
		"they have caught up")
	if to != "" {
		err = refuse(noun.NotFound, "%s", noun.AbsentServer(to))
	}
	var most uint64
	for _, s := range n.configuration() {
		id := string(s.ID)
		if id == n.cfg.ID || to != "" && id != to {
			continue
		}
		c := n.trans.contactOf(id)
		var no error
		switch silent := time.Since(c.at); {
		case s.Suffrage != raft.Voter:
			no = refuse(noun.Conflict, "server %s has no vote: promote it first", id)
		case c.at.IsZero():
			no = refuse(noun.Conflict, "server %s does not answer: start it, or name another one", id)
		case silent > reachable:
			no = refuse(noun.Conflict, "server %s has not answered for %v: start it, or name another one", id,
				silent.Round(time.Second))
		case c.last < last:
			no = refuse(noun.Conflict, "server %s lacks the last %d entries of the log: wait until it has caught up, or "+
				"name another one", id, last-c.last)
		case c.last > most:
			next, err, most = s, nil, c.last
		}
		if to != "" && no != nil {
			err = no
		}
	}
	return next, err
}
