package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// A standby is a member that is sent the log and has no vote. raft's configuration says who has a vote, the state
// (fsm.SetStandby) which of the others are kept. So a server is called a standby before it loses its vote and until
// it has one again: a leader that dies in between leaves no orphan behind.

// promoteLimit bounds how long a promotion waits for a standby that is behind.
const promoteLimit = 15 * time.Second

func (m *members) standby(id string) (kept bool) {
	m.Read(func(s *fsm.View) { kept = s.Standby(id) })
	return kept
}

// setStandby is called with the turn of enterMembers, or without: repeating it changes nothing.
func (m *members) setStandby(ctx context.Context, id string, standby bool, why string) error {
	out, err := m.batch.submit(ctx, fsm.Request{Cmd: fsm.SetStandby{ID: id, Standby: standby, Why: why}})
	if err == nil && out.Code != noun.OK {
		err = refuse(out.Code, "%s", out.Detail)
	}
	if err != nil {
		return fmt.Errorf("note whether server %s is a standby: %w", id, err)
	}
	return nil
}

// AddStandby adds a server that was started empty and waits until it has caught up. It stays without a vote, ready
// to take the place of one that is lost. It can be repeated. Leader only.
func (m *members) AddStandby(ctx context.Context, id, addr string) error {
	done := m.additions.begin(id)
	defer done()
	rf, was, err := m.addNonvoter(ctx, id, addr)
	if err != nil {
		return err
	}
	if was == asVoter {
		return refuse(noun.Conflict, "server %s has a vote: make it a standby with `vigil server demote %s`", id, id)
	}
	if err := m.learns(ctx, rf, id, addr, done); err != nil {
		return err
	}
	if err := m.setStandby(ctx, id, true, "it was added as a standby"); err != nil {
		return err
	}
	m.log.Info("standby added", "server", id, "address", addr)
	return nil
}

// Promote gives a standby its vote, once it has caught up. A server that has a vote keeps it. Leader only.
func (m *members) Promote(ctx context.Context, id string) error {
	return m.promote(ctx, id, "it was promoted by hand")
}

func (m *members) promote(ctx context.Context, id, why string) error {
	rf, err := m.leading()
	if err != nil {
		return err
	}
	at := m.seat(id)
	switch {
	case at == nil:
		return refuse(noun.NotFound, "%s", noun.AbsentServer(id))
	case at.Suffrage == raft.Voter:
		return m.setStandby(ctx, id, false, why)
	}
	defer m.additions.begin(id)()
	short, cancel := context.WithTimeout(ctx, promoteLimit)
	defer cancel()
	if err := m.awaitCatchUp(short, rf, id); err != nil {
		if ctx.Err() == nil && short.Err() != nil {
			return refuse(noun.Conflict, "standby %s has not caught up with the log within %v: see that it runs and is reached",
				id, promoteLimit)
		}
		return fmt.Errorf("promote server %s: %w", id, err)
	}
	return m.giveVote(ctx, rf, id, string(at.Address), why)
}

// giveVote makes a member that has caught up a voter, unless it is one: several may wait for the same server.
func (m *members) giveVote(ctx context.Context, rf *raft.Raft, id, addr, why string) error {
	if err := m.enterMembers(ctx); err != nil {
		return fmt.Errorf("give server %s its vote: %w", id, err)
	}
	defer m.leaveMembers()
	switch at := m.seat(id); {
	case at == nil: // raft would make it a voter that nobody has seen catch up
		return fmt.Errorf("give server %s its vote: %w", id, refuse(noun.Conflict, "it was removed before it had its vote"))
	case at.Suffrage != raft.Voter:
		if err := m.change(ctx, rf.AddVoter(raft.ServerID(id), raft.ServerAddress(addr), 0, 0)); err != nil {
			return fmt.Errorf("give server %s its vote: %w", id, err)
		}
		m.log.Info("server has its vote", "server", id, "address", addr)
	}
	if !m.standby(id) {
		return nil
	}
	return m.setStandby(ctx, id, false, why)
}

// Demote takes the vote of a server and keeps it as a standby. It is refused when less than a majority of the
// voters that remain answer right now, unless force is set. To demote the leader, it hands leadership over first and
// returns fsm.ErrNotLeader: the new leader does it. A server without a vote keeps none. Leader only.
func (m *members) Demote(ctx context.Context, id string, force bool) error {
	return m.demote(ctx, id, "it was demoted by hand", force)
}

func (m *members) demote(ctx context.Context, id, why string, force bool) error {
	if err := m.enterMembers(ctx); err != nil {
		return fmt.Errorf("demote server %s: %w", id, err)
	}
	defer m.leaveMembers()
	rf, err := m.leading()
	if err != nil {
		return err
	}
	at := m.seat(id)
	if at == nil {
		return refuse(noun.NotFound, "%s", noun.AbsentServer(id))
	}
	if at.Suffrage != raft.Voter {
		return m.setStandby(ctx, id, true, why)
	}
	voters, alive := m.carryOn(id)
	switch {
	case voters == 0:
		return refuse(noun.Conflict, "server %s has the only vote: promote another one first", id)
	case alive <= voters/2 && !force:
		return refuse(noun.Conflict, "only %d of the other %d voters answer: without the vote of server %s the cluster "+
			"may stand still; start the others first, or use force", alive, voters, id)
	case id == m.cfg.ID:
		if err := m.transfer(ctx, ""); err != nil {
			return fmt.Errorf("hand leadership over: %w", err)
		}
		return noun.ErrNotLeader
	}
	if err := m.setStandby(ctx, id, true, why); err != nil {
		return err
	}
	if err := m.change(ctx, rf.DemoteVoter(raft.ServerID(id), 0, 0)); err != nil {
		return fmt.Errorf("demote server %s: %w", id, err)
	}
	m.log.Info("server is a standby now", "server", id, "why", why)
	return nil
}

// seat is a member as raft's configuration has it; nil: it is none.
func (m *members) seat(id string) *raft.Server {
	list := m.configuration()
	if i := slices.IndexFunc(list, func(s raft.Server) bool { return string(s.ID) == id }); i >= 0 {
		return &list[i]
	}
	return nil
}
