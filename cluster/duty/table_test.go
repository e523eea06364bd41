package duty

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// blocked is a replica that does not answer orders of one kind.
type blocked struct {
	*replica
	order string
	asked chan struct{} // closed by the first of them
	once  sync.Once
}

func (b *blocked) SubmitAll(ctx context.Context, reqs []fsm.Request, outs []noun.Outcome) error {
	if len(reqs) > 0 && orderName(reqs[0].Cmd) == b.order {
		b.once.Do(func() { close(b.asked) })
		<-ctx.Done()
		return ctx.Err()
	}
	return b.replica.SubmitAll(ctx, reqs, outs)
}

// A duty whose orders are not answered, or whose terminal hangs, delays no other: a start is
// still ordered at once, and the duty that waits is not looked at again meanwhile.
func TestASlowDutyDelaysNoOther(t *testing.T) {
	for _, slow := range []string{"order", "terminal"} {
		synctest.Test(t, func(t *testing.T) {
			f := newStuckFleet(t, 3)
			b := &blocked{replica: f.replica, order: "none", asked: make(chan struct{})}
			if slow == "order" {
				b.order = "nudge"
			}
			d, err := Open(Config{Replica: b, Prod: func(ctx context.Context, _ string, _ noun.Incarnation,
				_ noun.Rung) error {
				b.once.Do(func() { close(b.asked) })
				<-ctx.Done()
				return ctx.Err()
			}})
			if err != nil {
				t.Fatal(err)
			}
			f.wake = d.Wake
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { f.serve(ctx) })
			all.Go(func() { _ = d.Run(ctx) })
			<-b.asked
			looks := d.Figures().Of("ladder").Looks
			began := time.Now()
			f.do(room("s", noun.RoleSpec{Name: "y"}))
			synctest.Wait()
			if !f.ordered("s/y") || time.Since(began) != 0 {
				t.Errorf("%s: the start waits for the ladder", slow)
			}
			f.after(10 * time.Minute)
			if now := d.Figures().Of("ladder").Looks; now != looks {
				t.Errorf("%s: %d looks of the ladder overlap", slow, now-looks)
			}
			cancel()
			all.Wait()
		})
	}
}

// Every row says what it is for, and counts what it may order; nobody has the name of another.
func TestRowsOfTheTableAreWhole(t *testing.T) {
	d, err := Open(Config{Replica: newReplica(t), Unheard: func() map[string]bool { return nil }, Keys: &keyring{}})
	if err != nil {
		t.Fatal(err)
	}
	names, set := map[string]bool{}, noun.DefaultSettings()
	for _, f := range d.Figures().Duties {
		if names[f.Duty] || f.Duty == "" || len(strings.Fields(f.Says)) < 4 || len(f.Orders) == 0 {
			t.Errorf("%+v", f)
		}
		names[f.Duty] = true
	}
	for _, r := range d.table {
		if p := r.every(&set); r.wake == nil && (p.every <= 0 || p.first <= 0) {
			t.Errorf("%s is never looked at: %+v", r.name, p)
		}
	}
	for _, c := range []fsm.Command{fsm.OrderStart{}, fsm.SuspectHost{}, fsm.SuspectHost{Suspect: true},
		fsm.CancelOrder{},
		fsm.ReportViews{}, fsm.SurrenderHost{}, fsm.WarnRoom{}, fsm.CancelIdleRoom{},
		fsm.StepLadder{Rung: noun.RungNudge},
		fsm.StepLadder{Rung: noun.RungEscalate}, fsm.NoteRung{}, fsm.ProdOverseer{}, fsm.NoteProd{}, fsm.NoteNotice{},
		fsm.AddGossipKey{}, fsm.StepGossip{}} {
		if !slices.ContainsFunc(d.Figures().Duties, func(f Figure) bool {
			return slices.Contains(f.Orders, OrderCount{Order: orderName(c), Outcome: "accepted"})
		}) {
			t.Errorf("no duty counts %T as %q", c, orderName(c))
		}
	}
}

// A plan that has used up its visits or orders goes on where it ended, and sees everything once.
func TestPlansGoOnWhereTheyEnded(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		h := w.host(fmt.Sprintf("h%d", i))
		w.hear(h, heard{silent, silent}, heard{silent, none}, heard{silent, none})
	}
	w.must(room("ops", noun.RoleSpec{Name: "deacon", Replicas: 10, Overseer: []noun.OverseerSpec{{}}}))
	for name, planning := range map[string]func(*fsm.View, look) plan{
		"hosts":     func(s *fsm.View, l look) plan { return planHosts(s, l, nil) },
		"overseers": planProds,
	} {
		for _, l := range []look{{visits: 3, orders: 100}, {visits: 100, orders: 4}} {
			visited, orders, looks := 0, map[string]int{}, 0
			for p := (plan{more: true}); p.more; l.from = p.next {
				p = planning(&w.s.View, l)
				if looks++; p.visited > l.visits || len(p.orders) > l.orders || looks > 10 {
					t.Fatalf("%s: a look with %+v has come to %+v", name, l, p)
				}
				visited += p.visited
				for _, o := range p.orders {
					orders[o.Name]++
				}
			}
			if visited != 10 || l.from != (Place{}) {
				t.Errorf("%s: %d of 10 were visited, and it ended at %+v", name, visited, l.from)
			}
			if name == "hosts" && (len(orders) != 10 || orders["h7"] != 1 || looks < 3) {
				t.Errorf("%s: ordered %v in %d looks", name, orders, looks)
			}
		}
	}
}

// Settings that make a duty look sooner are heeded within a second.
func TestPacesFollowSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 1)
		inStint(t, r, Config{}, func(d *Duty) {
			r.after(31 * time.Second)
			r.do(fsm.PutSettings{Values: []noun.KV{{Key: "watchdog_interval", Value: "10s"}}})
			r.after(time.Second)
			before := watched(d).Checks
			r.after(time.Minute)
			if n := watched(d).Checks - before; n < 5 || n > 7 {
				t.Errorf("%d passes in a minute, one each 10 s is set", n)
			}
		})
	})
}
