package park

import (
	"context"
	"slices"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Matches puts the claims of waiters into the entries that make their tasks, so that creation and claim are
// one commit and nobody is woken who cannot win. A match is a wake-up with the claim already made: the waiter
// counts as woken until it has settled, and whoever finds nothing parks again, at the front. It may be wrong:
// the log refuses a claim that finds no task, and a task that nobody was matched with wakes a waiter when
// its entry is applied. It implements fsm.Matcher.
type Matches struct {
	reader Reader
	queues *queues

	// What the entry makes; it belongs to the goroutine that seals.
	made []roleName
}

// maxMatches bounds the claims that are appended to one entry, and so the time that they take while it is sealed,
// some 150 us. Tasks beyond wake their waiters when they are applied.
const maxMatches = 1024

type roleName struct{ room, role string }

// match is a claim that is in an entry, guarded by queues.mu.
type match struct {
	out noun.Outcome
	err error
}

// See implements fsm.Matcher.
func (m *Matches) See(cmd fsm.Command) {
	if len(m.made) == maxMatches {
		return
	}
	switch c := cmd.(type) {
	case fsm.CreateTask:
		if c.After == 0 {
			m.made = append(m.made, roleName{c.Room, c.Role})
		}
	case fsm.Handoff:
		room, _, _ := strings.Cut(c.Agent, "/")
		m.made = append(m.made, roleName{room, c.ToRole})
	}
}

// Extras implements fsm.Matcher: for each task that the entry makes the claim of the waiter that has waited
// longest on this server.
func (m *Matches) Extras() (extras []fsm.Extra) {
	if len(m.made) == 0 {
		return nil
	}
	defer func() { m.made = m.made[:0] }()
	if m.queues.parked.Load() == 0 {
		return nil
	}
	type wanted struct {
		role   noun.RoleID
		paused []noun.AgentID
	}
	all := make([]wanted, 0, len(m.made))
	m.reader.Read(func(st *fsm.View) {
		for _, name := range m.made {
			if r := st.RoleByName(name.room, name.role); r != nil && st.RolePaused(r) == "" {
				all = append(all, wanted{r.ID, st.PausedAgents(r.ID)})
			}
		}
	})
	m.queues.mu.Lock()
	defer m.queues.mu.Unlock()
	for _, w := range all {
		slices.Sort(w.paused)
		if x := m.queues.take(w.role, w.paused); x != nil {
			x.match = &match{}
			extras = append(extras, fsm.Extra{Request: x.request, Done: func(out noun.Outcome, err error) {
				m.queues.matched(x, out, err)
			}})
		}
	}
	m.queues.matchedN.Add(uint64(len(extras)))
	return extras
}

// take takes the first waiter out of the queue that is not paused, nil when there is none. It counts as
// woken. The caller holds mu.
func (w *queues) take(role noun.RoleID, paused []noun.AgentID) *waiter {
	q := w.roles[role]
	if q == nil {
		return nil
	}
	for x := q.first; x != nil; x = x.next {
		if _, skip := slices.BinarySearch(paused, x.agent); !skip {
			w.unlink(q, x)
			x.state = woken
			q.woken++
			return x
		}
	}
	return nil
}

// matched wakes a waiter whose claim has an outcome.
func (w *queues) matched(x *waiter, out noun.Outcome, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.match.out, x.match.err = out, err
	if x.state == woken { // it has not gone meanwhile
		x.wake <- struct{}{}
	}
}

// matching tells whether a claim of the waiter is on its way, or has come back.
func (w *queues) matching(x *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return x.match != nil
}

// claim makes the claim of a woken waiter, or takes the outcome of one that was in an entry. Where that is
// not known it asks again: an incarnation that holds a task already gets the same.
func (e *Engine) claim(ctx context.Context, s Seeker, x *waiter) (index uint64, err error) {
	e.tasks.mu.Lock()
	m := x.match
	x.match = nil
	e.tasks.mu.Unlock()
	if m == nil || m.err != nil {
		return s.Claim(ctx)
	}
	return m.out.Index, s.Take(&m.out)
}
