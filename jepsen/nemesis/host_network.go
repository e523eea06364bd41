//go:build linux

package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// hostCut takes packets away: while agents run, while one is being started, or while
// the host comes back from an earlier cut.
func hostCut(c stand.Cut) strike {
	return onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
		t *Touched) (phase, detail string, err error) {
		phase = running
		hold := stand.Spell{HoldIn: c.In, HoldOut: c.Out}
		if c.UDP || c.Gossip {
			hold = stand.Spell{}
		}
		defer t.Begin(history.Cut, h.Name)()
		defer func() {
			err = errors.Join(err, h.Heal())
			if r.IntN(2) == 0 {
				f.Stand.Wires.Break(h.Machine)
			}
			f.Stand.Wires.Cast(h.Machine, stand.Spell{})
		}()
		agent := ""
		switch r.IntN(4) {
		case 0:
			if agent = f.provoke(ctx, h, r); agent != "" {
				// From before the order is delivered until after the start is reported.
				f.Pause(ctx, time.Duration(r.IntN(40_000))*time.Microsecond)
			}
		case 1:
			phase = "returning"
			if err := f.cutBefore(ctx, h, r); err != nil {
				return phase, "", err
			}
		case 2:
			// An agent has died, and the next order for it does not arrive any more.
			f.Stand.Wires.Cast(h.Machine, stand.Spell{HoldIn: true})
			agent = f.killOne(ctx, h, r, t)
		}
		// The wires hold at once; dropping packets takes some milliseconds to arrange.
		f.Stand.Wires.Cast(h.Machine, hold)
		if err := h.Cut(c); err != nil {
			return phase, "", err
		}
		if agent != "" {
			phase = f.phase(ctx, agent)
		}
		span := f.Span(r, 0.1, 2.5)
		f.Pause(ctx, span)
		return phase, "for " + round(span), nil
	})
}

// cutBefore is the longer cut from which the host comes back.
func (f *Field) cutBefore(ctx context.Context, h *stand.Host, r *rand.Rand) error {
	away, back := f.Span(r, 1.1, 2.5), f.Span(r, 0, 0.6)
	if err := h.Cut(stand.Both); err != nil {
		return err
	}
	f.Pause(ctx, away)
	if err := h.Heal(); err != nil {
		return err
	}
	f.Pause(ctx, back)
	return nil
}

// ordersDelayed makes everything between agentd, agents and servers late.
var ordersDelayed = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	late := func() time.Duration { return f.Span(r, 0, 1./3) }
	spell := stand.Spell{DelayIn: late(), DelayOut: late()}
	defer t.Begin(history.Slow, h.Name)()
	f.Stand.Wires.Cast(h.Machine, spell)
	defer f.Stand.Wires.Cast(h.Machine, stand.Spell{})
	f.provoke(ctx, h, r)
	f.Pause(ctx, f.Span(r, 0.5, 2))
	return running, "by " + round(spell.DelayIn) + " and " + round(spell.DelayOut), nil
})

// ordersDropped loses what the servers sent to the host, orders and answers, so that
// both sides say again what they have said.
var ordersDropped = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	phase := running
	defer t.Begin(history.Cut, h.Name)()
	defer f.Stand.Wires.Cast(h.Machine, stand.Spell{})
	for i := range 3 {
		agent := f.provoke(ctx, h, r)
		f.Pause(ctx, time.Duration(r.IntN(40_000))*time.Microsecond)
		f.Stand.Wires.Cast(h.Machine, stand.Spell{HoldIn: true})
		if agent != "" && i == 0 {
			phase = f.phase(ctx, agent)
		}
		f.Pause(ctx, f.Span(r, 0.02, 0.4))
		f.Stand.Wires.Break(h.Machine)
		f.Stand.Wires.Cast(h.Machine, stand.Spell{})
		f.Pause(ctx, f.Span(r, 0, 0.3))
	}
	return phase, "", nil
})

// connectionsBroken loses what is on its way in both directions, often.
var connectionsBroken = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	f.provoke(ctx, h, r)
	defer t.Begin(history.Cut, h.Name)()
	for range 3 + r.IntN(8) {
		f.Stand.Wires.Break(h.Machine)
		f.Pause(ctx, time.Duration(r.IntN(300))*time.Millisecond)
	}
	return running, "", nil
})
