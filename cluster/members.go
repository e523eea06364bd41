package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	caughtUp    = 64          // entries behind that still count as up to date
	steadyFor   = time.Second // a new server is up to date for so long before it gets its vote ...
	fewVoters   = 3           // ... unless there are fewer: they stand no loss, so each vote helps at once
	reachable   = time.Second
	catchUpLook = 25 * time.Millisecond

	// A server that is added may take as long as it needs to learn the log, if it learns: a snapshot of hours is one,
	// too. Its addition ends when nothing of it has come there for so long ...
	learnsNothing = 5 * time.Minute
	answersNobody = 2 * time.Minute // ... or, when it does not even answer, for so long
)

// members changes who belongs to the cluster.
type members struct {
	*node
	turn      chan struct{} // one change at a time, see enterMembers
	additions additions
}

// AddServer adds a server that was started empty and waits: first without a vote,
// and with one when it has caught up. It can be repeated, also by several callers at once.
// When ctx ends before the server has caught up, or it learns nothing for minutes (ErrNotLearning), it is taken out
// again, unless somebody repeats the call within seconds. Other changes of the
// membership go on meanwhile; when one removes the server, the addition ends. A standby stays one: a server
// that joins asks for its addition at every start, and who was demoted gets a vote by Promote only (law L9).
// Leader only.
func (m *members) AddServer(ctx context.Context, id, addr string) error {
	done := m.additions.begin(id)
	defer done()
	rf, was, err := m.addNonvoter(ctx, id, addr)
	if err != nil || was == asVoter || was == asStandby {
		return err
	}
	if err := m.learns(ctx, rf, id, addr, done); err != nil {
		return err
	}
	if m.standby(id) { // somebody has demoted it meanwhile
		return nil
	}
	return m.giveVote(ctx, rf, id, addr, "it was added as a voter")
}

// learns waits until a new member has caught up. When ctx ends before, and nobody else waits for it, it is taken out
// again: one that answers by dropOrphans only, since its caller may come back at once and go on, as one does whose
// connection was replaced. Done ends the caller's own addition.
func (m *members) learns(ctx context.Context, rf *raft.Raft, id, addr string, done func() int) error {
	err := m.awaitCatchUp(ctx, rf, id)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("add server %s: %w: is it running at %s with an empty data directory?", id, err, addr)
	if done() > 0 { // somebody else still waits for it
		return err
	}
	if ctx.Err() != nil && time.Since(m.trans.contactOf(id).at) < reachable {
		return err
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, m.removeOrphan(back, id))
}

// standing is what a server was when its addition began.
type standing int

const (
	asNobody  standing = iota
	asLearner          // a member that waits for its vote
	asStandby
	asVoter
)

// addNonvoter makes the server a member without a vote, unless it has one.
func (m *members) addNonvoter(ctx context.Context, id, addr string) (rf *raft.Raft, as standing, err error) {
	if err := m.enterMembers(ctx); err != nil {
		return nil, as, fmt.Errorf("add server %s: %w", id, err)
	}
	defer m.leaveMembers()
	if rf, err = m.leading(); err != nil {
		return nil, as, err
	}
	for _, s := range m.configuration() {
		switch {
		case string(s.ID) == id && string(s.Address) != addr:
			return nil, as, refuse(noun.Conflict, "server %s is a member at %s: remove it first", id, s.Address)
		case string(s.ID) != id && string(s.Address) == addr:
			return nil, as, refuse(noun.Conflict, "address %s belongs to server %s", addr, s.ID)
		case string(s.ID) == id && s.Suffrage == raft.Voter:
			return rf, asVoter, nil
		case string(s.ID) == id && m.standby(id):
			as = asStandby
		case string(s.ID) == id:
			as = asLearner
		}
	}
	if err := m.outcast(id); err != nil {
		return nil, as, err
	}
	if as == asNobody && m.standby(id) { // a removal of it was interrupted: what it was is over
		if err := m.setStandby(ctx, id, false, "it is added anew"); err != nil {
			return nil, as, err
		}
	}
	// What it answered before it was removed says nothing about it now.
	m.trans.forget(id)
	if err := m.change(ctx, rf.AddNonvoter(raft.ServerID(id), raft.ServerAddress(addr), 0, 0)); err != nil {
		return nil, as, fmt.Errorf("add server %s: %w", id, err)
	}
	return rf, as, nil
}

// outcast refuses a server whose identity does not count (any more): all others would turn it away, and the vote
// that it gets would be missing for ever.
func (m *members) outcast(id string) (no error) {
	m.Read(func(s *fsm.View) {
		k := s.Credential(noun.ServerIdentity, id)
		if s.ClusterUUID() != "" && (k == nil || k.Gone != 0) {
			no = refuse(noun.Conflict, "server %s has no identity in this cluster, or lost it when it was removed: "+
				"empty its data directory, and have it join by a token of `vigil token create --role server`", id)
		}
	})
	return no
}

// awaitCatchUp waits until the server holds nearly all of the log. A server that holds
// nothing never gets a vote: it would be taken for one that lost its data. Nor does one get it that comes and goes.
func (m *members) awaitCatchUp(ctx context.Context, rf *raft.Raft, id string) error {
	tick := time.NewTicker(catchUpLook)
	defer tick.Stop()
	var since time.Time // it is up to date
	var had contact
	learned := time.Now()
	for {
		c := m.trans.contactOf(id)
		if c.last != had.last || c.sent != had.sent {
			learned = time.Now()
		}
		had = c
		switch upToDate := time.Since(c.at) < reachable && c.last > 0 && c.last+caughtUp >= rf.LastIndex(); {
		case !upToDate:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		if !since.IsZero() && (time.Since(since) >= steadyFor || len(m.voters()) < fewVoters) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it has not caught up: %w", ctx.Err())
		case <-tick.C:
		}
		if _, err := m.leading(); err != nil {
			return err
		}
		quiet := time.Since(learned)
		if quiet >= learnsNothing || quiet >= answersNobody && time.Since(c.at) >= answersNobody {
			return fmt.Errorf("%w: nothing more has reached it for %v", ErrNotLearning, quiet.Round(time.Second))
		}
		switch at := m.seat(id); {
		case at == nil:
			return refuse(noun.Conflict, "it was removed before it had caught up")
		case at.Suffrage == raft.Voter: // by somebody else who waited, since it had caught up
			return nil
		}
	}
}

// isNonvoter tells whether the server is a member without a vote.
func (m *members) isNonvoter(id string) bool {
	return slices.ContainsFunc(m.configuration(), func(s raft.Server) bool {
		return string(s.ID) == id && s.Suffrage != raft.Voter
	})
}

// change waits for a change of the configuration.
func (m *members) change(ctx context.Context, fut raft.IndexFuture) error {
	done := make(chan error, 1)
	go func() { done <- fut.Error() }()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", noun.ErrUnknownOutcome, ctx.Err())
	case err := <-done:
		return fromRaft(err)
	}
}

// RemoveServer takes a server out of the cluster. It is refused when less than a
// majority of the servers that remain answer right now, unless force is set. To
// remove the leader, it hands leadership over first and returns fsm.ErrNotLeader:
// the new leader does it. Removing a server that is no member does nothing.
func (m *members) RemoveServer(ctx context.Context, id string, force bool) error {
	if err := m.enterMembers(ctx); err != nil {
		return fmt.Errorf("remove server %s: %w", id, err)
	}
	defer m.leaveMembers()
	rf, err := m.leading()
	if err != nil {
		return err
	}
	member := slices.ContainsFunc(m.configuration(), func(s raft.Server) bool { return string(s.ID) == id })
	voters, alive := m.carryOn(id)
	switch {
	case !member:
		return m.forget(ctx, id)
	case voters == 0:
		return refuse(noun.Conflict, "server %s is the last one: stop it instead", id)
	case alive <= voters/2 && !force:
		return refuse(noun.Conflict,
			"only %d of the other %d servers answer: without server %s the cluster may stand still; "+
				"start the others first, or use force", alive, voters, id)
	case id == m.cfg.ID:
		if err := m.transfer(ctx, ""); err != nil {
			return fmt.Errorf("hand leadership over: %w", err)
		}
		return noun.ErrNotLeader
	}
	if err := m.change(ctx, rf.RemoveServer(raft.ServerID(id), 0, 0)); err != nil {
		return fmt.Errorf("remove server %s: %w", id, err)
	}
	m.log.Info("server removed", "server", id)
	return m.forget(ctx, id)
}

// carryOn counts the voters that would be left without the server, and those of them that
// answer right now: that one was heard of a moment ago does not say that it still lives.
func (m *members) carryOn(without string) (voters, alive int) {
	var wg sync.WaitGroup
	var answers atomic.Int32
	for _, s := range m.Servers() {
		if s.ID == without || !s.Voter {
			continue
		}
		voters++
		if s.Self {
			answers.Add(1)
			continue
		}
		wg.Go(func() {
			if word, err := m.question(s.ID, s.RaftAddr, seatQuestion+" "+m.cfg.ID); err == nil && word != "" {
				answers.Add(1)
			}
		})
	}
	wg.Wait()
	return voters, int(answers.Load())
}

// forget drops what the state knows of a server.
func (m *members) forget(ctx context.Context, id string) error {
	_, err := m.batch.submit(ctx, fsm.Request{Cmd: fsm.DropServer{ID: id}})
	return err
}

// Transfer hands leadership to the server named, or to the most up to date one
// when to is empty. It returns when this server no longer leads. Leader only.
func (m *members) Transfer(ctx context.Context, to string) error {
	if _, err := m.leading(); err != nil {
		return err
	}
	if to == m.cfg.ID {
		return nil
	}
	return m.transfer(ctx, to)
}
