package fsm

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// wide is a role with more replicas than one entry creates.
const wide = 10 * noun.StepsPerEntry

func wideRole(change ...func(*noun.RoleSpec)) noun.RoleSpec {
	r := noun.RoleSpec{Name: "a", Runner: "worker", Replicas: wide}
	for _, f := range change {
		f(&r)
	}
	return r
}

// bounded applies an entry and the ones that a leader adds, each of which visits a bounded number
// of values; between is called after each.
func (d *drive) bounded(e *Entry, between func(entry int)) (entries int) {
	d.t.Helper()
	for more := true; more; entries++ {
		var res noun.Result
		if n := counted(d.s, func() { res = d.s.Apply(e) }); n > perStep*noun.StepsPerEntry {
			d.t.Fatalf("entry %d visits %d values", entries, n)
		}
		if more = res.Effects.More; more {
			if _, due := d.s.NextTimer(); !due {
				d.t.Fatal("nothing tells a new leader that there is work left")
			}
		}
		if entries > wide {
			d.t.Fatal("it never ends")
		}
		between(entries)
		e = d.entry()
	}
	if err := d.s.Check(); err != nil {
		d.t.Fatal(err)
	}
	return entries
}

// F11: the agents of a great room are created in bounded entries, the same ones on a server that
// was restored in between; those that are there already work meanwhile, and the room says what is
// left. A small room that is declared in an entry of its own is complete at once.
func TestF11GreatRoomsComeInSteps(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	twin := reload(t, d.s)
	var last *Entry
	step := func() *Entry {
		twin.Apply(last)
		if d.s.Hash() != twin.Hash() {
			t.Fatal("a server that was restored has another state")
		}
		last = d.entry()
		return last
	}
	last = d.entry(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{wideRole(), managed("b")}}})
	d.s.Apply(last)
	left := d.s.Unfinished(d.s.Room("demo"))
	if left == 0 || left >= wide {
		t.Fatalf("%d agents are to be created after the first entry", left)
	}
	d.s.Apply(step())
	if n := d.s.Unfinished(d.s.Room("demo")); n >= left {
		t.Fatalf("%d agents are to be created after the second entry, %d after the first", n, left)
	}
	twin.Apply(last)
	twin = reload(t, d.s)
	a := d.s.AgentByName("demo/a")
	inc := d.s.NextInc(a)
	last = d.entry(Request{Cmd: CreateTask{Room: "demo", Role: "a", Title: "t"}},
		Request{Cmd: OrderStart{Agent: a.ID, Inc: inc, Host: h}},
		Request{Cmd: ApplyRoom{Room: "small", Roles: []noun.RoleSpec{managed("c")}}},
		Request{Cmd: Join{Speaker: Speaker{Agent: "small/c"}}})
	for i, out := range d.s.Apply(last).Outcomes {
		if out.Code != noun.OK {
			t.Errorf("while agents are created command %d is answered %+v", i, out)
		}
	}
	for range wide {
		if d.s.Unfinished(d.s.Room("demo")) == 0 {
			break
		}
		d.s.Apply(step())
	}
	step()
	if n := len(d.s.Role(a.Role).Agents); n != wide || d.s.AgentByName(fmt.Sprint("demo/a.", wide)) == nil ||
		d.s.Counts().Agents != wide+2 {
		t.Fatalf("the role has %d agents, there are %d", n, d.s.Counts().Agents)
	}
	if err := d.s.Check(); err != nil {
		t.Fatal(err)
	}
}

// F11: a change of a great room reaches its agents in bounded entries: who is beyond the replicas
// goes, at once when nobody is to wait, the new limits hold, and its waiting tasks are offered.
func TestF11GreatRoomsChangeInSteps(t *testing.T) {
	for _, now := range []bool{false, true} {
		d := newDrive(t)
		h := d.host("h1", "worker")
		d.whole(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{wideRole()}}})
		first, high := d.start("demo/a", h), d.start("demo/a.3", h)
		for _, sp := range []Speaker{first, high} {
			d.must(CreateTask{Room: "demo", Role: "a", Title: "t"})
			d.must(Join{Speaker: sp})
			d.must(Claim{Speaker: sp})
			a := d.agent(sp.Agent)
			d.must(StartTask{Work: Work{Speaker: sp, Task: a.Task, Attempt: 1}})
		}
		few := wideRole(func(r *noun.RoleSpec) { r.Replicas, r.ProgressLimit = 2, time.Minute })
		d.bounded(d.entry(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{few}, Now: now}}), func(n int) {
			if why := d.s.WhyNot(d.agent("demo/a.2")); n == 0 && why != "applying" {
				t.Errorf("a start waits for %q while its role is changed", why)
			}
			if n%3 == 0 {
				d.s = reload(t, d.s)
			}
		})
		a, b := d.agent(first.Agent), d.agent(high.Agent)
		if d.s.Counts().Agents != 3 || a.Task == 0 || a.Order != noun.NoOrder {
			t.Fatalf("%d agents are left, the first is %+v", d.s.Counts().Agents, a)
		}
		if b.Retired != now || b.Surplus == now || (b.Order == noun.StopOrder) != now {
			t.Errorf("now: %v, and the agent at work beyond the replicas is %+v", now, b)
		}
		if task := d.s.Task(a.Task); task.Armed == 0 || task.Armed > d.s.Clock().Add(time.Minute) {
			t.Errorf("its task has the new limit and is looked at by %d", task.Armed)
		}
	}
	d := newDrive(t)
	d.room("demo", managed("a"))
	for range 3 {
		var reqs []Request
		for range wide / 2 {
			reqs = append(reqs, Request{Cmd: CreateTask{Room: "demo", Role: "a", Title: "t"}})
		}
		d.s.Apply(d.entry(reqs...))
	}
	d.bounded(d.entry(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{wideRole()}}}), func(int) {})
	if n := d.s.Pending(1); n != wide {
		t.Errorf("%d tasks are offered to %d agents", n, wide)
	}
}

// L9: the last word about a room holds, whatever is left to do of the one before it.
func TestL9TheLastWordAboutAGreatRoomHolds(t *testing.T) {
	d := newDrive(t)
	apply := func(replicas uint32) {
		spec := wideRole(func(r *noun.RoleSpec) { r.Replicas = replicas })
		if out := d.s.Apply(d.entry(Request{Cmd: ApplyRoom{Room: "demo",
			Roles: []noun.RoleSpec{spec}}})).Outcomes[0]; out.Code != noun.OK {
			t.Fatalf("%+v", out)
		}
		if err := d.s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []uint32{wide, 3, wide - 7, 1, wide} {
		apply(n)
	}
	d.whole()
	if n := d.s.Counts().Agents; n != wide || wantedOf(d.s) != wide {
		t.Fatalf("%d agents are there, %d are wanted, want %d", n, wantedOf(d.s), wide)
	}
	apply(2 * wide / 2)
	apply(1)
	d.bounded(d.entry(Request{Cmd: DeleteRoom{Room: "demo", By: "ann"}}), func(int) {})
	if c := d.s.Counts(); c.Agents != 0 || c.Rooms != 0 {
		t.Fatalf("%+v", c)
	}
	apply(wide) // deleted while its agents are created
	d.bounded(d.entry(Request{Cmd: DeleteRoom{Room: "demo", By: "ann"}}), func(int) {})
	if c := d.s.Counts(); c.Agents != 0 || c.Rooms != 0 {
		t.Fatalf("%+v", c)
	}
}

// L11: what is to be created counts as if it was there.
func TestL11AgentsToCreateCountForBudgets(t *testing.T) {
	d := newDrive(t)
	d.set("max_agents", fmt.Sprint(wide+10))
	d.s.Apply(d.entry(Request{Cmd: ApplyRoom{Room: "one", Roles: []noun.RoleSpec{wideRole()}}}))
	d.want(noun.Full,
		ApplyRoom{Room: "two", Roles: []noun.RoleSpec{wideRole(func(r *noun.RoleSpec) { r.Replicas = 11 })}})
	d.must(ApplyRoom{Room: "one", Roles: []noun.RoleSpec{wideRole()}})
	d.whole()
	if n := d.s.Counts().Agents; n != wide {
		t.Fatalf("%d agents", n)
	}
}

// L9: a pause takes back the start orders below it in bounded entries; from its own entry on none
// of them is accepted. It visits no agent that has none.
func TestL9APauseTakesOrdersBackInSteps(t *testing.T) {
	for _, scope := range []string{"", "demo"} {
		d := newDrive(t)
		for _, k := range []string{"starts_per_second", "starts_per_host"} {
			d.set(k, "10000")
		}
		h := d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"},
			Capacity: 10_000}).Host
		d.whole(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{wideRole()}}})
		var reqs []Request
		for a := range d.s.Agents("") {
			if len(reqs) < 4*noun.StepsPerEntry {
				reqs = append(reqs, Request{Cmd: OrderStart{Agent: a.ID, Inc: d.s.NextInc(a), Host: h}})
			}
		}
		for _, out := range d.s.Apply(d.entry(reqs...)).Outcomes {
			if out.Code != noun.OK {
				t.Fatalf("%+v", out)
			}
		}
		open := func() int { return len(d.s.HostOrders(h)) }
		ordered := open()
		entries := d.bounded(d.entry(Request{Cmd: SetPause{Scope: scope, Pause: true, By: "ann"}}), func(n int) {
			if n > 0 || open() == 0 {
				return
			}
			if open() == ordered {
				t.Fatal("no order was taken back")
			}
			list := d.s.HostOrders(h)
			last := d.s.Agent(list[len(list)-1])
			d.want(noun.Superseded, AcceptOrder{Host: h, Boot: "boot1", Agent: last.ID, Inc: last.Inc})
			var buf bytes.Buffer
			if err := d.s.Copy().Dump(&buf); err != nil {
				t.Fatal(err)
			}
			d.s = reload(t, d.s)
		})
		if open() != 0 || entries < 3 {
			t.Errorf("scope %q: %d orders are open after %d entries", scope, open(), entries)
		}
	}
}

// L10: the end of an excuse visits no other agent of the room, however many have one.
func TestL10TheEndOfAnExcuseVisitsNoOther(t *testing.T) {
	measure := func(n int) int {
		d := newDrive(t)
		d.whole(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "a", Replicas: uint32(n)}}}})
		for i := 1; i <= n; i++ {
			sp := Speaker{Agent: noun.AgentName("demo", "a", uint32(i))}
			sp.Inc = d.s.NextInc(d.agent(sp.Agent))
			for _, out := range d.s.Apply(d.entry(Request{Cmd: CreateTask{Room: "demo", Role: "a", Title: "t"}},
				Request{Cmd: Join{Speaker: Speaker{Agent: sp.Agent}}},
				Request{Cmd: Claim{Speaker: sp}},
				Request{Cmd: Declare{Speaker: sp, Status: noun.StatusBusy, For: 30 * time.Minute}})).Outcomes {
				if out.Code != noun.OK {
					t.Fatalf("%+v", out)
				}
			}
		}
		first := d.agent("demo/a")
		e := d.entry(Request{Cmd: Leave{Speaker: Speaker{Agent: first.Name, Inc: first.Inc}}})
		return counted(d.s, func() { d.s.Apply(e) })
	}
	if few, many := measure(3), measure(500); few != many || few == 0 {
		t.Fatalf("a leave visits %d values among 3 excused agents, %d among 500", few, many)
	}
}

// While everything is paused, nothing happens to agents that do not run.
func TestPausedAgentsHaveNoTimers(t *testing.T) {
	d := newDrive(t)
	d.whole(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{wideRole()}}})
	d.must(SetPause{Scope: "demo", Pause: true})
	visits := 0
	for range 24 {
		d.clock += noun.Time(time.Hour)
		e := d.entry()
		visits += counted(d.s, func() { d.s.Apply(e) })
	}
	if visits != 0 {
		t.Fatalf("a day of pause visits %d values", visits)
	}
}
