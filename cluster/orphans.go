package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// A member without a vote that is no standby is on its way to get one: somebody waits in AddServer for it. When
// leadership moves meanwhile, whoever waits may repeat the call at the new leader; if nobody
// does, the member is an orphan. It would be sent the log for ever and hold back the next
// feature level, so the leader takes it out again.

const (
	orphanLook  = time.Second
	orphanGrace = 15 * time.Second // for repeating AddServer at a new leader
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

// dropOrphans takes out members without a vote that nobody adds, as long as this server leads.
func (m *members) dropOrphans(st *stint) {
	look := time.NewTicker(orphanLook)
	defer look.Stop()
	since := map[string]time.Time{}
	for {
		select {
		case <-st.ctx.Done():
			return
		case <-look.C:
		}
		seen := map[string]time.Time{}
		for _, s := range m.configuration() {
			id := string(s.ID)
			if s.Suffrage == raft.Voter || m.additions.has(id) || m.standby(id) {
				continue
			}
			if seen[id] = since[id]; seen[id].IsZero() {
				seen[id] = time.Now()
			}
			if time.Since(seen[id]) < orphanGrace {
				continue
			}
			short, cancel := context.WithTimeout(st.ctx, 5*time.Second)
			if err := m.removeOrphan(short, id); err != nil && st.ctx.Err() == nil {
				m.log.Warn("a member without a vote that nobody adds is not taken out yet", "server", id, "error", err)
			}
			cancel()
		}
		since = seen
	}
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
