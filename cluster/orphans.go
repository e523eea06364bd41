package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"vigil/fsm"
)

// A member without a vote that is no standby is on its way to get one: somebody waits in AddServer for it. When
// leadership moves meanwhile, whoever waits may repeat the call at the new leader; if nobody
// does, the member is an orphan. It would be sent the log for ever and hold back the next
// feature level, so the leader takes it out again.
//
// A ghost is the reverse: a server that the state knows and that is no member. A leader that dies between the change
// of the configuration and DropServer leaves one, and so does a server that was taken out before it had its vote. It
// counts among those of whom a majority must have a key of gossip, and its identity goes on. The leader forgets it.
// That ends the identity, so a server that is restarted while it joins is given time to come back and ask again.

const (
	orphanLook  = time.Second
	orphanGrace = 15 * time.Second // for repeating AddServer at a new leader
	ghostGrace  = 10 * time.Minute
)

// additions counts the calls of AddServer that are under way here, by server.
type additions struct {
	mu   sync.Mutex
	open map[string]int
}

// begin counts a call. The function that it gives ends it, once, and tells how many others
// are under way for the same server.
func (a *additions) begin(id string) (end func() (others int)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[string]int{}
	}
	a.open[id]++
	ended := false
	return func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !ended {
			ended = true
			if a.open[id]--; a.open[id] == 0 {
				delete(a.open, id)
			}
		}
		return a.open[id]
	}
}

func (a *additions) has(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[id] > 0
}

// enterMembers waits until no other change of the membership is under way, as long as ctx
// lasts; leaveMembers lets the next one in.
func (m *members) enterMembers(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("another change of the membership is under way: %w", ctx.Err())
	}
}

func (m *members) leaveMembers() { <-m.turn }

// dropOrphans takes out members without a vote that nobody adds, and forgets ghosts, as long as this server leads.
func (m *members) dropOrphans(st *stint) {
	look := time.NewTicker(orphanLook)
	defer look.Stop()
	orphans, ghosts := lasting{}, lasting{}
	for {
		select {
		case <-st.ctx.Done():
			return
		case <-look.C:
		}
		for _, id := range orphans.note(m.orphans(), orphanGrace) {
			m.tidy(st, "a member without a vote that nobody adds is not taken out yet", id, m.removeOrphan)
		}
		for _, id := range ghosts.note(m.ghosts(), ghostGrace) {
			m.tidy(st, "a server that is no member is not forgotten yet", id, m.forgetGhost)
		}
	}
}

// tidy does one thing for dropOrphans, which comes back to it when it fails.
func (m *members) tidy(st *stint, failed, id string, do func(context.Context, string) error) {
	short, cancel := context.WithTimeout(st.ctx, 5*time.Second)
	defer cancel()
	if err := do(short, id); err != nil && st.ctx.Err() == nil {
		m.log.Warn(failed, "server", id, "error", err)
	}
}

// lasting is since when servers have been what they are.
type lasting map[string]time.Time

// note is told who is so now, and gives those that have been so for as long as grace.
func (l lasting) note(ids []string, grace time.Duration) (due []string) {
	maps.DeleteFunc(l, func(id string, _ time.Time) bool { return !slices.Contains(ids, id) })
	for _, id := range ids {
		if l[id].IsZero() {
			l[id] = time.Now()
		}
		if time.Since(l[id]) >= grace {
			due = append(due, id)
		}
	}
	return due
}

// orphans are the members without a vote that nobody adds and that are no standbys.
func (m *members) orphans() (ids []string) {
	for _, s := range m.configuration() {
		if id := string(s.ID); s.Suffrage != raft.Voter && !m.additions.has(id) && !m.standby(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// ghosts are servers that the state knows and that are no members, nor being added.
func (m *members) ghosts() (ids []string) {
	list := m.configuration()
	if len(list) == 0 { // raft has ended: it names nobody
		return nil
	}
	m.Read(func(s *fsm.View) {
		for _, srv := range s.Servers() {
			member := slices.ContainsFunc(list, func(o raft.Server) bool { return string(o.ID) == srv.ID })
			if !member && !m.additions.has(srv.ID) {
				ids = append(ids, srv.ID)
			}
		}
	})
	return ids
}

// forgetGhost ends what is left of a server, unless it is a member again or somebody adds it.
func (m *members) forgetGhost(ctx context.Context, id string) error {
	if err := m.enterMembers(ctx); err != nil {
		return fmt.Errorf("forget server %s: %w", id, err)
	}
	defer m.leaveMembers()
	if _, err := m.leading(); err != nil {
		return err
	}
	if !slices.Contains(m.ghosts(), id) {
		return nil
	}
	if err := m.forget(ctx, id); err != nil {
		return fmt.Errorf("forget server %s: %w", id, err)
	}
	m.log.Info("server forgotten: it is no member", "server", id)
	return nil
}

// removeOrphan takes a member out that has no vote, unless somebody adds it again.
func (m *members) removeOrphan(ctx context.Context, id string) error {
	if err := m.enterMembers(ctx); err != nil {
		return fmt.Errorf("take server %s out again: %w", id, err)
	}
	defer m.leaveMembers()
	rf, err := m.leading()
	if err != nil {
		return err
	}
	if !m.isNonvoter(id) || m.additions.has(id) || m.standby(id) {
		return nil
	}
	if err := m.change(ctx, rf.RemoveServer(raft.ServerID(id), 0, 0)); err != nil {
		return fmt.Errorf("take server %s out again: %w", id, err)
	}
	m.log.Info("server taken out again: it never got its vote", "server", id)
	return nil
}
