package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// register has the host register again, as a restarted agentd does, with these lives
// in its inventory.
func (d *drive) register(h noun.HostID, taken uint64, running ...Running) {
	d.t.Helper()
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"}, Taken: taken,
		Inventory: running})
}

// A life that ended while no agentd ran is in the inventory until its end is reported:
// then the report counts, however often agentd was started since.
func TestL11EndsAreChargedAcrossRestartsOfAgentd(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	for i := uint32(1); i <= 3; i++ {
		sp := d.start("demo/b", h)
		d.register(h, uint64(2*i), Running{Agent: 1, Inc: sp.Inc})
		d.register(h, uint64(2*i+1), Running{Agent: 1, Inc: sp.Inc})
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Kind: noun.ExitCrash, Code: 3})
		if a := d.agent("demo/b"); a.Failures != i || a.LastExit.Kind != noun.ExitCrash {
			t.Fatalf("%d failures after %d crashes, %+v", a.Failures, i, a.LastExit)
		}
		d.clock = max(d.clock, d.agent("demo/b").NotBefore)
		d.apply(d.entry())
	}
	sp := d.start("demo/b", h)
	d.register(h, 100, Running{Agent: 1, Inc: sp.Inc})
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Kind: noun.ExitUsageLimit, RetryAfter: time.Hour})
	if a := d.agent("demo/b"); !a.Parked || a.LastExit.Kind != noun.ExitUsageLimit {
		t.Fatalf("parked %v, %+v", a.Parked, a.LastExit)
	}
}

// Until its end is reported such a life keeps its task: what it has finished and left
// with agentd is not done again. Without a report the end of its fence frees it.
func TestL8SpooledCompletionAfterARegistration(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 2 }))
	one, two := d.start("demo/b", h), d.start("demo/b.2", h)
	both := []Running{{Agent: 1, Inc: one.Inc}, {Agent: 2, Inc: two.Inc}}
	d.must(Join{Speaker: one})
	d.must(Join{Speaker: two})
	first := d.must(CreateTask{Room: "demo", Role: "b", Title: "x"}).Task
	d.must(Claim{Speaker: one})
	d.register(h, 2, both...)
	d.want(noun.NoTask, Claim{Speaker: two})
	d.must(CompleteTask{Work: Work{Speaker: one, Task: first, Attempt: 1}, Result: "done"})
	d.must(ReportExit{Host: h, Agent: 1, Inc: one.Inc})
	if x := d.s.Task(first); x.State != noun.TaskCompleted || x.Attempt != 1 {
		t.Fatalf("%+v", x)
	}

	second := d.must(CreateTask{Room: "demo", Role: "b", Title: "y"}).Task
	d.must(Claim{Speaker: two})
	d.register(h, 3, both[1:]...)
	for d.agent("demo/b.2").Proc.Fenced() {
		if d.clock > noun.Time(time.Hour) {
			t.Fatal("its fence never ends")
		}
		d.pass(time.Second)
		d.beat(h, BeatFence)
	}
	if x := d.s.Task(second); x.State != noun.TaskPending {
		t.Fatalf("%+v", x)
	}
}

// A start that its host has accepted and never finishes is no way around the start
// limit: it is stopped, with a reason, and charged.
func TestL11StartLimitOfAnAcceptedOrder(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.StartLimit = 30 * time.Second }))
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1})
	for range 30 {
		if a := d.agent("demo/b"); a.Order != noun.StartOrder || a.Proc != noun.ProcAccepted {
			t.Fatalf("%s, order %d after %s", a.Proc, a.Order, time.Duration(d.clock))
		}
		d.pass(time.Second)
		d.beat(h, BeatFence, 1)
	}
	if a := d.agent("demo/b"); a.Order != noun.StopOrder {
		t.Fatalf("%s, order %d at the start limit", a.Proc, a.Order)
	}
	if why := d.s.Why(1); why.Code != "stopping" || !strings.Contains(why.Text, "within the start limit") {
		t.Errorf("%+v", why)
	}
	d.must(ReportStarted{Host: h, Agent: 1, Inc: 1, PID: 5}) // too late
	if a := d.agent("demo/b"); a.Order != noun.StopOrder {
		t.Errorf("the stop was taken back: %d", a.Order)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: 1, Kind: noun.ExitOrdered})
	if a := d.agent("demo/b"); a.LastExit.Kind != noun.ExitTimedOut || a.Failures != 1 {
		t.Errorf("%+v", a.LastExit)
	}
}

// An agent that has joined has started, whether or not its host could say so.
func TestL3JoinedBeforeTheReportOfItsStart(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.StartLimit = 30 * time.Second }))
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1})
	d.must(Join{Speaker: Speaker{Agent: "demo/b", Inc: 1}})
	for range 60 {
		d.pass(time.Second)
		d.beat(h, BeatFence, 1)
		d.must(Join{Speaker: Speaker{Agent: "demo/b", Inc: 1}})
	}
	if a := d.agent("demo/b"); a.Order == noun.StopOrder {
		t.Errorf("stopped: %s", a.OrderReason)
	}
}
