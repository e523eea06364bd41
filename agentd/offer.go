package agentd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd/proc"
	"vigil/agentd/runner"
)

// Offer is what a host can start, as its owner has declared it.
type Offer struct {
	// Labels are matched by what roles ask for.
	Labels map[string]string
	// Capacity is the greatest number of agents; 0: the cluster's default. Fewer than run end none.
	Capacity uint32
	// Runners are the ways to start agents.
	Runners []runner.Runner
	// Broken are declarations that are none: whoever orders a start with one is told why.
	Broken []Broken
	// Warnings are shown with the host, for people; what the runners and the agents'
	// shims report is added.
	Warnings []string
}

// Broken is a declaration that cannot be used.
type Broken struct {
	// Runner is its name, or what the name of its file suggests; empty: it is about all of File.
	Runner string
	// File is the file or folder that is to blame as a whole: runners that it declared before
	// stay as they were. Empty: only Runner does.
	File string
	// Why says what is wrong, with place and remedy, in one line.
	Why string
}

// declared tells whether a runner of an earlier offer was declared where b is now.
func (b Broken) declared(r runner.Runner) bool {
	return r.Name == b.Runner || b.File != "" && (r.File == b.File || filepath.Dir(r.File) == b.File)
}

// offer is an Offer, checked. It does not change once it is put.
type offer struct {
	*runner.Set
	labels   map[string]string
	capacity uint32
	broken   map[string]string // by runner: why it is not offered
	warnings []string
	// containment is what holds agents' processes together here, of the weakest account.
	containment proc.Containment
}

// offers owns what this host offers: it is replaced as a whole, by one goroutine, and read by
// any. Lives keep what they were started with.
type offers struct {
	host    runner.Host
	current atomic.Pointer[offer]
}

// get gives the offer of now.
func (o *offers) get() *offer { return o.current.Load() }

// compile checks an offer against this host. What is broken, but was sound in the offer of now,
// stays as it is: the names of those are given. The error is of type runner.Faults.
func (o *offers) compile(next Offer) (made *offer, kept []string, err error) {
	set, err := runner.Compile(next.Runners, o.host)
	if err != nil {
		return nil, nil, err
	}
	made = &offer{Set: set, broken: map[string]string{}, warnings: slices.Clone(next.Warnings),
		labels: maps.Clone(next.Labels), capacity: next.Capacity}
	for _, b := range next.Broken {
		var same []string
		if now := o.get(); now != nil {
			for _, r := range now.Declared() {
				if b.declared(r) && set.Keep(now.Set, r.Name) {
					same = append(same, r.Name)
				}
			}
		}
		made.warnings = append(made.warnings, b.says(same))
		kept = append(kept, same...)
		if made.broken[b.Runner] == "" {
			made.broken[b.Runner] = b.Why
		}
	}
	slices.Sort(kept)
	return made, kept, nil
}

// says tells people what is wrong and what follows, given the runners that stay as they were.
func (b Broken) says(kept []string) string {
	switch {
	case len(kept) == 1:
		return fmt.Sprintf("runner %s stays as it was: %s", kept[0], b.Why)
	case len(kept) > 1:
		return fmt.Sprintf("runners %s stay as they were: %s", strings.Join(kept, ", "), b.Why)
	case b.Runner == "":
		return b.Why
	}
	return fmt.Sprintf("runner %s is not offered: %s", b.Runner, b.Why)
}

// tell logs what people must mend.
func (o *offer) tell(log hclog.Logger) {
	for _, w := range o.warnings {
		log.Error(w)
	}
	if len(o.Names()) == 0 {
		log.Warn("no runner is offered: this host can start nothing")
	}
}

// takeOffers replaces what the host offers by what comes, until ctx ends.
func (k *keeper) takeOffers(ctx context.Context, in <-chan Offer) {
	for {
		select {
		case next := <-in:
			k.replace(next)
		case <-ctx.Done():
			return
		}
	}
}

// replace puts an offer in the place of the one of now, and has the cluster told.
func (k *keeper) replace(next Offer) {
	was := k.offers.get()
	made, kept, err := k.offers.compile(next)
	if err != nil { // a program went away since it was looked for
		k.log.Error("the runners stay as they were: what was read again cannot be used", "error", err)
		return
	}
	made.tell(k.log)
	k.measure(made)
	added, gone, changed := made.Since(was.Set)
	k.log.Info("runners, labels and capacity were read again; agents that run keep what they were started with",
		"added", added, "gone", gone, "changed", changed, "broken_and_kept", kept, "labels", made.labels,
		"capacity", made.capacity)
	k.send(func() {
		k.offers.current.Store(made)
		k.terminals.told = false
		k.registration.enroll()
	})
}
