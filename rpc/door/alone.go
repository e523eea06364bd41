package door

import (
	"context"
	"errors"
	"sync"
	"time"

	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

const (
	// aloneAfter is how long a server may be without a leader before it sends those
	// away that hang on it. An election takes a tenth of it.
	aloneAfter = 5 * time.Second
	aloneLook  = 250 * time.Millisecond
	// alonePaused is a gap between two looks after which this server was paused: it
	// has not been without a leader, it did not look.
	alonePaused = time.Second
)

// errAlone is the cause with which calls end on a server that is alone.
var errAlone = errors.New("no leader is known here")

// alone tells whether this server has been without a leader for long: cut off, or
// not a member. Streams and parked calls would look healthy there for ever and bring
// nothing, so they end, and none begins before a leader is known. Calls for the leader are
// refused: who waits here does not ask the server that could answer, and two servers that are to
// be taken in would wait for each other. Safe for concurrent use.
type alone struct {
	leader func() Leader
	empty  func() bool // this server has no state: it was not taken in yet

	mu     sync.Mutex
	looked time.Time
	since  time.Time          // zero: a leader is known
	ctx    context.Context    // ends when this server is alone
	end    context.CancelFunc // of ctx
}

func newAlone(leader func() Leader, empty func() bool) *alone {
	a := &alone{leader: leader, empty: empty}
	a.ctx, a.end = context.WithCancel(context.Background())
	return a
}

// run looks for a leader until ctx ends. Calls on their way to a leader that is no
// longer known learn of it here, too.
func (a *alone) run(ctx context.Context) {
	tick := time.NewTicker(aloneLook)
	defer tick.Stop()
	for {
		a.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (a *alone) look() {
	known := a.leader().ID != ""
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	paused := now.Sub(a.looked) > alonePaused
	a.looked = now
	switch {
	case known:
		a.since = time.Time{}
		if a.ctx.Err() != nil {
			a.ctx, a.end = context.WithCancel(context.Background())
		}
	case a.since.IsZero() && a.empty():
		a.end()
	case a.since.IsZero() || paused:
		a.since = now
	case now.Sub(a.since) >= aloneAfter:
		a.end()
	}
}

func (a *alone) is() bool { return a.together().Err() != nil }

// together gives the context that ends when this server is alone.
func (a *alone) together() context.Context {
	a.mu.Lock()
	ctx := a.ctx
	a.mu.Unlock()
	if ctx.Err() == nil || a.leader().ID == "" {
		return ctx
	}
	a.look() // a leader is known since the last look
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ctx
}

// guard runs a call that hangs on this server, and ends it when the server is alone.
func (a *alone) guard(ctx context.Context, call func(context.Context) error) error {
	together := a.together()
	if together.Err() != nil {
		return leaderless()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(together, func() { cancel(errAlone) })()
	err := call(ctx)
	if err != nil && context.Cause(ctx) == errAlone {
		return leaderless()
	}
	return err
}

func leaderless() error {
	return fault.New(code.NoLeader, "This server has known no leader for %s, or is in no cluster yet; use another one.",
		aloneAfter)
}

// leaderlessStatus is the status of a server that knows no leader: what it knows by
// itself, at once, since whoever asks then wants to know what is wrong.
func leaderlessStatus(resp any, err error) (any, error) {
	if st, ok := resp.(*vigilv1.StatusResponse); ok && err == nil {
		st.Warnings = append([]string{"This server knows no leader: what it shows is what it knew last " +
			"and may be old. Ask another server, too."}, st.Warnings...)
	}
	return resp, err
}
