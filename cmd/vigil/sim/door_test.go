package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"vigil/cluster"
	"vigil/fsm"
)

const (
	servers      = 3
	attemptLimit = 5 * time.Second // of one call
	clientLimit  = 5 * time.Minute // of one write, as rpc/client gives up
	outside      = -1              // a caller who is on no host and never cut off
)

var (
	errLost     = errors.New("no answer")
	errNoLeader = errors.New("no leader is reachable")
)

// links says who reaches whom.
type links struct {
	mu      sync.Mutex
	between [servers][servers]bool // cut
	paused  [servers]bool
	host    map[int]bool    // cut from all servers
	door    map[[2]int]bool // host, server: cut
	answers atomic.Uint64
}

func newLinks() *links { return &links{host: map[int]bool{}, door: map[[2]int]bool{}} }

func (l *links) change(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

// enter tells whether a caller on a host reaches a server.
func (l *links) enter(from, srv int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.paused[srv] && !l.host[from] && !l.door[[2]int{from, srv}]
}

func (l *links) forward(a, b int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.between[a][b] && !l.paused[a] && !l.paused[b]
}

func (l *links) cutOff(from int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.host[from]
}

// leader finds the leader as a server knows it, and what can be asked there.
func (w *world) leader(via int) *cluster.Replica {
	rep := w.c.Replica(via)
	if rep == nil {
		return nil
	}
	l := rep.Leader()
	if l.Self {
		return rep
	}
	for j := range servers {
		if w.c.ID(j) == l.ID && w.links.forward(via, j) {
			if rep = w.c.Replica(j); rep != nil && rep.Leader().Self {
				return rep
			}
		}
	}
	return nil
}

// lateness: one call of so many arrives seconds after its caller gave it up;
// registrations more often, as they are rare and say much.
const (
	someLate = 401
	manyLate = 5
)

// call is one request to a leader.
type call[T any] func(context.Context, *cluster.Replica) (T, error)

// attempt makes one call through whichever server the caller reaches. Now and then
// an answer is lost or a request arrives late.
func attempt[T any](ctx context.Context, w *world, from int, lateness uint64, do call[T]) (none T, _ error) {
	n := w.links.answers.Add(1)
	for k := range servers {
		via := int(n+uint64(k)) % servers
		if !w.links.enter(from, via) {
			continue
		}
		rep := w.leader(via)
		if rep == nil {
			continue
		}
		if n%lateness == 0 {
			late(w, do)
			return none, errLost
		}
		bounded, cancel := context.WithTimeout(ctx, attemptLimit)
		ans, err := do(bounded, rep)
		cancel()
		switch {
		case errors.Is(err, fsm.ErrNotLeader) || errors.Is(err, fsm.ErrStopping):
			continue
		case err != nil:
			return none, err
		case n%197 == 0 || !w.links.enter(from, via):
			return none, errLost
		}
		return ans, nil
	}
	return none, errNoLeader
}

// late delivers a request after its caller has stopped waiting for the answer.
func late[T any](w *world, do call[T]) {
	after := time.Duration(w.lateCalls.Add(1)%80) * 100 * time.Millisecond
	w.tasks.Go(func() {
		if !nap(w.ctx, after) {
			return
		}
		for via := range servers {
			if rep := w.leader(via); rep != nil {
				ctx, cancel := context.WithTimeout(w.ctx, attemptLimit)
				_, _ = do(ctx, rep) // nobody hears the answer
				cancel()
				return
			}
		}
	})
}

// ask makes one attempt at a command.
func (w *world) ask(ctx context.Context, from int, req fsm.Request) (fsm.Outcome, error) {
	lateness := uint64(someLate)
	if _, ok := req.Cmd.(fsm.RegisterHost); ok {
		lateness = manyLate
	}
	out, err := attempt(ctx, w, from, lateness, func(ctx context.Context, rep *cluster.Replica) (fsm.Outcome, error) {
		return rep.Submit(ctx, req)
	})
	if err == nil && w.cfg.mutant == liesAboutFencing && out.Code == fsm.Superseded {
		out.Code = fsm.OK
	}
	return out, err
}

// insist asks until there is an answer or ctx ends. gate, when given, holds each
// attempt back while the caller is frozen; false ends the call.
func (w *world) insist(ctx context.Context, from int, req fsm.Request, gate func() bool) (fsm.Outcome, error) {
	pause := 50 * time.Millisecond
	for {
		if gate != nil && !gate() {
			return fsm.Outcome{}, context.Canceled
		}
		out, err := w.ask(ctx, from, req)
		if err == nil {
			return out, nil
		}
		if !nap(ctx, pause) {
			return fsm.Outcome{}, ctx.Err()
		}
		pause = min(2*pause, 2*time.Second)
	}
}

// nap waits; false: ctx ended first.
func nap(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// client numbers the writes of one caller at a time.
type client struct {
	w       *world
	from    int
	session fsm.SessionID
	seq     uint64
	used    time.Time
}

// do writes once, however often it has to be sent. An error says that the outcome
// is not known.
func (k *client) do(ctx context.Context, cmd fsm.Command, gate func() bool) (fsm.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, clientLimit)
	defer cancel()
	if k.session == 0 || time.Since(k.used) > clientLimit {
		out, err := k.w.insist(ctx, k.from, fsm.Request{Cmd: fsm.OpenSession{Client: "sim"}}, gate)
		if err != nil {
			return out, err
		}
		k.session, k.seq = out.Session, 0
	}
	k.seq++
	k.used = time.Now()
	req := fsm.Request{Session: k.session, Seq: k.seq, Cmd: cmd}
	if k.w.cfg.mutant == forgetsRequestIDs {
		req.Session, req.Seq = 0, 0
	}
	return k.w.insist(ctx, k.from, req, gate)
}
