package fsm

import (
	"testing"
	"time"
)

// Every transition of the participant, and what its leases look like after it.
func TestParticipantTransitions(t *testing.T) {
	d := newDrive(t)
	d.room("demo", RoleSpec{Name: "w"})
	part := func(want PartState) {
		t.Helper()
		a := d.agent("demo/w")
		if a.Part != want || (d.s.Lease(a.ID).Until != 0) != (want != PartDisconnected) {
			t.Fatalf("%s with a lease until %d, want %s", a.Part, d.s.Lease(a.ID).Until, want)
		}
	}
	part(PartDisconnected)
	sp := d.hand("demo/w")
	part(PartWaiting)
	d.must(Join{sp})
	part(PartWaiting)
	d.want(NoTask, Claim{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	part(PartActive)
	if out := d.must(Join{sp}); out.Task != id {
		t.Fatalf("a holder that joins again was told of task %d", out.Task)
	}
	part(PartActive)
	d.must(CompleteTask{Work{sp, id, 1}, ""})
	part(PartActive)
	d.must(Join{sp})
	part(PartWaiting)
	d.must(Leave{Speaker: sp})
	part(PartDisconnected)
	d.must(Leave{Speaker: sp}) // repeated
	d.want(Rejoin, Claim{Speaker: sp})
	d.must(Join{sp})
	part(PartWaiting)
	d.pass(time.Minute)
	part(PartDisconnected)
}

// Every transition of a managed agent's process, and what is refused in each state.
func TestProcessTransitions(t *testing.T) {
	steps := map[ProcState]func(*drive, HostID){
		ProcNone:    func(*drive, HostID) {},
		ProcOrdered: func(d *drive, h HostID) { d.must(OrderStart{Agent: 1, Inc: 1, Host: h}) },
		ProcAccepted: func(d *drive, h HostID) {
			d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
			d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1})
		},
		ProcRunning: func(d *drive, h HostID) { d.start("demo/b", h) },
		ProcLost: func(d *drive, h HostID) {
			d.start("demo/b", h)
			d.pass(55 * time.Second)
			d.beat(h, 0)
			d.pass(6 * time.Second)
		},
	}
	type row struct {
		name  string
		cmd   func(h HostID, inc Incarnation) Command
		codes [5]Code // by state: none, ordered, accepted, running, lost
		to    [5]ProcState
	}
	N, O, A, R, L := ProcNone, ProcOrdered, ProcAccepted, ProcRunning, ProcLost
	S := Superseded
	rows := []row{
		{"order next", func(h HostID, i Incarnation) Command { return OrderStart{1, i + 1, h} }, [5]Code{OK, Conflict, Conflict, Conflict, OK}, [5]ProcState{O, O, A, R, O}},
		{"order wrong number", func(h HostID, i Incarnation) Command { return OrderStart{1, i + 2, h} }, [5]Code{Conflict, Conflict, Conflict, Conflict, Conflict}, [5]ProcState{N, O, A, R, L}},
		{"accept", func(h HostID, i Incarnation) Command { return AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: i} }, [5]Code{S, OK, OK, S, S}, [5]ProcState{N, A, A, R, L}},
		{"accept other boot", func(h HostID, i Incarnation) Command { return AcceptOrder{Host: h, Boot: "b", Agent: 1, Inc: i} }, [5]Code{S, S, S, S, S}, [5]ProcState{N, O, A, R, L}},
		{"started", func(h HostID, i Incarnation) Command { return ReportStarted{h, 1, i, 7} }, [5]Code{S, S, OK, OK, S}, [5]ProcState{N, O, R, R, L}},
		{"exit", func(h HostID, i Incarnation) Command { return ReportExit{Host: h, Agent: 1, Inc: i} }, [5]Code{OK, OK, OK, OK, OK}, [5]ProcState{N, O, N, N, L}},
		{"exit of the future", func(h HostID, i Incarnation) Command { return ReportExit{Host: h, Agent: 1, Inc: i + 1} }, [5]Code{Invalid, Invalid, Invalid, Invalid, Invalid}, [5]ProcState{N, O, A, R, L}},
		{"stop", func(_ HostID, i Incarnation) Command { return OrderStop{1, i, "x"} }, [5]Code{S, S, OK, OK, S}, [5]ProcState{N, O, A, R, L}},
		{"cancel order", func(_ HostID, i Incarnation) Command { return CancelOrder{1, i, "x"} }, [5]Code{Conflict, OK, Conflict, Conflict, Conflict}, [5]ProcState{N, N, A, R, L}},
	}
	for _, r := range rows {
		for st := ProcNone; st <= ProcLost; st++ {
			t.Run(r.name+"/"+st.String(), func(t *testing.T) {
				d := newDrive(t)
				h := d.host("h1", "worker")
				d.room("demo", managed("b"))
				steps[st](d, h)
				if got := d.agent("demo/b").Proc; got != st {
					t.Fatalf("prepared %s", got)
				}
				want := r.codes[st]
				out := d.do(r.cmd(h, d.agent("demo/b").Inc))
				if got := d.agent("demo/b").Proc; out.Code != want || got != r.to[st] {
					t.Fatalf("%s (%s), now %s; want %s, %s", out.Code, out.Detail, got, want, r.to[st])
				}
			})
		}
	}
}

func TestJoinByHandTakesAFreeSlot(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *RoleSpec) { r.Replicas = 3 }))
	d.start("demo/b", h)
	if out := d.must(Join{Speaker{Agent: "demo/b.*"}}); out.Agent != 2 {
		t.Fatalf("joined agent %d, want the first free one", out.Agent)
	}
	d.want(Conflict, Join{Speaker{Agent: "demo/b"}})   // its fence holds
	d.want(Conflict, Join{Speaker{Agent: "demo/b.2"}}) // taken by hand
	d.must(OrderStart{Agent: 3, Inc: 1, Host: h})
	d.want(Conflict, Join{Speaker{Agent: "demo/b.3"}}) // an order is open
	d.want(Conflict, Join{Speaker{Agent: "demo/b.*"}})
	if a := d.agent("demo/b.3"); a.Proc != ProcOrdered || a.Inc != 1 {
		t.Fatalf("a refused join changed it: %+v", a)
	}
	d.want(NotFound, Join{Speaker{Agent: "demo/b.4"}})
	d.want(NotFound, Join{Speaker{Agent: "demo/x.*"}})
	d.must(SetAgent{Agent: "demo/b.2", Stop: true, By: "ann"})
	if d.agent("demo/b.2").Part != PartDisconnected {
		t.Fatal("a stopped agent kept its participant")
	}
	d.want(Stopped, Join{Speaker{Agent: "demo/b.2"}})
	d.want(Stopped, Join{Speaker{Agent: "demo/b.2", Inc: 1}})
}

func TestL6TokensAreChecked(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1, TokenHash: []byte("hash")})
	sp := Speaker{Agent: "demo/b", Inc: 1}
	d.want(Denied, Join{sp})
	d.want(Denied, Leave{Speaker: sp})
	sp.TokenHash = []byte("other")
	d.want(Denied, Join{sp})
	sp.TokenHash = []byte("hash")
	d.must(Join{sp})
	d.want(Conflict, Join{Speaker{Agent: "demo/b"}})
	d.want(Invalid, Claim{Speaker: Speaker{Agent: "demo/b", Inc: 2, TokenHash: sp.TokenHash}})
	d.want(NotFound, Claim{Speaker: Speaker{Agent: "demo/nobody", Inc: 2}})
}

// L6: nothing said by a superseded incarnation changes anything.
func TestL6SupersededLifeIsSilent(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"), RoleSpec{Name: "v"})
	old := d.start("demo/b", h)
	d.must(ReportExit{Host: h, Agent: 1, Inc: old.Inc})
	sp := d.start("demo/b", h)
	d.must(Join{sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	w := Work{old, id, 1}
	before := d.s.Agent(1).Rev
	for _, c := range []Command{Join{old}, Leave{Speaker: old}, Claim{Speaker: old}, StartTask{w}, ProgressTask{Work: w, Note: "n"},
		CompleteTask{w, "r"}, FailTask{Work: w}, Handoff{Work: w, ToRole: "v"}, SetResume{old, "x"},
		AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: old.Inc}, ReportStarted{h, 1, old.Inc, 9}, OrderStop{1, old.Inc, "x"}} {
		d.want(Superseded, c)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: old.Inc, Code: 3}) // known already
	d.want(Conflict, CancelOrder{1, old.Inc, "x"})
	a := d.s.Agent(1)
	if a.Rev != before || a.Part != PartActive || a.Task != id || d.s.Task(id).State != TaskAcknowledged {
		t.Fatalf("%+v", a)
	}
	e := d.entry()
	e.Beats = []HostBeats{{Host: h, Boot: "boot1", Packed: PackBeats(nil, []AgentID{1}, []Incarnation{old.Inc}, []uint8{BeatFence | BeatVouch})}}
	if ans := d.apply(e).Beats[0]; len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != VerdictSuperseded {
		t.Fatalf("%+v", ans)
	}
}

func TestL3StartLimitReplacesAProcessThatNeverJoins(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *RoleSpec) { r.StartLimit = 30 * time.Second }))
	sp := d.start("demo/b", h)
	for range 30 {
		if d.agent("demo/b").Order != NoOrder {
			t.Fatalf("stopped after %s", time.Duration(d.clock))
		}
		d.pass(time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Order != StopOrder {
		t.Fatal("no stop order at the start limit")
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 0})
	if a := d.agent("demo/b"); a.LastExit.Kind != ExitTimedOut || a.Failures != 1 { // L11: or it would go on for ever
		t.Fatalf("%+v", a.LastExit)
	}
}

// A finished task ends the supervisor's word: an agent that hangs after it is
// noticed by its lease and replaced at the start limit.
func TestL3HangAfterCompletionIsNoticed(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	sp := d.start("demo/b", h)
	d.must(Join{sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.must(StartTask{Work{sp, id, 1}})
	for range 8 {
		d.pass(30 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Part != PartActive {
		t.Fatal("a vouched-for holder lost its lease")
	}
	d.must(CompleteTask{Work{sp, id, 1}, ""})
	for range 4 {
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Part != PartDisconnected {
		t.Fatal("still vouched for without a task")
	}
	for range 8 {
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Order != StopOrder {
		t.Fatal("not replaced")
	}
}

// The end of one lease does not take the other along.
func TestL7FenceOutlivesTheLease(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *RoleSpec) { r.Proof = ProofAgent }))
	sp := d.start("demo/b", h)
	d.must(Join{sp})
	d.pass(30 * time.Second)
	d.beat(h, BeatFence, 1)
	d.pass(31 * time.Second)
	ans := d.beat(h, BeatLease|BeatFence, 1)
	if len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != VerdictRejoin {
		t.Fatalf("%+v", ans)
	}
	if l := d.s.Lease(1); l.Fence != d.clock+Time(time.Minute) {
		t.Fatalf("the fence was not renewed beside the ended lease: %+v", l)
	}
}

func TestOnDemandStartsWhileTasksWait(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *RoleSpec) { r.Start, r.Replicas = StartOnDemand, 3 }))
	wanting := func() (n int) {
		for range d.s.Wanting() {
			n++
		}
		return n
	}
	if wanting() != 0 || d.s.Why(1).Code != "no_task" {
		t.Fatalf("%d starts are due, %+v", wanting(), d.s.Why(1))
	}
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	if wanting() != 3 {
		t.Fatalf("%d starts are due with a task and nobody free", wanting())
	}
	sp := d.start("demo/b", h)
	if wanting() != 0 {
		t.Fatalf("%d starts are due with one task and one free agent", wanting())
	}
	d.must(Join{sp})
	d.must(Claim{Speaker: sp})
	if wanting() != 0 {
		t.Fatalf("%d starts are due without a waiting task", wanting())
	}
	d.must(CreateTask{Room: "demo", Role: "b"})
	if wanting() != 2 {
		t.Fatalf("%d starts are due with one waiting and one busy", wanting())
	}
	d.must(CompleteTask{Work{sp, id, 1}, ""})
	if wanting() != 0 {
		t.Fatalf("%d starts are due after the busy one is free", wanting())
	}
}

func TestRestartAgentForgives(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	for range 2 {
		sp := d.start("demo/b", h)
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	}
	if d.s.Why(1).Code != "back_off" {
		t.Fatalf("%+v", d.s.Why(1))
	}
	d.must(RestartAgent{Agent: "demo/b", By: "ann"})
	sp := d.start("demo/b", h)
	d.must(RestartAgent{Agent: "demo/b", By: "ann"})
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Signal: "terminated"})
	if a := d.agent("demo/b"); a.Failures != 0 || d.s.Why(1).Code != "start_due" {
		t.Fatalf("%+v, %+v", a, d.s.Why(1))
	}
	d.want(NotFound, RestartAgent{Agent: "demo/x"})
	d.must(SetAgent{Agent: "demo/b", Stop: true})
	d.want(Stopped, RestartAgent{Agent: "demo/b"})
}

func TestHealthyLifeClearsTheBudget(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	for range 3 {
		for d.agent("demo/b").NotBefore > d.clock {
			d.beat(h, 0)
			d.pass(time.Second)
		}
		sp := d.start("demo/b", h)
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	}
	d.must(SetAgent{Agent: "demo/b"}) // a human asks for a start
	d.s.agents.Mut(1).Failures = 3    // as before
	sp := d.start("demo/b", h)
	d.must(Join{sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.must(CompleteTask{Work{sp, id, 1}, ""})
	for range 41 {
		d.must(Join{sp})
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	if a := d.agent("demo/b"); a.Failures != 1 || a.NotBefore != 0 {
		t.Fatalf("%d failures in a row after a healthy life", a.Failures)
	}
}
