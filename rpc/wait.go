package rpc

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
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
// Across servers nothing is shared: every server with parked waiters wakes as many
// as there are tasks, the leader and the log decide who gets one (see turnstile),
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

// Looks at a parked waiter's agent: one soon, since a replica that was behind may
// not have known that the agent already held a task; then seldom, to let go of
// waiters that were superseded.
const (
	firstLook = time.Second
	nextLook  = 30 * time.Second
)

// waits keeps the waiters of this server, by role. Safe for concurrent use.
type waits struct {
	reader Reader
	gate   *gate

	parked atomic.Int64
	wokenN atomic.Uint64 // ever
	lostN  atomic.Uint64 // claims that found nothing

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

// waiter is one parked call. Its fields are guarded by waits.mu.
type waiter struct {
	role       noun.RoleID
	agent      noun.AgentID
	state      waiterState
	prev, next *waiter
	wake       chan struct{} // one wake-up fits
}

func newWaits(r Reader, g *gate) *waits {
	return &waits{reader: r, gate: g, roles: map[noun.RoleID]*roleQueue{}}
}

// park puts a waiter at the end of its role's queue, or at the front when it has
// waited before.
func (w *waits) park(x *waiter, front bool) {
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
func (w *waits) unlink(q *roleQueue, x *waiter) {
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
// the next one.
func (w *waits) leave(x *waiter) {
	w.mu.Lock()
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
}

// settled ends what a wake-up began, once the replica has applied the claim's entry
// (index 0: none was seen).
func (w *waits) settled(x *waiter, index uint64) {
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
func (w *waits) forget(role noun.RoleID, q *roleQueue) {
	if q != nil && q.first == nil && q.woken == 0 {
		delete(w.roles, role)
	}
}

// settle wakes waiters of the role until as many are awake as tasks are pending.
func (w *waits) settle(role noun.RoleID) {
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
func (w *waits) wake(role noun.RoleID, pending int, paused []noun.AgentID) {
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
func (w *waits) claimable(roles []noun.RoleID) {
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
func (w *waits) reset() {
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

// Wait parks until the role has a task, claims it and answers with it.
func (w *work) Wait(ctx context.Context, r *vigilv1.WaitRequest) (*vigilv1.ClaimResponse, error) {
	var c checks
	c.speaking(r.GetSpeaker(), false)
	limit := c.duration("max_wait", r.GetMaxWait())
	if limit > maxWait {
		c.fail("max_wait is %s; at most %s are allowed, then wait again.", limit, maxWait)
	}
	if c.err != nil {
		return nil, c.err
	}
	if limit == 0 {
		limit = time.Minute
	}
	claim := &vigilv1.ClaimRequest{Speaker: r.GetSpeaker()}
	role, agent, sure := w.seat(claim)
	if !sure {
		// Only the leader knows: the agent holds a task, this replica is behind, or
		// the call is refused.
		resp, err := w.claimOnLeader(ctx, claim)
		var lost bool
		if lost, err = w.lost(ctx, err); !lost {
			return resp, err
		}
		if role, agent, _ = w.seat(claim); role == 0 {
			return nil, read(w.core, func(st *fsm.View) error { return noAgent(st, r.GetSpeaker().GetAgent()) })
		}
	}
	return w.parkAndClaim(ctx, claim, &waiter{role: role, agent: agent, wake: make(chan struct{}, 1)}, limit)
}

// seat finds the agent that waits, and the role for whose tasks. sure tells that this replica sees the
// incarnation, which has shown its token, WAITING without a task, so that nothing has to be asked first.
func (w *work) seat(claim *vigilv1.ClaimRequest) (role noun.RoleID, agent noun.AgentID, sure bool) {
	s := speaker(claim.GetSpeaker())
	w.reader.Read(func(st *fsm.View) {
		if a := st.AgentByName(s.Agent); a != nil {
			role, agent = a.Role, a.ID
			sure = a.Inc == s.Inc && a.TokenHash == string(s.TokenHash) && a.Part == noun.PartWaiting && a.Task == 0
		}
	})
	return role, agent, sure
}

// parkAndClaim is the life of a parked waiter: FIFO per role, woken, claims, and
// parks again at the front when somebody else was faster.
func (w *work) parkAndClaim(ctx context.Context, claim *vigilv1.ClaimRequest, x *waiter, limit time.Duration) (*vigilv1.ClaimResponse, error) {
	end := time.Now().Add(limit)
	look := firstLook
	timer := time.NewTimer(min(look, limit))
	defer timer.Stop()
	for again := false; ; again = true {
		w.waits.park(x, again)
		for awake := false; !awake; {
			select {
			case <-x.wake:
				awake = true
			case <-timer.C:
				left := time.Until(end)
				if _, _, sure := w.seat(claim); !sure || left <= 0 {
					w.waits.leave(x)
					return w.lastClaim(ctx, claim, sure)
				}
				look = nextLook
				timer.Reset(min(look, left))
			case <-ctx.Done():
				w.waits.leave(x)
				return nil, ctx.Err()
			case <-w.stop:
				w.waits.leave(x)
				return nil, fault.New(code.Unavailable, "This server is stopping; wait on another one.")
			}
		}
		if err := ctx.Err(); err != nil {
			w.waits.leave(x)
			return nil, err
		}
		resp, err := w.claimOnLeader(ctx, claim)
		index := resp.GetIndex()
		if err != nil {
			index = fault.Of(err).Index
		}
		w.waits.settled(x, index)
		var lost bool
		if lost, err = w.lost(ctx, err); !lost {
			return resp, err
		}
		if role, agent, _ := w.seat(claim); role != 0 { // another after a reset
			x.role, x.agent = role, agent
		}
	}
}

// lastClaim ends a wait: with a claim when the agent's state has changed under it,
// else with no_task.
func (w *work) lastClaim(ctx context.Context, claim *vigilv1.ClaimRequest, sure bool) (*vigilv1.ClaimResponse, error) {
	if sure {
		return nil, fault.New(code.NoTask, "No task came within max_wait; wait again.")
	}
	return w.claimOnLeader(ctx, claim)
}

// claimOnLeader claims for a waiter, here or through the leader.
func (w *work) claimOnLeader(ctx context.Context, claim *vigilv1.ClaimRequest) (*vigilv1.ClaimResponse, error) {
	full := vigilv1.Work_Claim_FullMethodName
	ctx = metadata.AppendToOutgoingContext(ctx, code.HeaderWoken, "1")
	resp, err := w.fwd.toLeader(ctx, full, w.fwd.methods[full], claim, func(ctx context.Context, req any) (any, error) {
		return w.claimWoken(ctx, req.(*vigilv1.ClaimRequest))
	})
	if err != nil {
		return nil, err
	}
	return resp.(*vigilv1.ClaimResponse), nil
}

// lost tells whether a claim found nothing, and returns only when this replica
// shows why: else the waiter would be woken for the same task again.
func (w *work) lost(ctx context.Context, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	p := fault.Of(err)
	if p.Code != code.NoTask {
		return false, err
	}
	w.waits.lostN.Add(1)
	if err := w.waits.gate.await(ctx, p.Index); err != nil {
		return false, err
	}
	return true, nil
}
