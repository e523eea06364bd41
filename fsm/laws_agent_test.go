package fsm

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Every transition of the participant, and what its leases look like after it.
func TestParticipantTransitions(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	part := func(want noun.PartState) {
		t.Helper()
		a := d.agent("demo/w")
		if a.Part != want || (d.s.Lease(a.ID).Until != 0) != (want != noun.PartDisconnected) {
			t.Fatalf("%s with a lease until %d, want %s", a.Part, d.s.Lease(a.ID).Until, want)
		}
	}
	part(noun.PartDisconnected)
	sp := d.hand("demo/w")
	part(noun.PartWaiting)
	d.must(Join{Speaker: sp})
	part(noun.PartWaiting)
	d.want(noun.NoTask, Claim{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	part(noun.PartActive)
	if out := d.must(Join{Speaker: sp}); out.Task != id {
		t.Fatalf("a holder that joins again was told of task %d", out.Task)
	}
	part(noun.PartActive)
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: ""})
	part(noun.PartActive)
	d.must(Join{Speaker: sp})
	part(noun.PartWaiting)
	d.must(Leave{Speaker: sp})
	part(noun.PartDisconnected)
	d.must(Leave{Speaker: sp}) // repeated
	d.want(noun.Rejoin, Claim{Speaker: sp})
	d.must(Join{Speaker: sp})
	part(noun.PartWaiting)
	d.pass(time.Minute)
	part(noun.PartDisconnected)
}

// Every transition of a managed agent's process, and what is refused in each state.
func TestProcessTransitions(t *testing.T) {
	steps := map[noun.ProcState]func(*drive, noun.HostID){
		noun.ProcNone:    func(*drive, noun.HostID) {},
		noun.ProcOrdered: func(d *drive, h noun.HostID) { d.must(OrderStart{Agent: 1, Inc: 1, Host: h}) },
		noun.ProcAccepted: func(d *drive, h noun.HostID) {
			d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
			d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1})
		},
		noun.ProcRunning: func(d *drive, h noun.HostID) { d.start("demo/b", h) },
		noun.ProcLost: func(d *drive, h noun.HostID) {
			d.start("demo/b", h)
			d.pass(55 * time.Second)
			d.beat(h, 0)
			d.pass(6 * time.Second)
		},
	}
	type row struct {
		name  string
		cmd   func(h noun.HostID, inc noun.Incarnation) Command
		codes [5]noun.Code // by state: none, ordered, accepted, running, lost
		to    [5]noun.ProcState
	}
	N, O, A, R, L := noun.ProcNone, noun.ProcOrdered, noun.ProcAccepted, noun.ProcRunning, noun.ProcLost
	S := noun.Superseded
	rows := []row{
		{"order next", func(h noun.HostID, i noun.Incarnation) Command {
			return OrderStart{Agent: 1, Inc: i + 1,
				Host: h}
		}, [5]noun.Code{noun.OK, noun.Conflict, noun.Conflict, noun.Conflict, noun.OK},
			[5]noun.ProcState{O, O, A, R, O}},
		{"order wrong number", func(h noun.HostID, i noun.Incarnation) Command {
			return OrderStart{Agent: 1,
				Inc: i + 2, Host: h}
		}, [5]noun.Code{noun.Conflict, noun.Conflict, noun.Conflict, noun.Conflict, noun.Conflict},
			[5]noun.ProcState{N, O, A, R, L}},
		{"accept", func(h noun.HostID, i noun.Incarnation) Command {
			return AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: i}
		}, [5]noun.Code{S, noun.OK, noun.OK, S, S}, [5]noun.ProcState{N, A, A, R, L}},
		{"accept other boot", func(h noun.HostID, i noun.Incarnation) Command {
			return AcceptOrder{Host: h, Boot: "b", Agent: 1, Inc: i}
		}, [5]noun.Code{S, S, S, S, S}, [5]noun.ProcState{N, O, A, R, L}},
		{"started", func(h noun.HostID, i noun.Incarnation) Command {
			return ReportStarted{Host: h, Agent: 1, Inc: i, PID: 7}
		}, [5]noun.Code{S, S, noun.OK, noun.OK, S}, [5]noun.ProcState{N, O, R, R, L}},
		{"exit", func(h noun.HostID, i noun.Incarnation) Command {
			return ReportExit{Host: h, Agent: 1, Inc: i}
		}, [5]noun.Code{noun.OK, noun.OK, noun.OK, noun.OK, noun.OK}, [5]noun.ProcState{N, O, N, N, L}},
		{"exit of the future", func(h noun.HostID, i noun.Incarnation) Command {
			return ReportExit{Host: h, Agent: 1, Inc: i + 1}
		}, [5]noun.Code{noun.Invalid, noun.Invalid, noun.Invalid, noun.Invalid, noun.Invalid},
			[5]noun.ProcState{N, O, A, R, L}},
		{"stop", func(_ noun.HostID, i noun.Incarnation) Command {
			return OrderStop{Agent: 1, Inc: i,
				Reason: "x"}
		}, [5]noun.Code{S, S, noun.OK, noun.OK, S}, [5]noun.ProcState{N, O, A, R, L}},
		{"cancel order", func(_ noun.HostID, i noun.Incarnation) Command {
			return CancelOrder{Agent: 1, Inc: i,
				Reason: "x"}
		}, [5]noun.Code{noun.Conflict, noun.OK, noun.Conflict, noun.Conflict, noun.Conflict},
			[5]noun.ProcState{N, N, A, R, L}},
	}
	for _, r := range rows {
		for st := noun.ProcNone; st <= noun.ProcLost; st++ {
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
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 3 }))
	d.start("demo/b", h)
	if out := d.must(Join{Speaker: Speaker{Agent: "demo/b.*"}}); out.Agent != 2 {
		t.Fatalf("joined agent %d, want the first free one", out.Agent)
	}
	d.want(noun.Conflict, Join{Speaker: Speaker{Agent: "demo/b"}})   // its fence holds
	d.want(noun.Conflict, Join{Speaker: Speaker{Agent: "demo/b.2"}}) // taken by hand
	d.must(OrderStart{Agent: 3, Inc: 1, Host: h})
	d.want(noun.Conflict, Join{Speaker: Speaker{Agent: "demo/b.3"}}) // an order is open
	d.want(noun.Conflict, Join{Speaker: Speaker{Agent: "demo/b.*"}})
	if a := d.agent("demo/b.3"); a.Proc != noun.ProcOrdered || a.Inc != 1 {
		t.Fatalf("a refused join changed it: %+v", a)
	}
	d.want(noun.NotFound, Join{Speaker: Speaker{Agent: "demo/b.4"}})
	d.want(noun.NotFound, Join{Speaker: Speaker{Agent: "demo/x.*"}})
	d.must(SetAgent{Agent: "demo/b.2", Stop: true, By: "ann"})
	if d.agent("demo/b.2").Part != noun.PartDisconnected {
		t.Fatal("a stopped agent kept its participant")
	}
	d.want(noun.Stopped, Join{Speaker: Speaker{Agent: "demo/b.2"}})
	d.want(noun.Stopped, Join{Speaker: Speaker{Agent: "demo/b.2", Inc: 1}})
}

func TestL6TokensAreChecked(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: 1, TokenHash: []byte("hash")})
	sp := Speaker{Agent: "demo/b", Inc: 1}
	d.want(noun.Denied, Join{Speaker: sp})
	d.want(noun.Denied, Leave{Speaker: sp})
	sp.TokenHash = []byte("other")
	d.want(noun.Denied, Join{Speaker: sp})
	sp.TokenHash = []byte("hash")
	d.must(Join{Speaker: sp})
	d.want(noun.Conflict, Join{Speaker: Speaker{Agent: "demo/b"}})
	d.want(noun.Invalid, Claim{Speaker: Speaker{Agent: "demo/b", Inc: 2, TokenHash: sp.TokenHash}})
	d.want(noun.NotFound, Claim{Speaker: Speaker{Agent: "demo/nobody", Inc: 2}})
}

// L6: nothing said by a superseded incarnation changes anything.
func TestL6SupersededLifeIsSilent(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"), noun.RoleSpec{Name: "v"})
	old := d.start("demo/b", h)
	d.must(ReportExit{Host: h, Agent: 1, Inc: old.Inc})
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	w := Work{Speaker: old, Task: id, Attempt: 1}
	before := d.s.Agent(1).Rev
	for _, c := range []Command{Join{Speaker: old}, Leave{Speaker: old}, Claim{Speaker: old}, StartTask{Work: w},
		ProgressTask{Work: w, Note: "n"},
		CompleteTask{Work: w, Result: "r"}, FailTask{Work: w}, Handoff{Work: w, ToRole: "v"},
		SetResume{Speaker: old, Resume: "x"},
		AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: old.Inc},
		ReportStarted{Host: h, Agent: 1, Inc: old.Inc, PID: 9}, OrderStop{Agent: 1, Inc: old.Inc, Reason: "x"}} {
		d.want(noun.Superseded, c)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: old.Inc, Code: 3}) // known already
	d.want(noun.Conflict, CancelOrder{Agent: 1, Inc: old.Inc, Reason: "x"})
	a := d.s.Agent(1)
	if a.Rev != before || a.Part != noun.PartActive || a.Task != id || d.s.Task(id).State != noun.TaskAcknowledged {
		t.Fatalf("%+v", a)
	}
	e := d.entry()
	e.Beats = []HostBeats{{Host: h, Boot: "boot1", Packed: PackBeats(nil, []noun.AgentID{1},
		[]noun.Incarnation{old.Inc}, []uint8{BeatFence | BeatVouch})}}
	if ans := d.apply(e).Beats[0]; len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
		t.Fatalf("%+v", ans)
	}
}

func TestL3StartLimitReplacesAProcessThatNeverJoins(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.StartLimit = 30 * time.Second }))
	sp := d.start("demo/b", h)
	for range 30 {
		if d.agent("demo/b").Order != noun.NoOrder {
			t.Fatalf("stopped after %s", time.Duration(d.clock))
		}
		d.pass(time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Order != noun.StopOrder {
		t.Fatal("no stop order at the start limit")
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 0})
	// L11: or it would go on for ever
	if a := d.agent("demo/b"); a.LastExit.Kind != noun.ExitTimedOut || a.Failures != 1 {
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
	d.must(Join{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.must(StartTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}})
	for range 8 {
		d.pass(30 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Part != noun.PartActive {
		t.Fatal("a vouched-for holder lost its lease")
	}
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: ""})
	for range 4 {
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Part != noun.PartDisconnected {
		t.Fatal("still vouched for without a task")
	}
	for range 8 {
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/b").Order != noun.StopOrder {
		t.Fatal("not replaced")
	}
}

// The end of one lease does not take the other along.
func TestL7FenceOutlivesTheLease(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Proof = noun.ProofAgent }))
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	d.pass(30 * time.Second)
	d.beat(h, BeatFence, 1)
	d.pass(31 * time.Second)
	ans := d.beat(h, BeatLease|BeatFence, 1)
	if len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictRejoin {
		t.Fatalf("%+v", ans)
	}
	if l := d.s.Lease(1); l.Fence != d.clock+noun.Time(time.Minute) {
		t.Fatalf("the fence was not renewed beside the ended lease: %+v", l)
	}
}

func TestOnDemandStartsWhileTasksWait(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Start, r.Replicas = noun.StartOnDemand, 3 }))
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
	d.must(Join{Speaker: sp})
	d.must(Claim{Speaker: sp})
	if wanting() != 0 {
		t.Fatalf("%d starts are due without a waiting task", wanting())
	}
	d.must(CreateTask{Room: "demo", Role: "b"})
	if wanting() != 2 {
		t.Fatalf("%d starts are due with one waiting and one busy", wanting())
	}
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: ""})
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
	d.want(noun.NotFound, RestartAgent{Agent: "demo/x"})
	d.must(SetAgent{Agent: "demo/b", Stop: true})
	d.want(noun.Stopped, RestartAgent{Agent: "demo/b"})
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
	d.must(SetAgent{Agent: "demo/b"})  // a human asks for a start
	d.s.AgentTable.Mut(1).Failures = 3 // as before
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: ""})
	for range 41 {
		d.must(Join{Speaker: sp})
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	if a := d.agent("demo/b"); a.Failures != 1 || a.NotBefore != 0 {
		t.Fatalf("%d failures in a row after a healthy life", a.Failures)
	}
}

// L3: a life that has left its room is nobody's for a task, for as long as it works outside. Another one is
// started for what waits, no more of them than the role has, and when the life is back nothing is ended.
func TestL3LivesOutsideTheirRoomTakeNoTask(t *testing.T) {
	for _, level := range []uint32{core.Baseline, core.LevelRetry} {
		d := newDrive(t)
		if level > core.Baseline {
			d.must(RaiseLevel{Level: level})
		}
		h := d.host("h1", "worker")
		d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Start, r.Replicas = noun.StartOnDemand, 2 }))
		wanting := func(want ...string) {
			t.Helper()
			var got []string
			for id := range d.s.Wanting() {
				got = append(got, d.s.Agent(id).Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("level %d: %q are to be started, want %q", level, got, want)
			}
		}
		d.must(CreateTask{Room: "demo", Role: "b"})
		sp := d.start("demo/b", h)
		wanting() // it runs and has yet to join
		d.must(Join{Speaker: sp})
		d.pass(time.Second)
		d.must(Leave{Speaker: sp, Reason: "interrupted"})
		if level == core.Baseline {
			wanting()
			d.must(RaiseLevel{Level: core.LevelRetry})
		}
		wanting("demo/b.2")
		d.s = reload(t, d.s)
		wanting("demo/b.2")
		d.must(CreateTask{Room: "demo", Role: "b"})
		d.start("demo/b.2", h)
		wanting()
		d.must(Join{Speaker: sp})
		d.must(Claim{Speaker: sp})
		wanting()
		for _, name := range []string{"demo/b", "demo/b.2"} {
			if a := d.agent(name); a.Proc != noun.ProcRunning || a.Order != noun.NoOrder {
				t.Errorf("level %d: %s is %s with the order %s", level, name, a.Proc, a.Order)
			}
		}
	}
}

// L3: a life that its host brings back is not outside its room as one that a human has given something to do: it joins
// at once, and nobody else is started for the tasks that it has lost. Once it has joined and leaves, it is.
func TestL3AdoptedLivesAreExpectedInTheirRoom(t *testing.T) {
	d := newRetryDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) {
		r.Start, r.Replicas, r.Policy, r.TTL = noun.StartOnDemand, 3, noun.PolicyFast, time.Minute
		r.Proof = noun.ProofAgent // one that is vouched for has its task again: see TestL10LifeThatIsBackHasItsTaskAgain
	}))
	wanting := func(want int) {
		t.Helper()
		for range 2 {
			n := 0
			for range d.s.Wanting() {
				n++
			}
			if n != want {
				t.Errorf("%d are to be started, want %d", n, want)
			}
			d.s = reload(t, d.s) // L12
		}
	}
	var lives []Speaker
	var ids []noun.AgentID
	for _, name := range []string{"demo/b", "demo/b.2"} {
		d.must(CreateTask{Room: "demo", Role: "b"})
		sp := d.start(name, h)
		if name == "demo/b" { // the other one has never joined
			d.must(Join{Speaker: sp})
			d.must(Claim{Speaker: sp})
		}
		lives, ids = append(lives, sp), append(ids, d.agent(name).ID)
	}
	wanting(0)
	d.jump(30 * time.Second)
	d.beat(h, BeatFence|BeatLease, ids...)
	d.jump(10 * time.Minute)
	for _, id := range ids {
		if a := d.s.Agent(id); !a.Proc.GivenUp() {
			t.Fatalf("%s is %s", a.Name, a.Proc)
		}
	}
	d.beat(h, BeatFence|BeatVouch, ids...)
	for _, id := range ids {
		if a := d.s.Agent(id); a.Proc != noun.ProcRunning || a.Part != noun.PartDisconnected {
			t.Fatalf("%s is %s and %s", a.Name, a.Proc, a.Part)
		}
	}
	d.pass(20 * time.Second)
	d.beat(h, BeatFence|BeatVouch, ids...)
	wanting(0)
	for _, sp := range lives {
		d.must(Join{Speaker: sp})
	}
	wanting(0)
	d.pass(time.Second)
	d.must(Leave{Speaker: lives[0], Reason: "interrupted"})
	wanting(1)
}
