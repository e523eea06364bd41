package duty

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Replica is what duties need of the replicated state.
type Replica interface {
	// Read calls fn under the read lock; it must be short.
	Read(fn func(*fsm.View))
	// SubmitAll proposes the requests and fills in one outcome for each.
	SubmitAll(ctx context.Context, reqs []fsm.Request, outs []noun.Outcome) error
	// Barrier returns when the state has the clock of an entry sealed after the call.
	Barrier(ctx context.Context) error
}

// Config of a Duty. Replica is required.
type Config struct {
	Replica Replica
	// Unheard gives the ids of the servers that the leader cannot reach: what they
	// said of hosts does not count. Nil: hosts are neither doubted nor trusted. It must be
	// quick and is called without any lock held.
	Unheard func() map[string]bool
	// Escalate says how escalations are announced. Nil: nobody is told.
	Escalate *Escalate
	// Prod does at the terminal of one life what a rung of the ladder is (nudge, wake,
	// interrupt). An error says why that reached nobody. It is called by several goroutines
	// at a time, must end within half a minute, and takes no part in any decision. Nil:
	// there are no terminals.
	Prod func(ctx context.Context, agent string, inc noun.Incarnation, rung noun.Rung) error
	// Keys makes the keys of gossip. Nil: none are replaced.
	Keys   Keys
	Logger hclog.Logger // nil: silent
}

// Duty is what a leader does by itself. Wake and Figures may be called by any goroutine, Run
// by one at a time.
type Duty struct {
	cfg       Config
	log       hclog.Logger
	table     []*row
	starts    *planner                    // what the plan of starts remembers, of one stint
	noticed   *counts                     // of the notifiers' records
	terminals [2]*effect                  // of the ladder and of overseers
	notifiers atomic.Pointer[[]*notifier] // replaced as a whole
	renotify  chan struct{}               // they were replaced
}

// Open makes a Duty.
func Open(cfg Config) (*Duty, error) {
	if cfg.Replica == nil {
		return nil, errors.New("open duty: no replica is given")
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	d := &Duty{cfg: cfg, log: cfg.Logger.Named("duty"), renotify: make(chan struct{}, 1)}
	d.noticed = newCounts("notices", noticesSay, "note")
	d.terminals = [2]*effect{{duty: "ladder", target: "terminal"}, {duty: "overseers", target: "terminal"}}
	d.table = d.duties()
	d.notifiers.Store(&[]*notifier{})
	if cfg.Escalate != nil {
		if _, _, err := d.SetNotifiers(cfg.Escalate.Notifiers); err != nil {
			return nil, fmt.Errorf("open duty: %w", err)
		}
	}
	return d, nil
}

// Wake is for Subscribe: it never blocks.
func (d *Duty) Wake(e noun.Effects) {
	for _, r := range d.table {
		if r.wake != nil && r.wake(e) {
			select {
			case r.poked <- struct{}{}:
			default:
			}
		}
	}
	if e.Notice {
		for _, n := range *d.notifiers.Load() {
			n.poke()
		}
	}
}
