package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// watchersMany is how many watchers the workload of that name has.
const watchersMany = 3

// watch is the workload of that name: more watchers than one.
type watch struct{ s *Set }

func newWatch(s *Set) load { return &watch{s} }

func (w *watch) prepare(context.Context) error { return nil }

func (w *watch) run(ctx context.Context) error {
	w.s.watchers.begin(watchersMany)
	<-ctx.Done()
	return nil
}

func (w *watch) quiesce(context.Context) error { return nil } // the set lets all watchers come to the end

// watchers are those of a set.
type watchers struct {
	s *Set

	mu  sync.Mutex
	all []*watcher
}

// begin starts watchers until there are so many.
func (w *watchers) begin(many int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.all) < many {
		one := &watcher{process: w.s.process("watch"), at: len(w.all)}
		w.all = append(w.all, one)
		w.s.background.Go(one.follow)
	}
}

// finish waits until all watchers have the newest event.
func (w *watchers) finish(ctx context.Context) error {
	p := w.s.process("watch")
	op := history.Op{Kind: "last"}
	for {
		err := p.ask(w.s.whole, w.s.cfg.Timeout, &op, func(ctx context.Context, a *asker) error {
			st, err := a.cluster.Status(ctx, &vigilv1.StatusRequest{})
			op.Index = st.GetLastEvent()
			return err
		})
		if err == nil {
			break
		}
		if !pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("ask for the newest event: %w", err)
		}
	}
	w.mu.Lock()
	all := append([]*watcher(nil), w.all...)
	w.mu.Unlock()
	for _, one := range all {
		for one.seq.Load() < op.Index {
			if !pause(ctx, 50*time.Millisecond) {
				w.s.cfg.Say("watch: a watcher has come to event %d of %d", one.seq.Load(), op.Index)
				return nil // the record tells
			}
		}
	}
	return nil
}

// watcher follows the events through one server after the other.
type watcher struct {
	*process
	at      int // of the servers
	seq     atomic.Uint64
	resumed bool
}

// follow watches until the set is closed.
func (w *watcher) follow() {
	for ; w.s.life.Err() == nil; w.at++ {
		err := w.open(w.s.servers[w.at%len(w.s.servers)])
		if errors.Is(err, client.ErrCompacted) || errors.Is(err, client.ErrInvalid) {
			after := uint64(0)
			if e := client.From(err); e != nil {
				after = e.Oldest
			}
			w.renew()
			w.seq.Store(after)
			w.resumed = false
		}
		pause(w.s.life, 100*time.Millisecond)
	}
}

// open follows one stream until it breaks.
func (w *watcher) open(a *asker) error {
	op := history.Op{Workload: w.workload, Process: w.id, Kind: "open", Via: a.name, Index: w.seq.Load(),
		Call: history.Now()}
	stream, err := a.fleet.WatchEvents(w.s.life, &vigilv1.WatchEventsRequest{After: op.Index})
	for first := true; ; first = false {
		var e *vigilv1.Event
		if err == nil {
			e, err = stream.Recv()
		}
		if first {
			op.Return = history.Now()
			op.Outcome, op.Error = outcome(err)
			w.s.cfg.Record.Op(op)
		}
		if err != nil {
			return err
		}
		w.s.cfg.Record.Event(history.Event{Watcher: w.id, Got: history.Now(), Seq: e.GetSeq(),
			Index: e.GetIndex(), Kind: e.GetKind(), Room: e.GetRoom(), Agent: e.GetAgent(),
			Incarnation: incarnation(e.GetIncarnation()), Task: e.GetTask(), Attempt: e.GetAttempt(),
			Host: e.GetHost(), Text: e.GetText(), Resumed: first && w.resumed})
		w.resumed = true
		w.seq.Store(e.GetSeq())
	}
}
