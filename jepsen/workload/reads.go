package workload

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

const readsKeys = 2

// reads is the workload of that name.
type reads struct {
	s    *Set
	keys []string
}

func newReads(s *Set) load {
	r := &reads{s: s}
	for i := range readsKeys {
		r.keys = append(r.keys, fmt.Sprintf("room/reads-%d", i+1))
	}
	return r
}

func (r *reads) prepare(ctx context.Context) error {
	p := r.s.process("reads")
	for _, key := range r.keys {
		op := history.Op{Kind: "write", Key: key, Value: "0"}
		err := p.ask(r.s.whole, r.s.cfg.Timeout, &op, func(ctx context.Context, a *asker) error {
			_, err := r.s.sign(ctx, a, key[len("room/"):], op.Value, 0)
			return err
		})
		if err != nil {
			return fmt.Errorf("write %s: %w", key, err)
		}
	}
	return nil
}

func (r *reads) run(ctx context.Context) error {
	var all sync.WaitGroup
	processes := len(r.keys) + len(r.s.servers)
	for _, key := range r.keys {
		p := r.s.process("reads")
		all.Go(func() {
			for p.pace(ctx, processes) {
				r.write(ctx, p, key)
			}
		})
	}
	for _, a := range r.s.servers {
		p := r.s.process("reads")
		all.Go(func() {
			for p.pace(ctx, processes) {
				if a.rests.Load() < history.Now() {
					r.ask(p, a)
				}
			}
		})
	}
	all.Wait()
	return nil
}

// write writes the next number, if the key still is as it was read. Values only grow,
// also when a call without an answer takes effect late.
func (r *reads) write(ctx context.Context, p *process, key string) {
	read, cancel := context.WithTimeout(ctx, r.s.cfg.Timeout)
	defer cancel()
	old, rev, err := get(read, r.s.whole, key, false)
	if err != nil {
		return
	}
	n, err := strconv.ParseUint(old, 10, 64)
	if err != nil {
		r.s.cfg.Say("reads: %s holds %q, which is no number", key, old)
		return
	}
	p.written = int(max(uint64(p.written), n)) + 1
	op := history.Op{Kind: "write", Key: key, Value: strconv.Itoa(p.written), Old: old}
	last := p.written
	_ = p.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		room, err := r.s.sign(ctx, a, key[len("room/"):], op.Value, rev)
		op.Rev = room.GetRev()
		return err
	})
	p.written = last // also under a new number: no value twice
}

// ask reads through one server.
func (r *reads) ask(p *process, a *asker) {
	op := history.Op{Kind: "read", Key: r.keys[p.rand.IntN(len(r.keys))], Stale: p.rand.IntN(3) > 0}
	if p.rand.IntN(4) == 0 {
		op.Kind, op.Key, op.Stale = "index", "", true
	}
	_ = p.ask(a, r.s.cfg.Timeout, &op, func(ctx context.Context, a *asker) (err error) { // the record tells
		if op.Kind == "index" {
			st, err := a.cluster.Status(ctx, &vigilv1.StatusRequest{Stale: true})
			op.Index = st.GetIndex()
			return err
		}
		op.Value, op.Rev, err = get(ctx, a, op.Key, op.Stale)
		return err
	})
}

// quiesce waits until each server shows the latest.
func (r *reads) quiesce(ctx context.Context) error {
	p := r.s.process("reads")
	for _, key := range r.keys {
		latest := history.Op{Kind: "read", Key: key}
		for p.ask(r.s.whole, r.s.cfg.Timeout, &latest, func(ctx context.Context, a *asker) (err error) {
			latest.Value, latest.Rev, err = get(ctx, a, key, false)
			return err
		}) != nil {
			if !pause(ctx, 100*time.Millisecond) {
				return fmt.Errorf("read %s: %w", key, ctx.Err())
			}
		}
		for _, a := range r.s.servers {
			r.arrive(ctx, p, a, &latest)
		}
	}
	return nil
}

// arrive waits until a server has what the latest read showed.
func (r *reads) arrive(ctx context.Context, p *process, a *asker, latest *history.Op) {
	op := history.Op{Workload: p.workload, Process: p.id, Kind: "final", Key: latest.Key, Via: a.name, Stale: true,
		Call: history.Now(), Outcome: history.Unknown}
	for {
		call, cancel := context.WithTimeout(ctx, r.s.cfg.Timeout)
		value, rev, err := get(call, a, op.Key, true)
		cancel()
		op.Value, op.Rev, op.Return = value, rev, history.Now()
		if _, op.Error = outcome(err); err == nil && rev >= latest.Rev {
			op.Outcome = history.OK
			break
		}
		if !pause(ctx, 100*time.Millisecond) {
			break
		}
	}
	r.s.cfg.Record.Op(op)
	if op.Outcome == history.Unknown {
		p.renew()
	}
}
