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
	"vigil/rpc/gen/vigilv1"
)

func memberKinds() []*Kind {
	change := func(name, says string, weight int, needs func(*Field) string, s strike) *Kind {
		return &Kind{Name: name, Lane: Servers, Says: says, Weight: weight, Takes: true, Needs: needs, Strike: s}
	}
	lead := func(name, says string, s strike) *Kind {
		return &Kind{Name: name, Lane: Servers, Says: says, Weight: 3, Strike: s}
	}
	return []*Kind{
		lead("leadership_moved", "Leadership is handed to a certain server.", leadershipMoved(1, 1)),
		lead("leadership_storm", "Leadership is handed on 5 to 15 times, sometimes before the last one "+
			"has settled.", leadershipMoved(5, 15)),
		change("server_replaced", "A follower is removed, emptied and taken in again.", 3, three,
			replaced(following, false)),
		change("leader_replaced", "The leader is removed, emptied and taken in again.", 3, three,
			replaced(leading, false)),
		change("dead_server_replaced",
			"A server is killed, removed while it is away, emptied and taken in again.", 3, three,
			replaced(anyone, true)),
		change("server_added", "A server more is taken in, and removed again after 0.5 to 3 TTL.", 3, spares(1),
			added(1)),
		change("two_servers_added", "Two servers more are taken in, and removed again after 0.5 to 3 TTL.",
			2, spares(2), added(2)),
		change("server_swapped", "A server more is taken in and an old one removed; after 0.5 to 3 TTL "+
			"they are swapped back.", 2, spares(1), swapped),
		change("joining_server_killed",
			"A server more is killed while it is taken in, again and again, and then removed.", 2, spares(1),
			joinKilled),
	}
}

// three says why nobody can be removed.
func three(f *Field) string {
	if len(f.Stand.Servers) < 3 {
		return "it takes 3 servers"
	}
	return ""
}

// spares says why so many more servers cannot be taken in.
func spares(n int) func(*Field) string {
	return func(f *Field) string {
		if len(f.Stand.Spares) < n {
			return fmt.Sprintf("it takes %d spare servers", n)
		}
		return ""
	}
}

// leadershipMoved hands leadership on, as often as is drawn between two numbers.
func leadershipMoved(from, to int) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		var t Touched
		asked, moved := from+r.IntN(to-from+1), 0
		defer t.Begin(history.Leading, namesOf(stand.MachinesOf(f.Stand.Servers...))...)()
		for range asked {
			call, cancel := context.WithTimeout(ctx, 3*time.Second)
			_, err := f.Cluster.TransferLeadership(call, &vigilv1.TransferLeadershipRequest{To: anyone(ctx, f, r).Name})
			cancel()
			if err == nil {
				moved++
			}
			if asked > 1 && !f.Pause(ctx, time.Duration(r.IntN(600))*time.Millisecond) {
				break
			}
		}
		return t.Struck(fmt.Sprintf("%d of %d were done", moved, asked)), nil
	}
}

// replaced takes a server out, empties it and takes it in again.
func replaced(find choice, dead bool) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (note string, err error) {
		defer t.Begin(history.Away, sv.Name)()
		defer func() { err = errors.Join(err, f.restore(sv)) }()
		if dead {
			if err := sv.Kill(); err != nil {
				return "", err
			}
			f.Pause(ctx, f.Span(r, 0, 1))
		}
		if e := f.dismiss(ctx, sv); e != nil {
			return notYet(e)
		}
		// One that was removed may go on for a while: it must do no harm.
		f.Pause(ctx, f.Span(r, 0, 1))
		if err := scrap(sv); err != nil {
			return "", err
		}
		began := time.Now()
		if err := f.begin(sv); err != nil {
			return "", err
		}
		if e := f.admit(ctx, sv); e != nil {
			return notYet(e)
		}
		return "taken in within " + round(time.Since(began)), nil
	})
}

// notYet notes that the cluster did not do something in time; whether it should have
// is for checkers to say.
func notYet(err error) (string, error) { return err.Error(), nil }

// begin starts a server that was emptied or removed. When it was the last of the older
// build, the cluster may have begun to use what that build does not know: whoever brings
// it back brings the newer one.
func (f *Field) begin(sv *stand.Server) error {
	if out := f.outdated(); len(out) == 1 && out[0] == sv {
		return sv.StartWith("")
	}
	return sv.Start()
}

// restore starts a server if it does not run, and makes it a member. What one has that was removed must never be
// used again, so it begins anew.
func (f *Field) restore(sv *stand.Server) error {
	ctx, cancel := healTime()
	defer cancel()
	if !sv.Up() {
		if err := f.begin(sv); err != nil {
			return err
		}
	}
	anew := false
	err := f.until(ctx, func(ctx context.Context) (err error) {
		m, err := f.member(ctx, sv)
		if err != nil || m.GetVoter() {
			return err
		}
		if m == nil && !anew {
			if err = scrap(sv); err == nil {
				err = f.begin(sv)
			}
			anew = err == nil
		}
		if err == nil {
			_, err = f.Cluster.AddServer(ctx, &vigilv1.AddServerRequest{Id: sv.Name, RaftAddr: sv.RaftAddr()})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("bring %s back: %w", sv.Name, err)
	}
	return nil
}

// discharge makes a spare what it was: no member, and empty.
func (f *Field) discharge(sv *stand.Server) error {
	ctx, cancel := healTime()
	defer cancel()
	if err := f.dismiss(ctx, sv); err != nil {
		return err
	}
	return scrap(sv)
}

// added takes in so many spares, and removes them.
func added(n int) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (_ Struck, err error) {
		var t Touched
		note := ""
		for _, sv := range f.Stand.Spares[:n] {
			defer t.Begin(history.Away, sv.Name)()
			defer func() { err = errors.Join(err, f.discharge(sv)) }()
			if err := sv.Start(); err != nil {
				return t.Struck(""), err
			}
			if e := f.admit(ctx, sv); e != nil {
				return t.Struck(e.Error()), nil
			}
			note += sv.Name + " "
		}
		span := f.Span(r, 0.5, 3)
		f.Pause(ctx, span)
		if r.IntN(2) == 0 {
			note += "and one of them led "
			call, cancel := context.WithTimeout(ctx, 3*time.Second)
			_, e := f.Cluster.TransferLeadership(call,
				&vigilv1.TransferLeadershipRequest{To: f.Stand.Spares[r.IntN(n)].Name})
			cancel()
			if e != nil {
				note += "not (" + e.Error() + ") "
			}
			f.Pause(ctx, f.Span(r, 0, 0.5))
		}
		return t.Struck(note + "for " + round(span)), nil
	}
}

// swapped lets a spare stand in for a server.
var swapped = onServer(anyone, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (note string, err error) {
	spare, span := f.Stand.Spares[0], f.Span(r, 0.5, 3)
	defer t.Begin(history.Away, spare.Name)()
	defer func() { err = errors.Join(err, f.discharge(spare)) }()
	if err := spare.Start(); err != nil {
		return "", err
	}
	if e := f.admit(ctx, spare); e != nil {
		return notYet(e)
	}
	defer t.Begin(history.Away, sv.Name)()
	defer func() { err = errors.Join(err, f.restore(sv)) }()
	if e := f.dismiss(ctx, sv); e != nil {
		return notYet(e)
	}
	if err := scrap(sv); err != nil {
		return "", err
	}
	f.Pause(ctx, span)
	if err := f.begin(sv); err != nil {
		return "", err
	}
	return fmt.Sprintf("by %s for %s", spare.Name, round(span)), nil
})

// joinKilled kills a spare while it is taken in.
func joinKilled(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (_ Struck, err error) {
	spare, n := f.Stand.Spares[0], 2+r.IntN(4)
	var t Touched
	defer t.Begin(history.Away, spare.Name)()
	defer func() { err = errors.Join(err, f.discharge(spare)) }()
	if err := spare.Start(); err != nil {
		return t.Struck(""), err
	}
	joining, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- f.admit(joining, spare) }()
	for range n {
		f.Pause(ctx, time.Duration(r.IntN(700))*time.Millisecond)
		if e := restart(spare); e != nil {
			stop()
			<-done
			return t.Struck(""), e
		}
	}
	stopped := time.AfterFunc(healing/2, stop)
	defer stopped.Stop()
	note := fmt.Sprintf("%s, %d times", spare.Name, n)
	if e := <-done; e != nil {
		note += ": " + e.Error()
	}
	return t.Struck(note), nil
}
