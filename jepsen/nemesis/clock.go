//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

const year = 365 * 24 * time.Hour

// steps are how far wall clocks are stepped.
var steps = []time.Duration{time.Minute, time.Hour, 10 * year}

// clockChoice finds the machines whose clocks are struck, nil when there is none.
type clockChoice func(ctx context.Context, f *Field, r *rand.Rand) []*stand.Machine

// machineOf makes a choice of machines out of one of servers.
func machineOf(find choice) clockChoice {
	return func(ctx context.Context, f *Field, r *rand.Rand) []*stand.Machine {
		if sv := find(ctx, f, r); sv != nil {
			return []*stand.Machine{sv.Machine}
		}
		return nil
	}
}

func anyHost(_ context.Context, f *Field, r *rand.Rand) []*stand.Machine {
	hosts := f.hosts()
	if len(hosts) == 0 {
		return nil
	}
	return []*stand.Machine{hosts[r.IntN(len(hosts))]}
}

func everyone(_ context.Context, f *Field, _ *rand.Rand) []*stand.Machine { return f.Stand.Machines() }

// clockKinds make wall clocks wrong. No decision may rest on them.
func clockKinds() []*Kind {
	one := func(name, says string, s strike) *Kind {
		return &Kind{Name: name, Lane: Clocks, Says: says, Needs: needsClocks, Strike: s}
	}
	list := []*Kind{one("servers_clocks_apart",
		"Wall clocks of all servers are stepped, each another way by up to 10 years, for 0.5 to 3 TTL.", clocksApart)}
	for _, v := range []struct {
		name, says string
		find       clockChoice
	}{
		{"server_clock", "The wall clock of a server", machineOf(anyone)},
		{"leader_clock", "The wall clock of the leader", machineOf(leading)},
		{"host_clock", "The wall clock of a host, for agentd and its shims,", anyHost},
		{"all_clocks", "The wall clocks of all servers and hosts", everyone},
	} {
		list = append(list,
			one(v.name+"_ahead", v.says+" stepped forward by 1 min, 1 h or 10 years, for 0.5 to 3 "+
				"TTL, and back.", stepped(v.find, 1)),
			one(v.name+"_behind", v.says+" stepped backward by 1 min, 1 h or 10 years, for 0.5 to 3 "+
				"TTL, and forward again.", stepped(v.find, -1)),
			one(v.name+"_strobe", v.says+" stepped to and fro every 50 to 200 ms by 1 s, 1 min or 1 h, "+
				"for 0.5 to 3 TTL.", strobed(v.find)))
	}
	return list
}

func needsClocks(f *Field) string {
	if f.Stand.Servers[0].Clock() == nil {
		return "the stand has no clocks that can be stepped"
	}
	return ""
}

// onClocks makes a strike of what is done to the clocks of some machines for a while.
// They are right afterwards.
func onClocks(
	find clockChoice, do func(ctx context.Context, f *Field, on []*stand.Machine, r *rand.Rand) string,
) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		on := find(ctx, f, r)
		if len(on) == 0 {
			return Struck{}, ErrNobody
		}
		var names []string
		for _, m := range on {
			names = append(names, m.Name)
		}
		var t Touched
		span := f.Span(r, 0.5, 3)
		end := t.Begin(history.Clock, names...)
		ctx, cancel := context.WithTimeout(ctx, span)
		defer cancel()
		note := do(ctx, f, on, r)
		for _, m := range on {
			m.Clock().Set(0)
		}
		end()
		if len(on) == 1 {
			note = on[0].Name + " " + note
		}
		return t.Struck(note + " for " + round(span)), nil
	}
}

func stepped(find clockChoice, sign time.Duration) strike {
	return onClocks(find, func(ctx context.Context, _ *Field, on []*stand.Machine, r *rand.Rand) string {
		by := sign * steps[r.IntN(len(steps))]
		for _, m := range on {
			m.Clock().Set(by)
		}
		<-ctx.Done()
		return "by " + by.String()
	})
}

func strobed(find clockChoice) strike {
	return onClocks(find, func(ctx context.Context, _ *Field, on []*stand.Machine, r *rand.Rand) string {
		by := []time.Duration{time.Second, time.Minute, time.Hour}[r.IntN(3)]
		var all sync.WaitGroup
		for _, m := range on {
			every := 50*time.Millisecond + time.Duration(r.Int64N(int64(150*time.Millisecond)))
			own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
			all.Go(func() { m.Clock().Strobe(ctx, every, by, own) })
		}
		all.Wait()
		return fmt.Sprintf("by %s to and fro", by)
	})
}

var clocksApart = onClocks(
	func(_ context.Context, f *Field, _ *rand.Rand) []*stand.Machine {
		return stand.MachinesOf(f.Stand.Servers...)
	},
	func(ctx context.Context, _ *Field, on []*stand.Machine, r *rand.Rand) string {
		note := ""
		for i, m := range on {
			by := time.Duration(1-2*(i%2)) * steps[r.IntN(len(steps))]
			m.Clock().Set(by)
			note += m.Name + " by " + by.String() + ", "
		}
		<-ctx.Done()
		return note
	})

// healClocks makes every clock right.
func healClocks(f *Field) error {
	for _, m := range f.Stand.Machines() {
		if c := m.Clock(); c != nil {
			c.Set(0)
		}
	}
	return nil
}
