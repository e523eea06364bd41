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

// strike is what a Kind does; a host is given to those of lane host only.
type strike = func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error)

// choice finds a server to strike, nil when there is none at the moment.
type choice func(ctx context.Context, f *Field, r *rand.Rand) *stand.Server

func anyone(_ context.Context, f *Field, r *rand.Rand) *stand.Server {
	return f.Stand.Servers[r.IntN(len(f.Stand.Servers))]
}

func leading(ctx context.Context, f *Field, _ *rand.Rand) *stand.Server { return f.Leader(ctx) }

func following(ctx context.Context, f *Field, r *rand.Rand) *stand.Server {
	others := f.others(f.Leader(ctx))
	return others[r.IntN(len(others))]
}

// onServer makes a strike of what is done to one server.
func onServer(find choice, do func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error)) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		sv := find(ctx, f, r)
		if sv == nil {
			return Struck{}, ErrNobody
		}
		var t Touched
		note, err := do(ctx, f, sv, r, &t)
		if note != "" {
			note = ", " + note
		}
		return t.Struck(sv.Name + note), err
	}
}

func serverKinds() []*Kind {
	kill := func(name, says string, weight int, s strike) *Kind {
		return &Kind{Name: name, Lane: Servers, Says: says, Weight: weight, Takes: true, Strike: s}
	}
	ms := time.Millisecond
	return []*Kind{
		kill("server_killed", "A server is killed (-9) and started again after up to 2 TTL.", 4, killed(anyone, 0, 2)),
		kill("leader_killed", "The leader is killed (-9) and started again after up to 2 TTL.", 6,
			killed(leading, 0, 2)),
		kill("server_left_behind", "A follower is killed and stays away for 4 to 8 TTL, so that it has "+
			"much to catch up.", 2, killed(following, 4, 8)),
		kill("server_crash_loop", "A server is killed 4 to 8 times, each time soon after it was started.",
			2, crashLoop(anyone)),
		kill("catch_up_killed", "A follower that was away for 2 to 4 TTL is killed again and again "+
			"while it catches up.", 2, catchUpKilled),
		kill("leaders_killed_in_row", "Whoever leads is killed and started at once, 3 to 5 times in a row.",
			3, leadersKilled),
		kill("servers_killed_in_turn",
			"Every server is killed and started at once, one soon after the other, each when the one "+
				"before answers.", 2, killedInTurn),
		kill("server_ended", "A server is asked to end (SIGTERM) and started again after up to 1 TTL.",
			2, ended(anyone)),
		kill("leader_ended", "The leader is asked to end (SIGTERM), hands over, and is started again "+
			"after up to 1 TTL.", 2, ended(leading)),
		kill("server_power_lost", "A server's machine is switched off without a word, and on again "+
			"after up to 3 TTL.", 2, powerLost(anyone)),
		kill("leader_power_lost", "The leader's machine is switched off without a word, and on again "+
			"after up to 3 TTL.", 2, powerLost(leading)),

		kill("leader_paused_briefly",
			"The leader is stopped (SIGSTOP) for 20 to 200 ms, less than an election takes to begin.", 2,
			paused(leading, 20*ms, 200*ms)),
		kill("server_paused", "A server is stopped (SIGSTOP) for 0.3 to 1.5 s, longer than an "+
			"election time-out.", 3, paused(anyone, 300*ms, 1500*ms)),
		kill("leader_paused", "The leader is stopped (SIGSTOP) for 0.3 to 1.5 s, longer than "+
			"its own lease.", 4, paused(leading, 300*ms, 1500*ms)),
		kill("leader_paused_beyond_ttl",
			"The leader is stopped (SIGSTOP) for 1 to 4 TTL and comes back with an old idea of who "+
				"leads and lives.", 4, pausedTTL(leading, 1, 4)),
		kill("server_paused_long", "A server is stopped (SIGSTOP) for 11 to 15 s, longer than "+
			"every time-out.", 1, paused(anyone, 11*time.Second, 15*time.Second)),
		kill("leader_stutters", "The leader runs and stops (SIGSTOP) in turns of 10 to 150 ms, for "+
			"0.5 to 2 TTL.", 3, stutters(leading)),
		kill("server_stutters", "A server runs and stops (SIGSTOP) in turns of 10 to 150 ms, for "+
			"0.5 to 2 TTL.", 2, stutters(anyone)),
	}
}

// killed kills a server and starts it again after so many TTLs.
func killed(find choice, from, to float64) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, from, to)
		defer t.Begin(history.Killed, sv.Name)()
		if err := sv.Kill(); err != nil {
			return "", err
		}
		f.Pause(ctx, span)
		return "for " + round(span), sv.Start()
	})
}

func crashLoop(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		n := 4 + r.IntN(5)
		defer t.Begin(history.Killed, sv.Name)()
		for range n {
			if err := restart(sv); err != nil {
				return "", err
			}
			f.Pause(ctx, time.Duration(r.IntN(700))*time.Millisecond)
		}
		return fmt.Sprintf("%d times", n), restart(sv)
	})
}

func restart(sv *stand.Server) error {
	if err := sv.Kill(); err != nil {
		return err
	}
	return sv.Start()
}

var catchUpKilled = onServer(following, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error) {
	away, n := f.Span(r, 2, 4), 2+r.IntN(4)
	defer t.Begin(history.Killed, sv.Name)()
	if err := sv.Kill(); err != nil {
		return "", err
	}
	f.Pause(ctx, away)
	for range n {
		if err := restart(sv); err != nil {
			return "", err
		}
		// It takes some 100 ms to come up, and as long to hear of its leader.
		f.Pause(ctx, time.Duration(100+r.IntN(900))*time.Millisecond)
	}
	return fmt.Sprintf("away for %s, then killed %d times", round(away), n), restart(sv)
})

func leadersKilled(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	var t Touched
	note := ""
	for range 3 + r.IntN(3) {
		sv := f.Leader(ctx)
		if sv == nil || ctx.Err() != nil {
			continue // Leader has waited
		}
		note += " " + sv.Name
		end := t.Begin(history.Killed, sv.Name)
		if err := restart(sv); err != nil {
			return t.Struck(note), err
		}
		end()
		f.Pause(ctx, time.Duration(r.IntN(1200))*time.Millisecond)
	}
	if note == "" {
		return Struck{}, ErrNobody
	}
	return t.Struck("in this order:" + note), nil
}

func killedInTurn(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	var t Touched
	order := r.Perm(len(f.Stand.Servers))
	for _, i := range order {
		if ctx.Err() != nil {
			break
		}
		sv := f.Stand.Servers[i]
		end := t.Begin(history.Killed, sv.Name)
		if err := restart(sv); err != nil {
			return t.Struck(""), err
		}
		f.follows(ctx, sv)
		end()
	}
	return t.Struck(""), nil
}

func ended(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0, 1)
		defer t.Begin(history.Killed, sv.Name)()
		how, err := end(ctx, sv)
		if err != nil {
			return "", err
		}
		f.Pause(ctx, span)
		return fmt.Sprintf("%s, started after %s", how, round(span)), sv.Start()
	})
}

// end asks a server to end and waits.
func end(ctx context.Context, sv *stand.Server) (how string, err error) {
	began := time.Now()
	asked, err := sv.Process.End(ctx, time.Minute)
	if !asked {
		return "it did not end by itself", err
	}
	return "ended after " + round(time.Since(began)), err
}

func powerLost(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0, 3)
		defer t.Begin(history.Killed, sv.Name)()
		if err := sv.PowerOff(); err != nil {
			return "", err
		}
		f.Pause(ctx, span)
		if err := sv.On(); err != nil {
			return "", err
		}
		return "for " + round(span), sv.Start()
	})
}

// paused stops a server for a time between two.
func paused(find choice, from, to time.Duration) strike {
	return pausing(find, func(_ *Field, r *rand.Rand) time.Duration {
		return from + time.Duration(r.Int64N(int64(to-from)))
	})
}

func pausedTTL(find choice, from, to float64) strike {
	return pausing(find, func(f *Field, r *rand.Rand) time.Duration { return f.Span(r, from, to) })
}

func pausing(find choice, long func(*Field, *rand.Rand) time.Duration) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := long(f, r)
		defer t.Begin(history.Stopped, sv.Name)()
		if err := sv.Freeze(); err != nil {
			return "", err
		}
		f.Pause(ctx, span)
		return "for " + round(span), sv.Thaw()
	})
}

func stutters(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0.5, 2)
		turn := func() time.Duration { return time.Duration(10+r.IntN(140)) * time.Millisecond }
		defer t.Begin(history.Stopped, sv.Name)()
		for until := time.Now().Add(span); time.Now().Before(until) && ctx.Err() == nil; {
			err := sv.Freeze()
			f.Pause(ctx, turn())
			if err := errors.Join(err, sv.Thaw()); err != nil {
				return "", err
			}
			f.Pause(ctx, turn())
		}
		return "for " + round(span), nil
	})
}

func round(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
