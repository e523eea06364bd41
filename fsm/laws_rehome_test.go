package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// L3: whatever keeps an agent from a host is said of each host by name.
func TestL3WaitingForAHostNamesEveryReason(t *testing.T) {
	cases := map[string]func(d *drive, h noun.HostID){
		"is suspect: " + core.WhyStream: func(d *drive, h noun.HostID) {
			d.must(SuspectHost{Host: h, Suspect: true, Reason: core.WhyStream})
		},
		"is lost": func(d *drive, h noun.HostID) { d.must(ConfirmDead{Host: h, Force: true}) },
		"has left": func(d *drive, h noun.HostID) {
			d.must(LeaveHost{Key: "h1", Boot: "boot1"})
		},
		"is drained by ann": func(d *drive, h noun.HostID) { d.must(DrainHost{Host: h, By: "ann"}) },
		"takes no starts: out of memory": func(d *drive, h noun.HostID) {
			d.must(ReportPressure{Host: h, Boot: "boot1", Reason: "out of memory"})
		},
		"is returning: it came and went 3 times, no starts for 1m0s": func(d *drive, h noun.HostID) {
			for range 3 {
				d.must(SuspectHost{Host: h, Suspect: true})
				d.must(SuspectHost{Host: h})
			}
		},
		`has no runner "worker"`: func(d *drive, h noun.HostID) { d.host("h1", "other") },
		"lacks label gpu=yes": func(d *drive, h noun.HostID) {
			d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Labels = []noun.KV{{Key: "gpu", Value: "yes"}} }))
		},
	}
	for want, prepare := range cases {
		t.Run(want, func(t *testing.T) {
			d := newDrive(t)
			h := d.host("h1", "worker")
			d.room("demo", managed("b"))
			prepare(d, h)
			for _, k := range []string{"h2", "h3", "h4", "h5"} {
				d.host(k, "other")
			}
			why := d.s.Why(1)
			if why.Code != "no_host" || !strings.HasPrefix(why.Text, "waiting for a host: h1 "+want+"; h2 ") ||
				!strings.HasSuffix(why.Text, "; and 2 more") {
				t.Fatalf("%+v", why)
			}
		})
	}
}

// L3: no host is said to lack a runner that nobody asks for.
func TestN18ARoleWithoutARunnerAsksNoHost(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Runner = "" }))
	if why := d.s.Misfit(d.s.Host(h), d.s.Agent(1)); why != "is not asked: the role names no runner" {
		t.Fatalf("%q", why)
	}
}

// L3: the hosts that could take an agent one day are named before those that never
// can, however many there are of these.
func TestWaitingForAHostNamesTheRightOnesFirst(t *testing.T) {
	d := newDrive(t)
	for _, k := range []string{"h1", "h2", "h3", "h4"} {
		d.host(k, "other")
	}
	d.must(RegisterHost{Key: "h5", Name: "h5", Boot: "boot1", Runners: []string{"worker"}, Capacity: 1})
	d.room("demo", managed("a"), managed("b"))
	d.start("demo/a", 5)
	if why := d.s.Why(2); why.Text !=
		`waiting for a host: h5 is full: 1 of 1 agent; h1 has no runner "worker"; h2 has no runner "worker"; and 2 more` {
		t.Fatalf("%+v", why)
	}
}

// Incident I127: a host is gone for ever. Its agents are re-homed once each, within
// what the others can take; those that may not move say so.
func TestI127AgentsOfAGoneHostMoveOnce(t *testing.T) {
	d := newDrive(t)
	d.must(PutSettings{Values: []noun.KV{{Key: "starts_per_host", Value: "100"},
		{Key: "starts_per_second", Value: "100"}}})
	h1 := d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"},
		Labels: []noun.KV{{Key: "disk", Value: "ssd"}}}).Host
	h2 := d.must(RegisterHost{Key: "h2", Name: "h2", Boot: "boot1", Runners: []string{"worker"}, Capacity: 7}).Host
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 9 }),
		managed("c", func(r *noun.RoleSpec) { r.Replicas = 3; r.Labels = []noun.KV{{Key: "disk", Value: "ssd"}} }))
	var all []string
	for a := range d.s.Agents("") {
		all = append(all, a.Name)
	}
	for _, name := range all {
		d.start(name, h1)
	}
	for d.s.Host(h1).State != noun.HostLost {
		d.pass(time.Second)
		d.beat(h2, 0)
	}
	d.must(ReleaseBrake{By: "ann"})
	moved := 0
	for range 3 { // whoever plans, however often
		for _, name := range all {
			a := d.agent(name)
			if d.do(OrderStart{Agent: a.ID, Inc: d.s.NextInc(a), Host: h2}).Code == noun.OK {
				d.must(AcceptOrder{Host: h2, Boot: "boot1", Agent: a.ID, Inc: a.Inc})
				d.must(ReportStarted{Host: h2, Agent: a.ID, Inc: a.Inc, PID: 1})
				moved++
			}
		}
	}
	if moved != 7 {
		t.Fatalf("%d starts, h2 has room for 7", moved)
	}
	for _, name := range all {
		switch a, why := d.agent(name), d.s.Why(d.agent(name).ID); {
		case a.Host == h2 && a.Inc != 2:
			t.Fatalf("%s was started %d times", name, a.Inc-1)
		case a.Host == h2:
		case strings.HasPrefix(name, "demo/c") && !strings.Contains(why.Text, "h2 is full") &&
			!strings.Contains(why.Text, "h2 lacks label"):
			t.Fatalf("%s: %+v", name, why)
		case why.Code != "no_host" || !strings.Contains(why.Text, "h1 is lost"):
			t.Fatalf("%s: %+v", name, why)
		}
	}
}

// Incident I163: a host in shutdown gets no starts, and its agents no tasks.
func TestI163NothingBeginsOnAHostThatShutsDown(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"), managed("c"))
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	d.must(OrderStart{Agent: 2, Inc: 1, Host: h})
	d.must(DrainHost{Host: h, By: DrainBySelf, Deadline: time.Minute})
	d.must(CreateTask{Room: "demo", Role: "b"})
	d.want(noun.Stopped, Claim{Speaker: sp})
	d.want(noun.Superseded, AcceptOrder{Host: h, Boot: "boot1", Agent: 2, Inc: 1})
	d.must(ReportExit{Host: h, Agent: 1, Inc: 1, Signal: "terminated"})
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 2, Host: h})
	d.must(LeaveHost{Key: "h1", Boot: "boot1"})
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 2, Host: h})
}

// A restored backup knows nothing of what servers hear now, and the lives that it
// believes in are no mass loss.
func TestRestoreForgetsViewsAndSetsNoBrake(t *testing.T) {
	f := newFarm(t, 3, 10)
	f.view("a", f.hosts[0], noun.HearSilent, noun.HearSilent)
	f.must(RaiseEpoch{Hold: time.Minute})
	if n := len(f.s.Host(f.hosts[0]).Views); n != 0 {
		t.Fatalf("%d old views", n)
	}
	f.pass(2 * time.Minute)
	if f.s.Brake().Set != 0 {
		t.Fatalf("%+v", f.s.Brake())
	}
}
