package park

import (
	"context"
	"sync"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Turnstile keeps claims that cannot win out of the log. A task wakes one waiter on
// every server that has some; their claims meet at the leader, and no more of them
// are submitted at a time than there are tasks. The others wait until one of those
// has ended, and look again: they are told that nothing is left, or let through.
//
// Nobody waits for ever: whoever waits does so behind a claim that is being
// submitted, and its end wakes all who wait. Safe for concurrent use.
type Turnstile struct {
	reader Reader

	mu    sync.Mutex // nothing is asked for under it
	roles map[noun.RoleID]*turns
}

// turns are the claims of one role.
type turns struct {
	inside int           // being submitted
	ended  chan struct{} // closed when one of them has ended
}

func newTurnstile(r Reader) *Turnstile {
	return &Turnstile{reader: r, roles: map[noun.RoleID]*turns{}}
}

// Enter returns true when the claim should be submitted; then Leave must follow.
// False: nothing is left, as of the log index.
func (t *Turnstile) Enter(ctx context.Context, role noun.RoleID) (ok bool, index uint64, err error) {
	for {
		var pending int
		t.reader.Read(func(st *fsm.View) { pending, index = st.Pending(role), st.LastIndex() })
		if pending == 0 {
			return false, index, nil
		}
		t.mu.Lock()
		q := t.roles[role]
		if q == nil {
			q = &turns{ended: make(chan struct{})}
			t.roles[role] = q
		}
		if q.inside < pending {
			q.inside++
			t.mu.Unlock()
			return t.again(role)
		}
		ended := q.ended
		t.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return false, 0, ctx.Err()
		}
	}
}

// again looks once more from inside: the look that opened the way may be older than
// a claim that has taken the last task and left.
func (t *Turnstile) again(role noun.RoleID) (ok bool, index uint64, err error) {
	t.reader.Read(func(st *fsm.View) { ok, index = st.Pending(role) > 0, st.LastIndex() })
	if !ok {
		t.Leave(role)
	}
	return ok, index, nil
}

// Leave ends what Enter allowed, after the outcome is in the state.
func (t *Turnstile) Leave(role noun.RoleID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.roles[role]
	q.inside--
	close(q.ended)
	if q.inside == 0 {
		delete(t.roles, role) // whoever waits begins a new one
		return
	}
	q.ended = make(chan struct{})
}
