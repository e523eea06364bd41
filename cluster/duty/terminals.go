package duty

import (
	"context"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// prods is how many terminals one duty reaches at a time.
const prods = 32

// prod is what is to be done at one terminal, and what says that it reached nobody.
type prod struct {
	agent string
	inc   noun.Incarnation
	rung  noun.Rung
	note  func(reason string) fsm.Command
}

// atTerminals does all of these, some at a time, and waits for them. Whatever reaches nobody is
// noted in the state.
func (d *Duty) atTerminals(ctx context.Context, c *counts, e *effect, due []prod) {
	if d.cfg.Prod == nil {
		return
	}
	var busy sync.WaitGroup
	defer busy.Wait()
	slots := make(chan struct{}, prods)
	for _, p := range due {
		slots <- struct{}{}
		busy.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			err := d.cfg.Prod(ctx, p.agent, p.inc, p.rung)
			e.nanos.Add(int64(time.Since(began)))
			switch {
			case ctx.Err() != nil:
			case err == nil:
				e.done.Add(1)
			default:
				e.failed.Add(1)
				if _, err := d.submit(ctx, c, []Order{{p.note(err.Error()), p.agent}}); err != nil {
					d.log.Debug("that nothing was typed is not noted", "agent", p.agent, "error", err)
				}
			}
		})
	}
}
