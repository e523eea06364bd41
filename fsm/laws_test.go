package fsm

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

func managed(name string, mods ...func(*noun.RoleSpec)) noun.RoleSpec {
	r := noun.RoleSpec{Name: name, Runner: "worker"}
	for _, m := range mods {
		m(&r)
	}
	return r
}

// The main story: started, joins, works, is killed, its task is recovered, it is
// started again at once and finishes.
func TestL3DeathIsRepaired(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("builder"))
	sp := d.start("demo/builder", h)
	d.must(Join{Speaker: sp})
	task := d.must(CreateTask{Room: "demo", Role: "builder", Title: "t", Text: "x"}).Task
	claim := d.must(Claim{Speaker: sp})
	if claim.Task != task || claim.Attempt != 1 {
		t.Fatalf("claimed %+v", claim)
	}
	d.must(StartTask{Work: Work{Speaker: sp, Task: task, Attempt: 1}})
	d.must(ReportExit{Host: h, Agent: claim.Agent, Inc: sp.Inc, Code: -1, Signal: "killed"})
	if st := d.s.Task(task).State; st != noun.TaskPending {
		t.Fatalf("task is %s after its holder died", st)
	}
	var due []noun.AgentID
	for id := range d.s.Wanting() {
		due = append(due, id)
	}
	if len(due) != 1 {
		t.Fatalf("starts due: %v", due)
	}
	sp2 := d.start("demo/builder", h)
	d.must(Join{Speaker: sp2})
	d.want(noun.Superseded, StartTask{Work: Work{Speaker: sp, Task: task, Attempt: 1}})
	d.must(Claim{Speaker: sp2})
	d.must(CompleteTask{Work: Work{Speaker: sp2, Task: task, Attempt: 2}, Result: "done"})
	if got := d.s.Task(task); got.State != noun.TaskCompleted || got.Kills != 1 {
		t.Fatalf("task: %+v", got)
	}
}

func TestL2LeaseEndsAndTaskIsRecovered(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	out := d.must(Join{Speaker: Speaker{Agent: "demo/w.*"}})
	sp := Speaker{Agent: "demo/w", Inc: out.Inc}
	task := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	d.pass(59 * time.Second)
	if d.s.Task(task).State != noun.TaskAcknowledged {
		t.Fatal("recovered before the lease ended")
	}
	d.beat(0, BeatLease, out.Agent)
	d.pass(59 * time.Second)
	if d.agent("demo/w").Part != noun.PartActive {
		t.Fatal("a beat did not renew the lease")
	}
	d.pass(time.Second)
	if d.agent("demo/w").Part != noun.PartDisconnected || d.s.Task(task).State != noun.TaskPending {
		t.Fatal("the end of the lease did not recover the task")
	}
	if ans := d.beat(0, BeatLease, out.Agent); len(ans.Exceptions) != 1 ||
		ans.Exceptions[0].Verdict != noun.VerdictRejoin {
		t.Fatalf("a late beat was answered %+v", ans)
	}
	d.want(noun.Rejoin, Claim{Speaker: sp})
	// The work was done: attempt 1 is still the last one.
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: task, Attempt: 1}, Result: "done"})
}

func TestL4OneStartOrder(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("builder"))
	a := d.agent("demo/builder").ID
	d.must(OrderStart{Agent: a, Inc: 1, Host: h})
	d.want(noun.Conflict, OrderStart{Agent: a, Inc: 1, Host: h})
	d.want(noun.Conflict, OrderStart{Agent: a, Inc: 2, Host: h})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: a, Inc: 1, TokenHash: []byte("x")})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: a, Inc: 1, TokenHash: []byte("x")})
	d.want(noun.Superseded, AcceptOrder{Host: h, Boot: "boot1", Agent: a, Inc: 1, TokenHash: []byte("y")})
	d.want(noun.Conflict, OrderStart{Agent: a, Inc: 2, Host: h})
}

func TestL7NoStartBeforeTheFenceEnds(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("builder"))
	sp := d.start("demo/builder", h1)
	d.must(Join{Speaker: sp})
	a := d.agent("demo/builder").ID
	for range 70 {
		d.pass(time.Second)
		if d.agent("demo/builder").Proc == noun.ProcLost {
			break
		}
		d.beat(h2, 0)
		d.want(noun.Conflict, OrderStart{Agent: a, Inc: 2, Host: h2})
	}
	if got := d.clock; got < noun.Time(time.Minute) {
		t.Fatalf("given up after %s", time.Duration(got))
	}
	d.must(OrderStart{Agent: a, Inc: 2, Host: h2})
	ans := d.beat(h1, BeatFence|BeatVouch, a) // names incarnation 2, but from h1
	if len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
		t.Fatalf("the old host was answered %+v", ans)
	}
}

func TestL7AdoptWhenNothingNewerWasOrdered(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("builder"))
	sp := d.start("demo/builder", h)
	d.must(Join{Speaker: sp})
	d.pass(61 * time.Second)
	a := d.agent("demo/builder")
	if a.Proc != noun.ProcLost {
		t.Fatalf("process is %s", a.Proc)
	}
	if ans := d.beat(h, BeatFence|BeatVouch, a.ID); ans.Exceptions[0].Verdict != noun.VerdictAdopt {
		t.Fatalf("answered %+v", ans)
	}
	if a = d.agent("demo/builder"); a.Proc != noun.ProcRunning || a.Inc != 1 {
		t.Fatalf("not adopted: %+v", a)
	}
	d.must(Join{Speaker: sp})
}

func TestL9StopBeatsStart(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("builder"))
	a := d.agent("demo/builder").ID
	d.must(OrderStart{Agent: a, Inc: 1, Host: h})
	d.must(SetAgent{Agent: "demo/builder", Stop: true, By: "ann"})
	d.want(noun.Superseded, AcceptOrder{Host: h, Boot: "boot1", Agent: a, Inc: 1})
	d.want(noun.Conflict, OrderStart{Agent: a, Inc: 2, Host: h})
	if why := d.s.Why(a); why.Code != "stopped" {
		t.Fatalf("why: %+v", why)
	}
	d.must(SetAgent{Agent: "demo/builder", By: "ann"})
	sp := d.start("demo/builder", h)
	d.must(SetAgent{Agent: "demo/builder", Stop: true, By: "ann"})
	if d.agent("demo/builder").Order != noun.StopOrder {
		t.Fatal("no stop order")
	}
	d.must(ReportExit{Host: h, Agent: a, Inc: sp.Inc, Signal: "terminated"})
	if x := d.agent("demo/builder"); x.LastExit.Kind != noun.ExitOrdered || x.Failures != 0 {
		t.Fatalf("a stop on purpose was charged: %+v", x.LastExit)
	}
}

func TestL11BackOffAndBreaker(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("builder"))
	a := d.agent("demo/builder").ID
	var waits []time.Duration
	for range 5 {
		sp := d.start("demo/builder", h)
		d.must(ReportExit{Host: h, Agent: a, Inc: sp.Inc, Code: 1})
		began := d.clock
		for d.agent("demo/builder").NotBefore > d.clock {
			d.beat(h, 0)
			d.pass(time.Second)
		}
		waits = append(waits, d.clock.Sub(began))
	}
	if waits[0] != 0 || waits[1] < 2*time.Second || waits[1] > 4*time.Second || waits[3] < 15*time.Second {
		t.Fatalf("pauses %v", waits)
	}
	if waits[4] < 30*time.Minute {
		t.Fatalf("the breaker did not open: pauses %v", waits)
	}
	sp := d.start("demo/builder", h) // the trial
	d.must(ReportExit{Host: h, Agent: a, Inc: sp.Inc, Code: 1})
	if x := d.agent("demo/builder"); !x.Parked || x.NotBefore.Sub(d.clock) != 30*time.Minute {
		t.Fatalf("a failed trial did not park it again: %+v", x)
	}
}

// repeats tells whether the answer is the first one, and says that it is.
func repeats(o, first noun.Outcome) bool {
	said := o.Repeated() && !first.Repeated()
	if o.Repeated() {
		first = first.AsRepeated()
	}
	return said && o == first
}

func TestL8RepeatedWriteGetsTheFirstAnswer(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	ss := d.must(OpenSession{Client: "c"}).Session
	req := Request{Session: ss, Seq: 1, Cmd: CreateTask{Room: "demo", Role: "w"}}
	first := d.apply(d.entry(req)).Outcomes[0]
	again := d.apply(d.entry(req)).Outcomes[0]
	if !repeats(again, first) {
		t.Fatalf("%+v, then %+v", first, again)
	}
	if n := d.s.Counts().Tasks[noun.TaskPending]; n != 1 {
		t.Fatalf("%d tasks", n)
	}
	d.pass(11 * time.Minute)
	if out := d.apply(d.entry(req)).Outcomes[0]; out.Code != noun.UnknownSession {
		t.Fatalf("an ended session answered %s", out.Code)
	}
}

func TestL12StaleStintIsIgnored(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("builder"))
	e := d.entry(Request{Planned: true, Cmd: OrderStart{Agent: 1, Inc: 1, Host: h}},
		Request{Cmd: CreateTask{Room: "demo", Role: "builder"}})
	e.Stint, e.Stamp = 0, noun.Time(time.Hour)
	res := d.apply(e)
	if res.Outcomes[0].Code != noun.StaleStint || res.Outcomes[1].Code != noun.OK {
		t.Fatalf("outcomes %+v", res.Outcomes)
	}
	if d.s.Clock() != 0 {
		t.Fatalf("the stamp of an old stint moved the clock to %d", d.s.Clock())
	}
}
