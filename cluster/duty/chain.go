package duty

import (
	"context"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	// prodLook is how soon what the watchdog chain has decided is typed. The decision is a
	// matter of the state; nothing waits for the typing.
	prodLook = time.Second
	// prodsPerPlan bounds one plan; others follow at the next look.
	prodsPerPlan = 256
)

// Prodding is what is left to be typed of a decision about an overseer, with its name.
type Prodding struct {
	fsm.ProdOverseer
	Name string
}

// Prods lists what the watchdog chain has decided and nobody has typed yet, at most so many.
func Prods(s *fsm.View, most int) (list []Prodding) {
	for id := range s.Overseers(0) {
		a := s.Agent(id)
		if c := a.Notes().Chain; c != nil && c.Prod != 0 && len(list) < most {
			list = append(list, Prodding{fsm.ProdOverseer{Agent: id, Inc: a.Inc, At: c.Prod}, a.Name})
		}
	}
	return list
}

// chainCounts are written by the loop and read by anybody.
type chainCounts struct{ typed, failed, errors atomic.Uint64 }

// ChainFigures are what the leader has typed to overseers since the server started.
type ChainFigures struct {
	Typed  uint64
	Failed uint64 // that reached nobody
	Errors uint64 // plans that could not be submitted
}

// ChainFigures returns the counts. Safe for concurrent use.
func (d *Duty) ChainFigures() ChainFigures {
	return ChainFigures{Typed: d.chain.typed.Load(), Failed: d.chain.failed.Load(), Errors: d.chain.errors.Load()}
}

// prodOverseers types what looks at overseers have decided, during one stint.
func (d *Duty) prodOverseers(ctx context.Context) {
	for pause(ctx, prodLook) {
		var list []Prodding
		d.cfg.Replica.Read(func(s *fsm.View) { list = Prods(s, prodsPerPlan) })
		d.typeAll(ctx, list)
	}
}

// typeAll takes what is to be typed out of the state and then types it, so that a leader
// that takes over never repeats it.
func (d *Duty) typeAll(ctx context.Context, list []Prodding) {
	if len(list) == 0 {
		return
	}
	reqs, outs := make([]fsm.Request, len(list)), make([]noun.Outcome, len(list))
	for i := range list {
		reqs[i] = fsm.Request{Planned: true, Cmd: list[i].ProdOverseer}
	}
	if !d.write(ctx, "the watchdog chain", &d.chain.errors, reqs, outs) {
		return
	}
	var due []int
	for i := range list {
		if outs[i].Code == noun.OK && outs[i].Count == 0 && d.cfg.Prod != nil {
			due = append(due, i)
		}
	}
	atTerminals(due, func(i int) { d.typeOne(ctx, &list[i]) })
}

func (d *Duty) typeOne(ctx context.Context, p *Prodding) {
	err := d.cfg.Prod(ctx, p.Name, p.Inc, noun.RungNudge)
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		d.chain.typed.Add(1)
		return
	}
	d.chain.failed.Add(1)
	note := fsm.NoteProd{Agent: p.Agent, Inc: p.Inc, Reason: err.Error()}
	if err := d.cfg.Replica.SubmitAll(ctx, []fsm.Request{{Planned: true, Cmd: note}},
		make([]noun.Outcome, 1)); err != nil && ctx.Err() == nil {
		d.log.Debug("that nothing was typed is not noted", "agent", p.Name, "error", err)
	}
}
