//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// linkKinds are what happens to links that are not simply cut.
func linkKinds() []*Kind {
	link := func(name, says string, weight int, takes bool, s strike) *Kind {
		return &Kind{Name: name, Lane: Servers, Says: says, Weight: weight, Takes: takes, Strike: s}
	}
	return []*Kind{
		link("server_unheard", "Hosts and clients cannot reach a server, other servers can, for 0.2 to "+
			"3 TTL; what was sent arrives late or never.", 3, true, unheard(anyone)),
		link("leader_unheard", "Hosts and clients cannot reach the leader, other servers can, for 0.2 "+
			"to 3 TTL; what was sent arrives late or never.", 4, true, unheard(leading)),
		link("server_api_cut", "Nobody reaches the API of a server, and it reaches that of no other, "+
			"for 0.2 to 3 TTL.", 2, true, doorCut(following, stand.Cut{API: true})),
		link("gossip_cut", "A server is left out of gossip, for 0.5 to 3 TTL.", 2, false, gossipCut),
		link("gossip_silent", "No machine hears the gossip of any other, for 0.5 to 3 TTL.", 2, false, gossipSilent),
		link("answers_lost", "Requests of hosts and clients reach the leader, its answers are lost, "+
			"again and again for 0.5 to 2 TTL.", 4, true, answersLost(false)),
		link("forwards_lost", "Requests that servers pass on reach the leader, its answers are lost, "+
			"again and again for 0.5 to 2 TTL.", 3, true, answersLost(true)),

		link("loss_5", "5 % of all packets between servers are lost, for 1 to 3 TTL.", 2, false, lossy(5)),
		link("loss_30", "30 % of all packets between servers are lost, for 1 to 3 TTL.", 2, true, lossy(30)),
		link("leader_loss", "40 % of all packets of the leader are lost, for 0.5 to 3 TTL.", 3, true,
			lossyServer(leading, 40)),
		link("server_loss", "60 % of all packets of a server are lost, for 0.5 to 3 TTL.", 2, true,
			lossyServer(anyone, 60)),
		link("links_slow", "Everything between servers takes 20 to 60 ms longer each way, for "+
			"0.5 to 3 TTL.", 2, false, slow(20, 60, nil)),
		link("links_slow_jittering", "Everything between servers takes 5 to 110 ms longer each way, now "+
			"more, now less, for 0.5 to 3 TTL.", 2, true, slow(5, 110, nil)),
		link("leader_slow", "Everything between the leader and other servers takes 50 to 400 ms longer "+
			"each way, for 0.5 to 3 TTL.", 3, true, slow(50, 400, leading)),
		link("server_slow", "Everything between a server and the others takes 100 to 400 ms longer each "+
			"way, for 0.5 to 3 TTL.", 2, true, slow(100, 400, anyone)),
		link("log_held", "What the leader writes to other servers is held up and then arrives all at "+
			"once, again and again for 0.5 to 2 TTL.", 3, true, logHeld),
		link("connections_reset", "All connections of a server are reset, again and again for "+
			"0.5 to 2 TTL.", 2, true, resets(anyone)),
		link("leader_connections_reset",
			"All connections of the leader are reset, again and again for 0.5 to 2 TTL.", 3, true, resets(leading)),
	}
}

// outside are the machines of all hosts, and nil for clients in the driver.
func (f *Field) outside() []*stand.Machine { return append(f.hosts(), nil) }

// unheard holds up what passes between a server and everything but other servers.
func unheard(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span, lost := f.Span(r, 0.2, 3), r.IntN(2) == 0
		defer t.Begin(history.Unheard, sv.Name)()
		for _, m := range f.outside() {
			f.Stand.Wires.CastTo(m, sv, stand.API, stand.Spell{HoldIn: true, HoldOut: true})
		}
		f.Pause(ctx, span)
		note := "what was sent arrives late"
		if lost {
			note = "what was sent is lost"
			f.Stand.Wires.BreakDoor(sv, stand.API)
		}
		for _, m := range f.outside() {
			f.Stand.Wires.CastTo(m, sv, stand.API, stand.Spell{})
		}
		return fmt.Sprintf("for %s, %s", round(span), note), nil
	})
}

// doorCut drops one kind of packets of a server.
func doorCut(find choice, c stand.Cut) strike {
	c.In, c.Out = true, true
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0.2, 3)
		defer t.Begin(history.Cut, sv.Name)()
		if err := sv.Cut(c); err != nil {
			return "", err
		}
		f.Pause(ctx, span)
		return "for " + round(span), sv.Heal()
	})
}

// leaderAPICut leaves a leader in office whom nobody can ask: nothing is possible
// through any server.
var leaderAPICut = onServer(leading, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error) {
	defer t.Begin(history.Unheard, namesOf(stand.MachinesOf(f.others(sv)...))...)()
	same := func(context.Context, *Field, *rand.Rand) *stand.Server { return sv }
	struck, err := doorCut(same, stand.Cut{API: true})(ctx, f, nil, r)
	t.add(struck.Effects)
	return struck.Note, err
})

// gossipCut leaves a server out of gossip. That is a hint and nothing rests on it, so
// that it excuses nothing: there are no effects.
func gossipCut(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	sv := anyone(ctx, f, r)
	return gossipBetween(ctx, f, r, []*stand.Machine{sv.Machine})
}

func gossipSilent(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	return gossipBetween(ctx, f, r, f.Stand.Machines())
}

// gossipBetween drops gossip between some machines and all others.
func gossipBetween(ctx context.Context, f *Field, r *rand.Rand, some []*stand.Machine) (Struck, error) {
	span := f.Span(r, 0.5, 3)
	heal, err := f.Stand.CutLinks(stand.Between(some, f.Stand.Machines(), stand.Gossip))
	if err == nil {
		f.Pause(ctx, span)
	}
	return Struck{Note: fmt.Sprintf("%v for %s", namesOf(some), round(span))}, errors.Join(err, heal())
}

// answersLost lets requests through to the leader and breaks the connections before
// answers come back: those of other servers, or those of everybody else.
func answersLost(servers bool) strike {
	return onServer(leading, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span, times := f.Span(r, 0.5, 2), 0
		from := f.outside()
		if servers {
			from = stand.MachinesOf(f.others(sv)...)
		}
		cast := func(s stand.Spell) {
			for _, m := range from {
				f.Stand.Wires.CastTo(m, sv, stand.API, s)
			}
		}
		defer t.Begin(history.Unheard, sv.Name)()
		for until := time.Now().Add(span); time.Now().Before(until) && ctx.Err() == nil; times++ {
			cast(stand.Spell{HoldIn: true})
			f.Pause(ctx, time.Duration(20+r.IntN(300))*time.Millisecond)
			f.Stand.Wires.BreakDoor(sv, stand.API)
			cast(stand.Spell{})
			f.Pause(ctx, time.Duration(20+r.IntN(300))*time.Millisecond)
		}
		return fmt.Sprintf("%d times in %s", times, round(span)), nil
	})
}

// lossy loses packets between all servers.
func lossy(percent int) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		span := f.Span(r, 1, 3)
		all := stand.MachinesOf(f.Stand.Servers...)
		var t Touched
		defer t.Begin(history.Slow, namesOf(all)...)()
		heal, err := f.Stand.CutLinks(stand.Lossy(percent, stand.Between(all, all)))
		if err == nil {
			f.Pause(ctx, span)
		}
		err = errors.Join(err, heal())
		return t.Struck("for " + round(span)), err
	}
}

// lossyServer loses packets of one server, whoever it speaks with.
func lossyServer(find choice, percent int) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0.5, 3)
		defer t.Begin(history.Slow, sv.Name)()
		if err := sv.Cut(stand.Cut{In: true, Out: true, Loss: percent}); err != nil {
			return "", err
		}
		f.Pause(ctx, span)
		return "for " + round(span), sv.Heal()
	})
}

// slow makes bytes late by a number of milliseconds between two: those between one
// server and the others, or without a choice those between all servers.
func slow(from, to int, find choice) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		span := f.Span(r, 0.5, 3)
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		spell := stand.Spell{DelayIn: ms(from + r.IntN((to-from)/2)),
			DelayOut: ms(from + r.IntN((to-from)/2)), Jitter: ms((to - from) / 2)}
		var one *stand.Server
		touched := namesOf(stand.MachinesOf(f.Stand.Servers...))
		if find != nil {
			if one = find(ctx, f, r); one == nil {
				return Struck{}, ErrNobody
			}
			touched = []string{one.Name}
		}
		cast := func(s stand.Spell) {
			for _, a := range f.Stand.Servers {
				for _, b := range f.others(a) {
					if one == nil || a == one || b == one {
						f.Stand.Wires.CastTo(a.Machine, b, stand.Raft, s)
						f.Stand.Wires.CastTo(a.Machine, b, stand.API, s)
					}
				}
			}
		}
		var t Touched
		defer t.Begin(history.Slow, touched...)()
		cast(spell)
		f.Pause(ctx, span)
		cast(stand.Spell{})
		return t.Struck(fmt.Sprintf("%v for %s, out %s in %s", touched, round(span), spell.DelayOut,
			spell.DelayIn)), nil
	}
}

// logHeld holds up what the leader sends to other servers, and lets it go.
var logHeld = onServer(leading, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error) {
	span := f.Span(r, 0.5, 2)
	cast := func(s stand.Spell) {
		for _, o := range f.others(sv) {
			f.Stand.Wires.CastTo(sv.Machine, o, stand.Raft, s)
		}
	}
	defer t.Begin(history.Cut, sv.Name)()
	for until := time.Now().Add(span); time.Now().Before(until) && ctx.Err() == nil; {
		cast(stand.Spell{HoldOut: true})
		f.Pause(ctx, time.Duration(100+r.IntN(900))*time.Millisecond)
		cast(stand.Spell{})
		f.Pause(ctx, time.Duration(r.IntN(200))*time.Millisecond)
	}
	return "for " + round(span), nil
})

func resets(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span, times := f.Span(r, 0.5, 2), 0
		defer t.Begin(history.Cut, sv.Name)()
		for until := time.Now().Add(span); time.Now().Before(until) && ctx.Err() == nil; times++ {
			f.Stand.Wires.BreakServer(sv)
			f.Pause(ctx, time.Duration(10+r.IntN(300))*time.Millisecond)
		}
		return fmt.Sprintf("%d times in %s", times, round(span)), nil
	})
}
