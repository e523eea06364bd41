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

// Refused says that a change of the cluster itself was not made, and why.
type Refused struct {
	code   noun.Code
	detail string
}

func (e *Refused) Error() string { return e.detail }

// Code tells the doors which of their answers to give.
func (e *Refused) Code() noun.Code { return e.code }

func refuse(code noun.Code, format string, args ...any) error {
	return &Refused{code, fmt.Sprintf(format, args...)}
}

// Server is one member of the cluster as the leader sees it; other servers know
// less of Contact and Lag.
type Server struct {
	ID, RaftAddr, APIAddr string
	Version               string
	Features              uint32
	Voter, Leader, Self   bool
	Diverged              bool
	Contact               time.Duration // since its last sign of life, or since it was found unreachable; -1: unknown
	Lag                   uint64        // log entries behind this server
}

const (
	caughtUp    = 64 // entries behind that still count as up to date
	reachable   = time.Second
	catchUpLook = 25 * time.Millisecond
)

// configuration is the newest one that raft knows; empty before Run.
func (r *Replica) configuration() []raft.Server {
	rf := r.raft.Load()
	if rf == nil {
		return nil
	}
	fut := rf.GetConfiguration()
	if fut.Error() != nil {
		return nil
	}
	return fut.Configuration().Servers
}

// Outside tells whether this server still has to be taken into a cluster: it was
// opened without a log, or it was taken in without a vote yet. What it hears before
// it is a member makes no difference: a leader that knew it before may speak to it
// at once. A server that was removed is not outside; it stays what a human made it.
func (r *Replica) Outside() bool {
	if r.fresh.Load() {
		return true
	}
	return slices.ContainsFunc(r.Servers(), func(s Server) bool { return s.Self && !s.Voter })
}

// ownAddress refuses to run under another address than the one by which the other
// servers know this one: they would never reach it.
func (r *Replica) ownAddress(rf *raft.Raft) error {
	fut := rf.GetConfiguration()
	if err := fut.Error(); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	for _, s := range fut.Configuration().Servers {
		if string(s.ID) == r.cfg.ID && s.Address != r.trans.LocalAddr() {
			return fmt.Errorf("start server %s: the cluster knows it at raft address %s, not at %s: "+
				"start it there, or remove it from the cluster and add it again with an empty data directory",
				r.cfg.ID, s.Address, r.trans.LocalAddr())
		}
	}
	return nil
}

// voters lists the ids of the voting servers, sorted.
func (r *Replica) voters() []string {
	var ids []string
	for _, s := range r.configuration() {
		if s.Suffrage == raft.Voter {
			ids = append(ids, string(s.ID))
		}
	}
	slices.Sort(ids)
	return ids
}

// Servers lists the members of the cluster by id.
func (r *Replica) Servers() []Server {
	leader := r.Leader().ID
	var list []Server
	for _, s := range r.configuration() {
		m := Server{ID: string(s.ID), RaftAddr: string(s.Address), Voter: s.Suffrage == raft.Voter, Contact: -1}
		m.Leader, m.Self = m.ID == leader, m.ID == r.cfg.ID
		if m.Self {
			m.Contact = 0
		} else if c := r.trans.contactOf(m.ID); !c.at.IsZero() {
			m.Contact = time.Since(c.at)
			m.Lag = r.raft.Load().LastIndex() - min(c.last, r.raft.Load().LastIndex())
		} else if since, down := r.words.since(m.RaftAddr); down {
			m.Contact = since
		}
		list = append(list, m)
	}
	r.Read(func(s *fsm.View) {
		for _, srv := range s.Servers() {
			if i := slices.IndexFunc(list, func(m Server) bool { return m.ID == srv.ID }); i >= 0 {
				list[i].APIAddr, list[i].Version, list[i].Features = srv.APIAddr, srv.Version, srv.Features
			}
		}
		for i := range list {
			list[i].Diverged = slices.Contains(s.Diverged(), list[i].ID)
		}
	})
	slices.SortFunc(list, func(a, b Server) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return list
}

// leading gives raft when this server's stint is open.
func (r *Replica) leading() (*raft.Raft, error) {
	if r.diverged.Load() {
		return nil, noun.ErrDiverged
	}
	if st, _ := r.stints.current(); st == nil {
		return nil, noun.ErrNotLeader
	}
	return r.raft.Load(), nil
}

// AddServer adds a server that was started empty and waits: first without a vote,
// and with one when it has caught up. It can be repeated, also by several callers at once.
// When ctx ends before the server has caught up, it is taken out again. Other changes of the
// membership go on meanwhile; when one removes the server, the addition ends. Leader only.
func (r *Replica) AddServer(ctx context.Context, id, addr string) error {
	done := r.additions.begin(id)
	defer done()
	rf, member, err := r.addNonvoter(ctx, id, addr)
	if member || err != nil {
		return err
	}
	if err := r.awaitCatchUp(ctx, rf, id); err != nil {
		err = fmt.Errorf("add server %s: %w: is it running at %s with an empty data directory?", id, err, addr)
		if done() > 0 { // somebody else still waits for it
			return err
		}
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return errors.Join(err, r.removeOrphan(back, id))
	}
	if err := r.enterMembers(ctx); err != nil {
		return fmt.Errorf("give server %s its vote: %w", id, err)
	}
	defer r.leaveMembers()
	if err := r.change(ctx, rf.AddVoter(raft.ServerID(id), raft.ServerAddress(addr), 0, 0)); err != nil {
		return fmt.Errorf("give server %s its vote: %w", id, err)
	}
	r.log.Info("server added", "server", id, "address", addr)
	return nil
}

// addNonvoter makes the server a member without a vote; member tells that it has one already.
func (r *Replica) addNonvoter(ctx context.Context, id, addr string) (rf *raft.Raft, member bool, err error) {
	if err := r.enterMembers(ctx); err != nil {
		return nil, false, fmt.Errorf("add server %s: %w", id, err)
	}
	defer r.leaveMembers()
	if rf, err = r.leading(); err != nil {
		return nil, false, err
	}
	for _, s := range r.configuration() {
		switch {
		case string(s.ID) == id && string(s.Address) != addr:
			return nil, false, refuse(noun.Conflict, "server %s is a member at %s: remove it first", id, s.Address)
		case string(s.ID) != id && string(s.Address) == addr:
			return nil, false, refuse(noun.Conflict, "address %s belongs to server %s", addr, s.ID)
		case string(s.ID) == id && s.Suffrage == raft.Voter:
			return rf, true, nil
		}
	}
	// What it answered before it was removed says nothing about it now.
	r.trans.forget(id)
	if err := r.change(ctx, rf.AddNonvoter(raft.ServerID(id), raft.ServerAddress(addr), 0, 0)); err != nil {
		return nil, false, fmt.Errorf("add server %s: %w", id, err)
	}
	return rf, false, nil
}

// awaitCatchUp waits until the server holds nearly all of the log. A server that holds
// nothing never gets a vote: it would be taken for one that lost its data.
func (r *Replica) awaitCatchUp(ctx context.Context, rf *raft.Raft, id string) error {
	tick := time.NewTicker(catchUpLook)
	defer tick.Stop()
	for {
		c := r.trans.contactOf(id)
		if time.Since(c.at) < reachable && c.last > 0 && c.last+caughtUp >= rf.LastIndex() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it has not caught up: %w", ctx.Err())
		case <-tick.C:
		}
		if _, err := r.leading(); err != nil {
			return err
		}
		if !r.isNonvoter(id) {
			return refuse(noun.Conflict, "it was removed before it had caught up")
		}
	}
}

// isNonvoter tells whether the server is a member without a vote.
func (r *Replica) isNonvoter(id string) bool {
	return slices.ContainsFunc(r.configuration(), func(s raft.Server) bool {
		return string(s.ID) == id && s.Suffrage != raft.Voter
	})
}

// change waits for a change of the configuration.
func (r *Replica) change(ctx context.Context, fut raft.IndexFuture) error {
	done := make(chan error, 1)
	go func() { done <- fut.Error() }()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", noun.ErrUnknownOutcome, ctx.Err())
	case err := <-done:
		return fromRaft(err)
	}
}

// fromRaft translates raft's errors into the coordinator's.
func fromRaft(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return noun.ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown):
		return fmt.Errorf("%w (%w)", noun.ErrUnknownOutcome, err)
	}
	return err
}

// RemoveServer takes a server out of the cluster. It is refused when less than a
// majority of the servers that remain answer right now, unless force is set. To
// remove the leader, it hands leadership over first and returns fsm.ErrNotLeader:
// the new leader does it. Removing a server that is no member does nothing.
func (r *Replica) RemoveServer(ctx context.Context, id string, force bool) error {
	if err := r.enterMembers(ctx); err != nil {
		return fmt.Errorf("remove server %s: %w", id, err)
	}
	defer r.leaveMembers()
	rf, err := r.leading()
	if err != nil {
		return err
	}
	member := slices.ContainsFunc(r.configuration(), func(s raft.Server) bool { return string(s.ID) == id })
	voters, alive := r.carryOn(id)
	switch {
	case !member:
		return r.forget(ctx, id)
	case voters == 0:
		return refuse(noun.Conflict, "server %s is the last one: stop it instead", id)
	case alive <= voters/2 && !force:
		return refuse(noun.Conflict,
			"only %d of the other %d servers answer: without server %s the cluster may stand still; "+
				"start the others first, or use force", alive, voters, id)
	case id == r.cfg.ID:
		if err := r.transfer(ctx, ""); err != nil {
			return fmt.Errorf("hand leadership over: %w", err)
		}
		return noun.ErrNotLeader
	}
	if err := r.change(ctx, rf.RemoveServer(raft.ServerID(id), 0, 0)); err != nil {
		return fmt.Errorf("remove server %s: %w", id, err)
	}
	r.log.Info("server removed", "server", id)
	return r.forget(ctx, id)
}

// carryOn counts the voters that would be left without the server, and those of them that
// answer right now: that one was heard of a moment ago does not say that it still lives.
func (r *Replica) carryOn(without string) (voters, alive int) {
	var wg sync.WaitGroup
	var answers atomic.Int32
	for _, s := range r.Servers() {
		if s.ID == without || !s.Voter {
			continue
		}
		voters++
		if s.Self {
			answers.Add(1)
			continue
		}
		wg.Go(func() {
			if word, err := r.question(s.RaftAddr, question+" "+s.ID); err == nil && word != "" {
				answers.Add(1)
			}
		})
	}
	wg.Wait()
	return voters, int(answers.Load())
}

// forget drops what the state knows of a server.
func (r *Replica) forget(ctx context.Context, id string) error {
	_, err := r.batch.submit(ctx, fsm.Request{Cmd: fsm.DropServer{ID: id}})
	return err
}

// Transfer hands leadership to the server named, or to the most up to date one
// when to is empty. It returns when this server no longer leads. Leader only.
func (r *Replica) Transfer(ctx context.Context, to string) error {
	if _, err := r.leading(); err != nil {
		return err
	}
	if to == r.cfg.ID {
		return nil
	}
	return r.transfer(ctx, to)
}

func (r *Replica) transfer(ctx context.Context, to string) error {
	rf := r.raft.Load()
	if rf.State() != raft.Leader {
		return nil
	}
	done := make(chan error, 1)
	if to == "" {
		go func() { done <- rf.LeadershipTransfer().Error() }()
	} else {
		i := slices.IndexFunc(r.configuration(), func(s raft.Server) bool { return string(s.ID) == to })
		if i < 0 {
			return refuse(noun.NotFound, "server %s is not a member", to)
		}
		s := r.configuration()[i]
		if s.Suffrage != raft.Voter {
			return refuse(noun.Conflict, "server %s has no vote yet", to)
		}
		go func() { done <- rf.LeadershipTransferToServer(s.ID, s.Address).Error() }()
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("transfer leadership: %w", ctx.Err())
	case err := <-done:
		if err != nil {
			return fmt.Errorf("transfer leadership: %w", err)
		}
		return nil
	}
}

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
