package park

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// Why no wake-up is lost
//
// For each role let pending be the number of claimable tasks in this server's
// replica, parked the waiters in the queue whose agents are not paused, and woken
// the waiters that were woken and have not settled yet. The rule is: woken >=
// min(pending, parked+woken). Four things can break it, and each is followed by
// settle(role), which wakes pending-woken waiters:
//
//   - a task becomes claimable, or a pause ends: the entry is in the state before
//     Effects name the role, and settle runs after that;
//   - a waiter parks: it is in the queue before settle reads the state;
//   - a claim ends, won or lost: woken is lowered before settle reads the state, and
//     not before the replica has applied the entry of that claim; until then the
//     claim still covers the task that it was about;
//   - a woken waiter goes away: woken is lowered before settle reads the state.
//
// So whoever changes one side makes that visible before it looks at the other:
// of two that happen at the same time at least one sees the other. settle may read
// a pending that is too old; what it then misses has a settle of its own.
//
// A waiter that the leader matches (Matches) is one that was woken, and whose claim is already made.
//
// Across servers nothing is shared: every server with parked waiters wakes as many
// as there are tasks, the leader and the log decide who gets one (see Turnstile),
// and the losers park again, at the front. A task is therefore never PENDING while a waiter is parked anywhere,
// except while claims for it are on their way.
//
// # A client that vanishes
//
// A waiter whose client is gone is taken out of the queue and claims nothing. If
// the client vanishes while the claim is in flight, the claim may still be
// committed. It is not given back: the same incarnation asking again gets the same
// task (the state machine recognizes it), and a give-back that overtakes such a
// retry would take the task from an agent that is alive. If the incarnation is
// really gone, its exit report, its Leave, the end of its lease or the
// acknowledgement limit recovers the task, whichever is first.

// queues keeps the waiters for tasks of this server, by role. Safe for concurrent use.
type queues struct {
	reader Reader
	gate   *Gate

	parked   atomic.Int64
	wokenN   atomic.Uint64 // ever
	lostN    atomic.Uint64 // claims that found nothing
	matchedN atomic.Uint64 // claims that went in with what they are about

	mu    sync.Mutex // held for a few instructions; nothing is asked for under it
	roles map[noun.RoleID]*roleQueue
}

// roleQueue is a FIFO of parked waiters.
type roleQueue struct {
	first, last *waiter
	woken       int
}

type waiterState uint8

const (
	idle   waiterState = iota // in no queue
	parked                    // in its role's queue
	woken                     // taken from the queue, has not settled
)

// waiter is one parked call. Its fields are guarded by queues.mu.
type waiter struct {
	role       noun.RoleID
	agent      noun.AgentID
	state      waiterState
	prev, next *waiter
	wake       chan struct{} // one wake-up fits
	request    fsm.Request   // its claim
	match      *match        // its claim is in an entry; nil: it is not
}

func newQueues(r Reader, g *Gate) *queues {
	return &queues{reader: r, gate: g, roles: map[noun.RoleID]*roleQueue{}}
}

// park puts a waiter at the end of its role's queue, or at the front when it has
// waited before.
func (w *queues) park(x *waiter, front bool) {
	w.mu.Lock()
	q := w.roles[x.role]
	if q == nil {
		q = &roleQueue{}
		w.roles[x.role] = q
	}
	x.state = parked
	switch {
	case q.first == nil:
		q.first, q.last = x, x
	case front:
		x.next, q.first.prev = q.first, x
		q.first = x
	default:
		x.prev, q.last.next = q.last, x
		q.last = x
	}
	w.mu.Unlock()
	w.parked.Add(1)
	w.settle(x.role)
}

// unlink takes a waiter out of its queue.
func (w *queues) unlink(q *roleQueue, x *waiter) {
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		q.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	} else {
		q.last = x.prev
	}
	x.prev, x.next = nil, nil
	w.parked.Add(-1)
}

// leave lets a waiter go that claims nothing; a wake-up that it was given goes to
// the next one. One whose claim is in an entry may stay (false), unless its caller is gone: then
// what it claims waits for the same incarnation, as after a lost answer.
func (w *queues) leave(x *waiter, gone bool) bool {
	w.mu.Lock()
	if x.match != nil && !gone {
		w.mu.Unlock()
		return false
	}
	q, was := w.roles[x.role], x.state
	x.state = idle
	switch was {
	case parked:
		w.unlink(q, x)
	case woken:
		q.woken--
		select {
		case <-x.wake:
		default:
		}
	}
	w.forget(x.role, q)
	w.mu.Unlock()
	if was == woken {
		w.settle(x.role)
	}
	return true
}

// settled ends what a wake-up began, once the replica has applied the claim's entry
// (index 0: none was seen).
func (w *queues) settled(x *waiter, index uint64) {
	role := x.role
	w.gate.after(index, func() {
		w.mu.Lock()
		q := w.roles[role]
		q.woken--
		w.forget(role, q)
		w.mu.Unlock()
		w.settle(role)
	})
}

// forget drops an empty queue. The caller holds mu.
func (w *queues) forget(role noun.RoleID, q *roleQueue) {
	if q != nil && q.first == nil && q.woken == 0 {
		delete(w.roles, role)
	}
}

// settle wakes waiters of the role until as many are awake as tasks are pending.
func (w *queues) settle(role noun.RoleID) {
	var pending int
	var paused []noun.AgentID
	w.reader.Read(func(st *fsm.View) {
		if pending = st.Pending(role); pending > 0 {
			paused = st.PausedAgents(role)
		}
	})
	if pending > 0 {
		slices.Sort(paused)
		w.wake(role, pending, paused)
	}
}

// wake passes over waiters whose agents are paused (law L9): their claims would find
// nothing, and they would stand at the front again.
func (w *queues) wake(role noun.RoleID, pending int, paused []noun.AgentID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.roles[role]
	if q == nil {
		return
	}
	for x := q.first; x != nil && q.woken < pending; {
		next := x.next
		if _, skip := slices.BinarySearch(paused, x.agent); !skip {
			w.unlink(q, x)
			x.state = woken
			q.woken++
			w.wokenN.Add(1)
			x.wake <- struct{}{}
		}
		x = next
	}
}

// claimable is called after an entry that gave these roles tasks.
func (w *queues) claimable(roles []noun.RoleID) {
	if w.parked.Load() == 0 {
		return
	}
	for _, role := range roles {
		w.mu.Lock()
		q := w.roles[role]
		someone := q != nil && q.first != nil
		w.mu.Unlock()
		if someone {
			w.settle(role)
		}
	}
}

// reset is called when the whole state was replaced: tasks may have come that no entry told
// of here, and a role may be there no more or have another number, then its waiters look for
// their seats anew.
func (w *queues) reset() {
	w.mu.Lock()
	roles := slices.Collect(maps.Keys(w.roles))
	w.mu.Unlock()
	for _, role := range roles {
		there := false
		w.reader.Read(func(st *fsm.View) { there = st.Role(role) != nil })
		if there {
			w.settle(role)
		} else {
			w.wake(role, math.MaxInt, nil)
		}
	}
}

// Seeker is a call that waits for a task.
type Seeker interface {
	// Seat finds the agent that waits, and the role for whose tasks. sure tells that this
	// replica sees the incarnation, which has shown its token, WAITING without a task, so
	// that nothing has to be asked first.
	Seat() (role noun.RoleID, agent noun.AgentID, sure bool)
	// Claim claims a task on the leader, and gives the index of the claim's entry. An error
	// with code no_task says that somebody else was faster.
	Claim(ctx context.Context) (index uint64, err error)
	// Request is the claim for the log; the leader may put it into an entry of its own accord.
	Request() fsm.Request
	// Take takes the outcome of that claim. Its error is what Claim would have given.
	Take(out *noun.Outcome) error
}

// ErrNobody says that there is no agent of the name that waits.
var ErrNobody = errors.New("nobody waits")

// WaitForTask waits until the role has a task and it is claimed, for at most limit.
func (e *Engine) WaitForTask(ctx context.Context, s Seeker, limit time.Duration) error {
	role, agent, sure := s.Seat()
	if !sure {
		// Only the leader knows: the agent holds a task, this replica is behind, or
		// the call is refused.
		_, err := s.Claim(ctx)
		var lost bool
		if lost, err = e.lost(ctx, err); !lost {
			return err
		}
		if role, agent, _ = s.Seat(); role == 0 {
			return ErrNobody
		}
	}
	return e.park(ctx, s, &waiter{role: role, agent: agent, wake: make(chan struct{}, 1), request: s.Request()}, limit)
}

// park is the life of a parked waiter: FIFO per role, woken, claims, and parks again at
// the front when somebody else was faster.
func (e *Engine) park(ctx context.Context, s Seeker, x *waiter, limit time.Duration) error {
	spell := e.Begin(limit)
	defer spell.End()
	for again := false; ; again = true {
		e.tasks.park(x, again)
		if over, err := e.rest(ctx, s, x, spell); over {
			return err
		}
		index, err := e.claim(ctx, s, x)
		if err != nil {
			index = fault.Of(err).Index
		}
		e.tasks.settled(x, index)
		lost, err := e.lost(ctx, err)
		if !lost {
			return err
		}
		if role, agent, _ := s.Seat(); role != 0 { // another after a reset
			x.role, x.agent = role, agent
		}
	}
}

// rest waits until a parked waiter is woken (false), or its wait is over, with the error that ends it.
func (e *Engine) rest(ctx context.Context, s Seeker, x *waiter, spell *Spell) (over bool, err error) {
	for {
		awake, err := spell.Rest(ctx, x.wake)
		if err == nil && !awake && e.tasks.matching(x) {
			select { // its claim is in an entry, whose end is near
			case <-x.wake:
				awake = true
			case <-ctx.Done():
			}
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			e.tasks.leave(x, true)
			return true, err
		}
		if awake {
			return false, nil
		}
		if _, _, sure := s.Seat(); !sure || spell.Over() {
			if !e.tasks.leave(x, false) {
				continue // it was matched meanwhile
			}
			return true, lastClaim(ctx, s, sure)
		}
	}
}

// lastClaim ends a wait: with a claim when the agent's state has changed under it,
// else with no_task.
func lastClaim(ctx context.Context, s Seeker, sure bool) error {
	if sure {
		return fault.New(code.NoTask, "No task came within max_wait; wait again.")
	}
	_, err := s.Claim(ctx)
	return err
}

// lost tells whether a claim found nothing, and returns only when this replica
// shows why: else the waiter would be woken for the same task again.
func (e *Engine) lost(ctx context.Context, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	p := fault.Of(err)
	if p.Code != code.NoTask {
		return false, err
	}
	e.tasks.lostN.Add(1)
	if err := e.Gate.Await(ctx, p.Index); err != nil {
		return false, err
	}
	return true, nil
}

// TaskFigures are about the waits for tasks of one server.
type TaskFigures struct {
	Parked int    // now
	Queues int    // roles with such waits, or with claims of theirs under way
	Woken  uint64 // wake-ups given so far
	Lost   uint64 // claims that found nothing so far
	// Matched counts claims that were put into the entries that made their tasks so far.
	Matched uint64
}

// TaskFigures gives the figures as of now.
func (e *Engine) TaskFigures() TaskFigures {
	q := e.tasks
	q.mu.Lock()
	defer q.mu.Unlock()
	return TaskFigures{Parked: int(max(0, q.parked.Load())), Queues: len(q.roles), Woken: q.wokenN.Load(),
		Lost: q.lostN.Load(), Matched: q.matchedN.Load()}
}
