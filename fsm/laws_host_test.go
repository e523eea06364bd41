package fsm

import (
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

func TestHostLostLeftAndBack(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
	d.must(PutSettings{Values: []noun.KV{{Key: "accept_limit", Value: "5m"}}})
	d.pass(61 * time.Second)
	if got := d.s.Host(h).State; got != noun.HostLost {
		t.Fatalf("host is %s", got)
	}
	if a := d.agent("demo/b"); a.Proc != noun.ProcNone || a.Order != noun.NoOrder {
		t.Fatalf("the order of a lost host is still open: %+v", a)
	}
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 2, Host: h})
	d.beat(h, 0)
	if got := d.s.Host(h).State; got != noun.HostReady {
		t.Fatalf("a host that beats again is %s", got)
	}
	d.want(noun.Superseded, LeaveHost{Key: "h1", Boot: "other"})
	d.must(LeaveHost{Key: "h1", Boot: "boot1"})
	d.must(LeaveHost{Key: "h1", Boot: "boot1"})
	d.want(noun.NotFound, LeaveHost{Key: "h9", Boot: "boot1"})
	if ans := d.beat(h, 0); !ans.HostGone {
		t.Fatal("a host that has left must register again")
	}
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 2, Host: h})
	if got := d.host("h1", "worker"); got != h {
		t.Fatalf("came back as number %d", got)
	}
	d.start("demo/b", h)
}

// A host id with another boot id may be a clone: it waits for the fences.
func TestL7HostInUseUntilFencesEnd(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.start("demo/b", h)
	again := RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}}
	d.want(noun.HostInUse, again)
	d.pass(59 * time.Second)
	d.want(noun.HostInUse, again)
	d.pass(time.Second)
	d.must(again)
	if d.s.Host(h).Boot != "boot2" {
		t.Fatal("not rebooted")
	}
	e := d.entry()
	e.Beats = []HostBeats{{Host: h, Boot: "boot1"}}
	if ans := d.apply(e).Beats[0]; !ans.HostGone {
		t.Fatal("the old boot may still beat")
	}
	d.must(OrderStart{Agent: 1, Inc: 2, Host: h})
	d.want(noun.Superseded, AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 2})
}

// Of two machines with one identity the one that is heard keeps it, also without agents: they would take the
// registration from each other for ever. A reboot is let in when the last boot is silent.
func TestAnotherBootWaitsForTheSilenceOfTheLast(t *testing.T) {
	second := RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}}
	open := func(t *testing.T) (*drive, noun.HostID, func(noun.Hearing)) {
		d := newDrive(t)
		d.must(PutServer{ID: "a", Version: "0"})
		d.must(RaiseLevel{Level: core.LevelRetry})
		h := d.host("h1", "worker")
		return d, h, func(how noun.Hearing) {
			d.must(ReportViews{Server: "a", Views: []noun.HostView{{Host: h, Stream: how}}})
		}
	}
	t.Run("heard", func(t *testing.T) {
		d, h, hear := open(t)
		d.want(noun.HostInUse, second) // not heard yet
		hear(noun.HearAlive)
		for range 3 {
			d.pass(15 * time.Second)
			d.beat(h, 0)
			d.want(noun.HostInUse, second)
		}
		hear(noun.HearSilent) // the beat was younger than that
		d.must(second)
		d.want(noun.HostInUse, RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"}})
		hear(noun.HearAlive)
		d.want(noun.HostInUse, RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"}})
		if got := d.s.Host(h); got.Boot != "boot2" {
			t.Errorf("%+v", got)
		}
		rebooted := 0
		for e := range d.s.Events(0) {
			if e.Kind == "host.rebooted" {
				rebooted++
			}
		}
		if rebooted != 1 {
			t.Errorf("%d reboots", rebooted)
		}
	})
	t.Run("never heard", func(t *testing.T) {
		d, _, _ := open(t)
		d.pass(core.SilentFor - time.Second)
		d.want(noun.HostInUse, second)
		d.pass(time.Second)
		d.must(second)
	})
	t.Run("its lease has ended", func(t *testing.T) { // all that heard it are gone too
		d, _, hear := open(t)
		hear(noun.HearAlive)
		d.pass(59 * time.Second)
		d.want(noun.HostInUse, second)
		d.pass(time.Second)
		d.must(second)
	})
	t.Run("has left", func(t *testing.T) {
		d, _, hear := open(t)
		hear(noun.HearAlive)
		d.must(LeaveHost{Key: "h1", Boot: "boot1"})
		d.must(second)
	})
}

func TestInventoryBuriesWhatTheHostDoesNotKnow(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 3 }))
	for _, name := range []string{"demo/b", "demo/b.2", "demo/b.3"} {
		d.start(name, h)
	}
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"},
		Inventory: []Running{{Agent: 1, Inc: 1}, {Agent: 2, Inc: 9}}})
	if a := d.agent("demo/b"); a.Proc != noun.ProcRunning {
		t.Fatalf("%+v", a)
	}
	for _, name := range []string{"demo/b.2", "demo/b.3"} {
		if a := d.agent(name); a.Proc != noun.ProcNone || a.LastExit.Kind != noun.ExitHostGone || a.Failures != 0 {
			t.Fatalf("%+v %+v", a, a.LastExit)
		}
	}
}

func TestSuspectHostGetsNoStarts(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(SuspectHost{Host: h, Suspect: true, Reason: "silent"})
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 1, Host: h})
	d.beat(h, 0)
	if d.s.Host(h).State != noun.HostSuspect {
		t.Fatal("a beat ended the leader's doubt")
	}
	d.must(SuspectHost{Host: h})
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
	d.want(noun.NotFound, SuspectHost{Host: 9})
}

func TestL11StartRateAndStartsPerHost(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 20 }))
	d.must(PutSettings{Values: []noun.KV{{Key: "starts_per_second", Value: "6"}}})
	for id := noun.AgentID(1); id <= 4; id++ {
		d.must(OrderStart{Agent: id, Inc: 1, Host: h1})
	}
	d.want(noun.Conflict, OrderStart{Agent: 5, Inc: 1, Host: h1}) // four are starting there
	d.must(OrderStart{Agent: 5, Inc: 1, Host: h2})
	d.must(OrderStart{Agent: 6, Inc: 1, Host: h2})
	d.want(noun.Conflict, OrderStart{Agent: 7, Inc: 1, Host: h2}) // six in this second
	d.clock += noun.Time(time.Second / 6)
	d.must(OrderStart{Agent: 7, Inc: 1, Host: h2})
	d.want(noun.Conflict, OrderStart{Agent: 8, Inc: 1, Host: h2})
	d.must(AcceptOrder{Host: h1, Boot: "boot1", Agent: 1, Inc: 1})
	d.must(ReportStarted{Host: h1, Agent: 1, Inc: 1, PID: 2})
	d.clock += noun.Time(time.Second)
	d.must(OrderStart{Agent: 8, Inc: 1, Host: h1}) // a place is free
}

func TestPlacementRules(t *testing.T) {
	d := newDrive(t)
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Labels = []noun.KV{{Key: "gpu", Value: "yes"}} }),
		managed("c"))
	plain := d.must(RegisterHost{Key: "p", Name: "p", Boot: "boot1", Runners: []string{"worker"}, Capacity: 1}).Host
	gpu := d.must(RegisterHost{Key: "g", Name: "g", Boot: "boot1", Runners: []string{"worker"},
		Labels: []noun.KV{{Key: "gpu", Value: "yes"}}}).Host
	none := d.must(RegisterHost{Key: "n", Name: "n", Boot: "boot1"}).Host
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 1, Host: plain})
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 1, Host: none})
	d.must(OrderStart{Agent: 1, Inc: 1, Host: gpu})
	d.must(OrderStart{Agent: 2, Inc: 1, Host: plain})
	d.want(noun.NotFound, OrderStart{Agent: 2, Inc: 1, Host: 99})
	d.want(noun.NotFound, OrderStart{Agent: 99, Inc: 1, Host: gpu})
	if got := d.s.Misfit(d.s.Host(plain), d.agent("demo/c")); got == "" {
		t.Fatal("a full host fits")
	}
	for _, bad := range []RegisterHost{{Key: "", Name: "n", Boot: "b"}, {Key: "k", Name: "", Boot: "b"},
		{Key: "k", Name: "n"},
		{Key: "k", Name: "n", Boot: "b", Runners: []string{"No Good"}}} {
		d.want(noun.Invalid, bad)
	}
}

func TestUnacceptedOrderIsWithdrawn(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
	d.pass(4 * time.Second)
	d.must(PutSettings{Values: []noun.KV{{Key: "accept_limit", Value: "5s"}}}) // counts for open orders too
	d.pass(time.Second)
	if a := d.agent("demo/b"); a.Proc != noun.ProcNone || a.Inc != 1 {
		t.Fatalf("%+v", a)
	}
	d.want(noun.Superseded, AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1})
	d.must(OrderStart{Agent: 1, Inc: 2, Host: h})
	if len(d.s.HostOrders(h)) != 1 || d.s.HostLoad(h) != (HostLoad{Running: 0, Starting: 1}) {
		t.Fatalf("%v %v", d.s.HostOrders(h), d.s.HostLoad(h))
	}
}

func TestShorterHostTTLHoldsFromTheNextBeat(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1")
	d.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "5s"}}})
	d.beat(h, 0)
	d.pass(5 * time.Second)
	if d.s.Host(h).State != noun.HostLost {
		t.Fatal("noticed late")
	}
}

// A registration that arrives late must not bury what its host has started since:
// another host would run it beside the first.
func TestL7LateInventoryBuriesNothing(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	reg := func(taken uint64, run ...Running) RegisterHost {
		return RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"}, Inventory: run,
			Taken: taken}
	}
	d.must(reg(20))
	d.start("demo/b", h)
	d.want(noun.Superseded, reg(10))
	d.must(reg(20)) // a repeat
	if a := d.agent("demo/b"); a.Proc != noun.ProcRunning {
		t.Fatalf("a late inventory buried it: %s", a.Proc)
	}
	d.must(reg(30, Running{Agent: 1, Inc: 1}))
	if a := d.agent("demo/b"); a.Proc != noun.ProcRunning {
		t.Fatalf("%s although its host lists it", a.Proc)
	}
	d.must(reg(40))
	if a := d.agent("demo/b"); a.Proc != noun.ProcNone || a.LastExit.Kind != noun.ExitHostGone {
		t.Fatalf("%s although its host came back without it", a.Proc)
	}
	// its clock starts again
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}, Taken: 1})
	if got := d.s.Host(h); got.Boot != "boot2" || got.Taken != 1 {
		t.Fatalf("the reboot was not taken: %+v", got)
	}
}

// N25: that a host has learnt of other servers is an event; the order in which it names them, and
// what it knows at first, is none.
func TestN25ServersThatAHostKnowsAreAnEvent(t *testing.T) {
	d := newDrive(t)
	taken := uint64(0)
	register := func(servers ...string) {
		taken++
		d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Taken: taken, Servers: servers})
	}
	register("a:1", "b:1", "c:1")
	register("c:1", "a:1", "b:1")
	register("c:1", "b:1", "d:1")
	register("b:1", "c:1", "d:1")
	var said []string
	for e := range d.s.Events(0) {
		if e.Kind == "host.servers" {
			said = append(said, e.Host+" "+e.Text)
		}
	}
	if len(said) != 1 || said[0] != "h1 knows c:1, b:1, d:1" {
		t.Errorf("%q, want one event", said)
	}
}
