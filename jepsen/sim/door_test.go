package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	attemptLimit = 5 * time.Second // of one call
	clientLimit  = 5 * time.Minute // of one write, as rpc/client gives up
	unledFor     = 5 * time.Second // a server that knows no leader for so long ends its streams
	outside      = -1              // a caller who is on no host and never cut off
)

var (
	errLost     = errors.New("no answer")
	errNoLeader = errors.New("no leader is reachable")
	// errForgotten: the session is gone, and with it whether the write was done.
	errForgotten = errors.New("session is not known")
)

// links says which callers reach which servers.
type links struct {
	w       *world
	mu      sync.Mutex
	host    map[int]int           // cut from all servers, by so many faults
	deaf    map[int]int           // what it asks arrives, the answers do not
	door    map[[2]int]int        // host, server: cut
	shut    map[int]int           // server that no caller reaches
	silent  map[int]int           // its daemon does not run
	slow    map[int]time.Duration // each way of a call of this host takes up to this long
	answers atomic.Uint64
	loss    atomic.Uint64 // one of so many answers is lost; 0: fewer
	rough   atomic.Int64  // while not 0, many calls arrive late and twice
}

func newLinks(w *world) *links {
	return &links{w: w, host: map[int]int{}, deaf: map[int]int{}, door: map[[2]int]int{}, shut: map[int]int{},
		silent: map[int]int{},
		slow:   map[int]time.Duration{}}
}

func (l *links) change(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

// block raises one of the counts until the answer is called.
func block[K comparable](l *links, m map[K]int, key K) (undo func()) {
	l.change(func() { m[key]++ })
	return sync.OnceFunc(func() { l.change(func() { m[key]-- }) })
}

// enter tells whether a caller on a host reaches a server.
func (l *links) enter(from, srv int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.host[from] == 0 && l.door[[2]int{from, srv}] == 0 && l.shut[srv] == 0 && !l.w.wire.isFrozen(srv)
}

// hears tells whether a caller on a host gets an answer from a server.
func (l *links) hears(from, srv int) bool {
	l.mu.Lock()
	deaf := l.deaf[from] > 0
	l.mu.Unlock()
	return !deaf && l.enter(from, srv)
}

// cutOff tells whether a host cannot prove anything.
func (l *links) cutOff(from int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.host[from] > 0 || l.deaf[from] > 0 || l.silent[from] > 0
}

// lag lets one way of a call of a slow host pass.
func (l *links) lag(ctx context.Context, from int, n uint64) {
	l.mu.Lock()
	most := l.slow[from]
	l.mu.Unlock()
	if most > 0 {
		nap(ctx, most*time.Duration(n%8)/8)
	}
}

// leader finds the leader as a server knows it, and what can be asked there.
func (w *world) leader(via int) *stay {
	st := w.servers[via].now.Load()
	if st == nil || st.dead.Load() {
		return nil
	}
	l := st.rep.Leader()
	if l.Self {
		return st
	}
	for j, s := range w.servers {
		if s.cfg.ID == l.ID && w.forwards(via, j) {
			if st = s.now.Load(); st != nil && st.rep.Leader().Self {
				return st
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
// an answer is lost, or a request arrives late, or twice.
func attempt[T any](ctx context.Context, w *world, from int, lateness uint64, do call[T]) (none T, _ error) {
	n := w.links.answers.Add(1)
	twice := uint64(307)
	if w.links.rough.Load() > 0 {
		lateness, twice = max(lateness/40, 3), 7
	}
	for k := range w.n {
		via := int(n+uint64(k)) % w.n
		if !w.links.enter(from, via) {
			continue
		}
		st := w.leader(via)
		if st == nil {
			continue
		}
		st.called()
		w.links.lag(ctx, from, n)
		if n%twice == 0 {
			late(w, do)
		} else if n%lateness == 0 {
			late(w, do)
			return none, errLost
		}
		bounded, cancel := context.WithTimeout(ctx, attemptLimit)
		ans, err := do(bounded, st.rep)
		cancel()
		w.links.lag(ctx, from, n/8)
		switch {
		case st.dead.Load() || w.servers[via].now.Load() == nil:
			return none, errLost
		case errors.Is(err, noun.ErrNotLeader) || errors.Is(err, noun.ErrStopping):
			continue
		case err != nil:
			return none, err
		case n%197 == 0 || w.links.loss.Load() > 0 && n%w.links.loss.Load() == 0 || !w.links.hears(from, via):
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
		for via := range w.n {
			if st := w.leader(via); st != nil {
				ctx, cancel := context.WithTimeout(w.ctx, attemptLimit)
				_, _ = do(ctx, st.rep) // nobody hears the answer
				cancel()
				return
			}
		}
	})
}

// ask makes one attempt at a command.
func (w *world) ask(ctx context.Context, from int, req fsm.Request) (noun.Outcome, error) {
	lateness := uint64(someLate)
	if _, ok := req.Cmd.(fsm.RegisterHost); ok {
		lateness = manyLate
	}
	out, err := attempt(ctx, w, from, lateness, func(ctx context.Context, rep *cluster.Replica) (noun.Outcome, error) {
		return rep.Submit(ctx, req)
	})
	if err == nil && w.cfg.mutant == liesAboutFencing && out.Code == noun.Superseded {
		out.Code = noun.OK
	}
	return out, err
}

// insist asks until there is an answer or ctx ends. gate, when given, holds each
// attempt back while the caller is frozen; false ends the call.
func (w *world) insist(ctx context.Context, from int, req fsm.Request, gate func() bool) (noun.Outcome, error) {
	pause := 50 * time.Millisecond
	for {
		if gate != nil && !gate() {
			return noun.Outcome{}, context.Canceled
		}
		out, err := w.ask(ctx, from, req)
		if err == nil {
			return out, nil
		}
		if !nap(ctx, pause) {
			return noun.Outcome{}, ctx.Err()
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
	session noun.SessionID
	seq     uint64
	used    time.Time
}

// do writes once, however often it has to be sent. An error says that the outcome
// is not known.
func (k *client) do(ctx context.Context, cmd fsm.Command, gate func() bool) (noun.Outcome, error) {
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
	out, err := k.w.insist(ctx, k.from, req, gate)
	if err == nil && (out.Code == noun.UnknownSession || out.Code == noun.TooOld) { // a backup was restored
		k.session = 0
		return out, errForgotten
	}
	return out, err
}
