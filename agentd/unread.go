package agentd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// unread stands for the process of a life of which nothing is known yet. What it is told to do the life hears later.
type unread struct{ remains }

func (unread) Terminal(context.Context, shim.TerminalRequest) (string, error) {
	return "", errors.New("what its terminal is cannot be read")
}

// await takes a life over whose intent cannot be read for now. Its slot is taken and its fence kept until it is known
// what it is: it may run.
func (a *adopter) await(f disk.Found) {
	who := f.Intent.Who()
	a.log.Error("the journal cannot be read and is read again", "agent_id", who.Agent, "incarnation", who.Incarnation,
		"error", f.Unread)
	l := &life{agent: who.Agent, inc: who.Incarnation, ttl: defaultTTL, adopted: true, stuck: true, phase: running,
		order:   &vigilv1.Order{Agent: who.Agent, Incarnation: who.Incarnation},
		process: unread{}}
	a.place(l)
	go func() { // not spawn: a disk that hangs holds up no end of Run
		began, told := a.config.Clock(), false
		for {
			select {
			case <-a.done:
				return
			case <-time.After(askAgain):
			}
			all := []disk.Found{a.journal.Look(who)}
			if why := all[0].Unread; why == nil {
				shims := a.callShims(all)
				a.send(func() { a.known(l, all[0], shims[0], told) })
				return
			} else if !told && a.config.Clock()-began > elusiveLimit {
				told = true
				a.send(func() {
					a.lives.unkillable(l, fmt.Sprintf("the journal of agentd could not be read for %s; whether the agent runs "+
						"is unknown: %v", elusiveLimit, why))
				})
			}
		}
	}()
}

// known has a life take the place that await has kept for it.
func (a *adopter) known(kept *life, f disk.Found, p process, told bool) {
	if told {
		a.lives.answers(kept)
	}
	if a.lives.all[kept.agent] == kept {
		delete(a.lives.all, kept.agent)
	}
	a.inherit(f, p)
	if l := a.lives.all[kept.agent]; l != nil && l.inc == kept.inc && kept.ending.why != "" {
		grace := a.lives.grace(l, nil)
		if kept.killed {
			grace = 0
		}
		a.lives.end(l, kept.ending, grace)
	}
}
