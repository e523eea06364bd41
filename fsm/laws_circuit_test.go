package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// outage is a role with tasks whose attempts fail while what they depend on is away.
type outage struct {
	*drive
	tasks []noun.TaskID
	me    []Speaker
	role  noun.RoleID
}

func newOutage(t *testing.T, agents, tasks int, mods ...func(*noun.RoleSpec)) *outage {
	x := &outage{drive: newRetryDrive(t)}
	spec := noun.RoleSpec{Name: "w", Replicas: uint32(agents), TTL: time.Hour}
	for _, m := range mods {
		m(&spec)
	}
	x.room("demo", spec)
	x.role = x.s.RoleByName("demo", "w").ID
	for i := range agents {
		if spec.Runner != "" {
			break
		}
		x.me = append(x.me, x.hand(noun.AgentName("demo", "w", uint32(i+1))))
	}
	for range tasks {
		x.tasks = append(x.tasks, x.must(CreateTask{Room: "demo", Role: "w"}).Task)
	}
	return x
}

func (x *outage) half() *noun.HalfOpen { return x.s.Role(x.role).Half }

// attempt has an agent claim what is offered and end it at once; 0: nothing is offered.
func (x *outage) attempt(agent int, fails bool) noun.TaskID {
	x.t.Helper()
	sp := x.me[agent]
	x.must(Join{Speaker: sp})
	out := x.do(Claim{Speaker: sp})
	if out.Code == noun.NoTask {
		return 0
	}
	w := Work{Speaker: sp, Task: out.Task, Attempt: out.Attempt}
	x.clock += noun.Time(100 * time.Millisecond)
	if fails {
		x.must(FailTask{Work: w, Reason: "the model answers 503", Retryable: true})
	} else {
		x.must(CompleteTask{Work: w, Result: "done"})
	}
	return out.Task
}

// trip fails tasks until the role half-opens.
func (x *outage) trip() {
	x.t.Helper()
	for i := 0; x.half() == nil; i++ {
		if x.attempt(i%len(x.me), true) == 0 || i == 20 {
			x.t.Fatalf("it has not half-opened after %d failures: %+v", i, x.s.Role(x.role).Endings)
		}
	}
}

// probe waits for the next probe and ends it; it tells which task it was and how long that took.
func (x *outage) probe(fails bool) (id noun.TaskID, waited time.Duration) {
	x.t.Helper()
	for begin := x.clock; ; {
		if id = x.attempt(0, fails); id != 0 {
			return id, x.clock.Sub(begin)
		}
		at, ok := x.s.NextTimer()
		if !ok || x.clock.Sub(begin) > time.Hour {
			x.t.Fatalf("no probe comes: %+v", x.half())
		}
		x.clock = max(x.clock+1, at)
		x.apply(x.entry())
	}
}

func (x *outage) escalated() (e *noun.Escalation) {
	for n := range x.s.Escalations(0) {
		if n.Kind == noun.EscRoleFailing {
			e = n
		}
	}
	return e
}

// N30: when most tasks of a role fail it half-opens: single tasks are tried, each time another, at
// growing distances, and nothing is charged; one that succeeds allows 2, then 4, then 8, then it
// opens by itself. Status, explanation and an escalation say so meanwhile.
func TestN30RoleHalfOpens(t *testing.T) {
	x := newOutage(t, 4, 20)
	x.trip()
	h := x.half()
	if h.Failed != 5 || h.Ended != 5 || h.Allowed != 1 || x.s.Pending(x.role) != 0 ||
		x.s.Counts().Tasks[noun.TaskQueued] != 20 {
		t.Fatalf("%+v, %d are offered", h, x.s.Pending(x.role))
	}
	e := x.escalated()
	if e == nil || e.State != noun.EscalationOpen || e.Subject != "demo/w" || !x.s.Lasts(e) ||
		x.events("role.half_open") != 1 {
		t.Fatalf("no human is called: %+v", e)
	}
	why := x.s.WhyWaits(x.role)
	if why.Code != "half_open" ||
		!strings.Contains(why.Text, "5 of 5 attempts failed, the last one: its holder gave it back") || why.Left == 0 {
		t.Errorf("%+v", why)
	}
	if q := x.s.Quiet(x.s.Room("demo")); q.State != RoomExempt || !strings.Contains(q.Why, "half-open") {
		t.Errorf("%+v", q)
	}
	charged := map[noun.TaskID]uint32{}
	for _, id := range x.tasks {
		charged[id] = x.s.Task(id).Charged
	}
	last := noun.TaskID(0)
	for n, most := range []time.Duration{1, 2, 5, 15, 30, 60, 60, 60} {
		id, waited := x.probe(true)
		if most *= time.Second; waited < most/2 || waited > most+time.Second || id == last {
			t.Errorf("probe %d, of task %d, came after %s, the one before was of task %d", n, id, waited, last)
		}
		if x.s.Task(id).Charged != charged[id] || x.s.Task(id).State != noun.TaskQueued {
			t.Errorf("the probe cost task %d: %+v", id, x.s.Task(id))
		}
		last = id
		if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Check() != nil ||
			got.WhyWaits(x.role) != x.s.WhyWaits(x.role) {
			t.Fatalf("it is loaded as %+v: %v", got.Role(x.role), got.Check())
		}
	}
	for _, allowed := range []uint32{2, 4, 8} {
		x.probe(false)
		if h := x.half(); h == nil || h.Allowed != allowed || x.s.Pending(x.role) != int(min(allowed, 20)) {
			t.Fatalf("after a success: %+v, %d are offered", h, x.s.Pending(x.role))
		}
	}
	x.probe(false)
	if x.half() != nil || x.s.Pending(x.role) != 4 && x.s.Pending(x.role) != 7 || x.events("role.open") != 1 {
		t.Errorf("it does not open: %+v, %d are offered", x.half(), x.s.Pending(x.role))
	}
	if e := x.escalated(); e.State != noun.EscalationClosed || e.CloseBy != noun.LaddersBy {
		t.Errorf("the escalation is %s by %q", e.State, e.CloseBy)
	}
}

// One task that always fails cannot hold a role, nor can several.
func TestN30PoisonCannotHoldARole(t *testing.T) {
	x := newOutage(t, 2, 12)
	x.trip()
	poison := map[noun.TaskID]bool{1: true, 2: true}
	for n := 0; x.half() != nil; n++ {
		if n == 60 {
			t.Fatalf("it is half-open still: %+v", x.half())
		}
		sp := x.me[0]
		x.must(Join{Speaker: sp})
		out := x.do(Claim{Speaker: sp})
		if out.Code == noun.NoTask {
			at, _ := x.s.NextTimer()
			x.clock = max(x.clock+1, at)
			x.apply(x.entry())
			continue
		}
		w := Work{Speaker: sp, Task: out.Task, Attempt: out.Attempt}
		if poison[out.Task] {
			x.must(FailTask{Work: w, Retryable: true})
		} else {
			x.must(CompleteTask{Work: w})
		}
	}
}

// What makes no role half-open: few failures, failures of few tasks, more successes, failures that
// are far apart, final ones, lives that end for other reasons than a fault, or that it is switched off.
func TestN30RoleStaysOpen(t *testing.T) {
	for name, run := range map[string]func(*outage){
		"four failures": func(x *outage) {
			for i := range 4 {
				x.attempt(i, true)
			}
		},
		"of two tasks": func(x *outage) {
			for _, id := range x.tasks[2:] {
				x.must(CancelTask{Task: id})
			}
			for range 6 {
				for _, id := range x.tasks[:2] {
					x.offered(id)
					x.fail(x.me[0], id, 0)
				}
			}
		},
		"among more successes": func(x *outage) {
			for i := range 12 {
				x.attempt(i%4, i%2 == 1)
			}
		},
		"far apart, and some succeed": func(x *outage) { // with no success among them, it half-opens at any pace
			for i := range 12 {
				x.attempt(i%4, i%5 != 4)
				x.jump(20 * time.Second)
			}
		},
		"nine final ones": func(x *outage) {
			for range 9 {
				x.final(0)
			}
		},
		"final ones, and some succeed": func(x *outage) {
			for range 3 {
				for range 4 {
					x.final(0)
				}
				x.attempt(0, false)
			}
		},
		"who leaves": func(x *outage) {
			for range 8 {
				x.must(Join{Speaker: x.me[0]})
				x.must(Claim{Speaker: x.me[0]})
				x.must(Leave{Speaker: x.me[0]})
			}
		},
		"switched off": func(x *outage) {
			x.must(PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: "0"}}})
			for i := range 12 {
				x.attempt(i%4, true)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newOutage(t, 4, 20, func(r *noun.RoleSpec) { r.AttemptLimit = 1000 })
			if run(x); x.half() != nil {
				t.Errorf("%+v", x.half())
			}
		})
	}
}

// final has an agent claim what is offered and fail it for good; 0: nothing is offered.
func (x *outage) final(agent int) noun.TaskID {
	x.t.Helper()
	x.must(Join{Speaker: x.me[agent]})
	out := x.do(Claim{Speaker: x.me[agent]})
	if out.Code != noun.NoTask {
		x.must(FailTask{Work: Work{Speaker: x.me[agent], Task: out.Task, Attempt: out.Attempt}, Reason: "401"})
	}
	return out.Task
}

// Failures in a row half-open a role at any pace, of one agent with two tasks; the escalation names the agents.
func TestN30FailuresInARowHalfOpen(t *testing.T) {
	x := newOutage(t, 1, 2, func(r *noun.RoleSpec) { r.AttemptLimit = 1000 })
	for i := range 5 {
		if x.half() != nil {
			t.Fatalf("after %d failures: %+v", i, x.half())
		}
		x.attempt(0, true)
		x.jump(10 * time.Minute)
	}
	if h := x.half(); h == nil || h.Failed != 5 || h.Ended != 5 || h.Final {
		t.Fatalf("%+v", h)
	}
	e := x.escalated()
	if e == nil || !slices.Contains(e.Facts, noun.KV{Key: "agents", Value: "demo/w"}) {
		t.Errorf("%+v", e)
	}
	if texts := x.eventTexts("role.half_open"); len(texts) != 1 ||
		!strings.Contains(texts[0], "5 of the last 5 attempts failed, all of them of demo/w, the last one") {
		t.Errorf("%q", texts)
	}
}

// A role that ends its tasks with nothing but final failures has lost what they depend on: it does not go through
// all that wait. Once one succeeds, final failures are verdicts again.
func TestN30FinalFailuresHalfOpen(t *testing.T) {
	x := newOutage(t, 4, 40)
	x.attempt(0, false)
	n := 0
	for ; x.half() == nil; n++ {
		if x.final(n%4) == 0 || n == 30 {
			t.Fatalf("after %d final failures: %+v", n, x.s.Role(x.role).Endings)
		}
	}
	if h := x.half(); n != noun.EndingsKept || !h.Final || h.Failed != uint32(n) {
		t.Fatalf("after %d: %+v", n, h)
	}
	if e := x.escalated(); !slices.Contains(e.Facts,
		noun.KV{Key: "agents", Value: "demo/w.4, demo/w.3, demo/w.2, demo/w"}) {
		t.Errorf("%+v", e.Facts)
	}
	begin := x.clock
	for tried := 0; tried < 6; {
		if x.final(0) != 0 {
			tried++
			continue
		}
		at, _ := x.s.NextTimer()
		x.clock = max(x.clock+1, at)
		x.apply(x.entry())
	}
	if span := x.clock.Sub(begin); x.half() == nil || x.half().Missed != 6 || span < 25*time.Second {
		t.Errorf("6 probes in %s: %+v", span, x.half())
	}
	x.s = reload(t, x.s) // L12
	x.probe(false)
	if h := x.half(); h == nil || h.Final || h.Allowed != 2 {
		t.Fatalf("%+v", h)
	}
	x.final(0)
	if h := x.half(); h == nil || h.Allowed != 2 || h.Missed != 0 {
		t.Errorf("%+v", h)
	}
}

// L11: what was away when a role half-opened may end tasks for good later, say a gateway answers 401: five in a row
// are failed probes, too, and the queue is not gone through without a pause. One that succeeds begins the count anew.
func TestN30FinalFailuresOfAHalfOpenRole(t *testing.T) {
	x := newOutage(t, 4, 60)
	x.trip()
	// until lets probes end for good for so long, and tells how many did.
	until := func(span time.Duration) (n int) {
		t.Helper()
		for end := x.clock.Add(span); x.clock < end; {
			if x.final(0) != 0 {
				n++
				continue
			}
			at, ok := x.s.NextTimer()
			if !ok {
				t.Fatalf("no probe comes: %+v", x.half())
			}
			x.clock = min(max(x.clock+1, at), end)
			x.apply(x.entry())
		}
		return n
	}
	if n := until(time.Minute); n < 7 || n > 13 || !x.half().Final || x.half().Missed == 0 {
		t.Fatalf("%d tasks were failed in a minute: %+v", n, x.half())
	}
	x.s = reload(t, x.s) // L12
	x.probe(false)
	if h := x.half(); h == nil || h.Final || h.Finals != 0 || h.Allowed != 2 {
		t.Fatalf("after a success: %+v", h)
	}
	for range 4 {
		x.final(0)
	}
	x.probe(false)
	for range 4 {
		x.final(0)
	}
	if h := x.half(); h == nil || h.Final || h.Finals != 4 || h.Missed != 0 || h.Allowed != 4 {
		t.Fatalf("after four, a success and four: %+v", h)
	}
	x.s = reload(t, x.s)
	x.final(0)
	if h := x.half(); h == nil || !h.Final || h.Missed != 1 || h.Allowed != 2 || x.s.Pending(x.role) != 3 {
		t.Fatalf("after five in a row: %+v, %d are offered", h, x.s.Pending(x.role))
	}
}

// A lone agent that dies of what is wrong with it, say its login has ended, does not take task after task down: its
// role half-opens, although its breaker parks it first.
func TestN30LoneAgentThatDies(t *testing.T) {
	x := newOutage(t, 1, 12, func(r *noun.RoleSpec) { r.Runner = "worker"; r.TTL = time.Minute })
	h := x.host("h1", "worker")
	for x.clock < noun.Time(3*time.Hour) {
		x.clock += noun.Time(500 * time.Millisecond)
		x.beat(h, BeatFence|BeatVouch, x.running()...)
		for a := range x.s.Agents("") {
			x.live(h, a, true, noun.Time(1000*time.Hour))
		}
	}
	n, a := x.s.Counts().Tasks, x.agent("demo/w")
	if x.half() == nil || n[noun.TaskQuarantined] > 1 || n[noun.TaskFailed] > 0 || a.Failures < 6 {
		t.Errorf("%v, half-open %+v, %d failures", n, x.half(), a.Failures)
	}
}

// L11: the death of the trial of a parked agent costs its task neither an attempt nor a death, but it counts like a
// life that is lost, since one task may be the cause of all of them.
func TestN30DeathOfATrial(t *testing.T) {
	for _, limit := range []uint32{3, 9} {
		x := newOutage(t, 1, 1, func(r *noun.RoleSpec) {
			r.Runner, r.TTL, r.KillLimit, r.AttemptLimit = "worker", time.Minute, limit, 30
		})
		h := x.host("h1", "worker")
		id, trials := x.tasks[0], uint32(0)
		for x.s.Task(id).State != noun.TaskQuarantined {
			a := x.agent("demo/w")
			if x.clock > noun.Time(48*time.Hour) {
				t.Fatalf("limit %d: after %d trials %+v", limit, trials, x.s.Task(id))
			}
			x.clock += noun.Time(time.Second)
			x.beat(h, BeatFence|BeatVouch, x.running()...)
			was := *a
			x.live(h, x.agent("demo/w"), true, noun.Time(1000*time.Hour))
			if was.Parked && was.Task != 0 && x.agent("demo/w").Task == 0 {
				trials++
			}
			k := x.s.Task(id)
			if want := min(limit, 5); k.Kills > want || k.Charged > want || k.Retried().Lost != trials {
				t.Fatalf("limit %d, %d trials: %+v, %+v", limit, trials, k, k.Retried())
			}
		}
		if want := uint32(18); limit == 9 && trials != want || limit == 3 && trials != 0 {
			t.Errorf("limit %d: %d trials", limit, trials)
		}
	}
}

// A probe that runs for longer than failures take has succeeded, although it has not ended; one that
// was under way when the role half-opened says nothing.
func TestN30LongProbeSucceeds(t *testing.T) {
	x := newOutage(t, 4, 20, func(r *noun.RoleSpec) { r.AckLimit = time.Hour })
	x.must(Claim{Speaker: x.me[3]}) // runs on
	for i := 0; x.half() == nil; i++ {
		x.attempt(i%3, true)
	}
	x.must(Join{Speaker: x.me[0]})
	for x.do(Claim{Speaker: x.me[0]}).Code == noun.NoTask {
		x.pass(time.Second)
	}
	x.pass(59 * time.Second)
	if h := x.half(); h == nil || h.Allowed != 1 || h.Outlives != time.Minute {
		t.Fatalf("%+v", h)
	}
	x.pass(2 * time.Second)
	if h := x.half(); h == nil || h.Allowed != 2 {
		t.Fatalf("%+v", h)
	}
}

// L9: a human's word beats a half-open role.
func TestN30HumanBeatsAHalfOpenRole(t *testing.T) {
	x := newOutage(t, 4, 20)
	x.trip()
	for _, id := range []noun.TaskID{1, 15} { // put off, and waiting its turn
		x.must(RetryTask{Task: id, By: "ann"})
		if x.s.Task(id).State != noun.TaskPending {
			t.Fatalf("%+v", x.s.Task(id))
		}
		x.must(Claim{Speaker: x.me[id%4], Task: id})
	}
	if h := x.half(); h.Probing() != 0 || len(h.Probes) != 2 {
		t.Errorf("%+v", h)
	}
	x.probe(true)
}

// A half-open role that is no longer declared is none any more, though it stays for its finished
// tasks: it was announced every few hours for ever, and nothing that a human could do ended that.
// Declared again it begins anew.
func TestN30HalfOpenRoleThatGoes(t *testing.T) {
	x := newOutage(t, 4, 20)
	x.trip()
	for _, id := range x.tasks {
		x.must(CancelTask{Task: id, By: "ann"})
	}
	x.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "other"}}})
	if r := x.s.Role(x.role); r == nil || !r.Retired || r.Half != nil {
		t.Fatalf("the role is %+v", r)
	}
	if list, more := x.s.Unserved("", 10); len(list)+more > 0 {
		t.Errorf("%d roles are unserved: %+v", len(list)+more, list)
	}
	if e := x.escalated(); e == nil || e.State != noun.EscalationClosed {
		t.Errorf("the escalation is %+v", e)
	}
	if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Check() != nil {
		t.Errorf("L12: a loaded state differs: %v", got.Check())
	}
	x.jump(time.Hour) // no timer of it is left
	x.room("demo", noun.RoleSpec{Name: "other"}, noun.RoleSpec{Name: "w", Replicas: 4, TTL: time.Hour})
	x.must(CreateTask{Room: "demo", Role: "w"})
	x.must(CreateTask{Room: "demo", Role: "w"})
	if n := x.s.RoleIdx.Get(x.role).Pending.Len(); x.half() != nil || n != 2 {
		t.Errorf("declared again it offers %d of 2 tasks: %+v", n, x.half())
	}
}

// The story of an outage: 20 tasks, 4 agents, what they depend on is away for 15 s, and every attempt
// fails within half a second, or ends the agent. Afterwards all of them are done, none is given up.
func TestN30OutageOf15Seconds(t *testing.T) {
	const away = noun.Time(15 * time.Second)
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("agents die: ", crash), func(t *testing.T) {
			x := newOutage(t, 4, 20, func(r *noun.RoleSpec) { r.Runner = "worker"; r.TTL = time.Minute })
			h := x.host("h1", "worker")
			halfOpen := false
			for x.s.Counts().Tasks[noun.TaskCompleted] < 20 {
				if x.clock > noun.Time(5*time.Minute) {
					t.Fatalf("after 5 min: %v", x.s.Counts().Tasks)
				}
				x.clock += noun.Time(100 * time.Millisecond)
				x.beat(h, BeatFence|BeatVouch, x.running()...)
				for a := range x.s.Agents("") {
					x.live(h, a, crash, away)
				}
				halfOpen = halfOpen || x.s.WhyHalfOpen(x.role).Code == "half_open"
			}
			n := x.s.Counts().Tasks
			if n[noun.TaskFailed]+n[noun.TaskQuarantined]+n[noun.TaskCanceled] != 0 || !halfOpen || x.half() != nil {
				t.Errorf("%v, half-open: %v, then %+v", n, halfOpen, x.half())
			}
			t.Logf("done after %s, %d recovered", time.Duration(x.clock), x.s.Figures().Recovered)
		})
	}
}

func (x *outage) running() (list []noun.AgentID) {
	for a := range x.s.Agents("") {
		if a.Proc.Fenced() {
			list = append(list, a.ID)
		}
	}
	return list
}

// live lets an agent do what it would do now: be started, join, claim, and end its task.
func (x *outage) live(h noun.HostID, a *noun.Agent, crash bool, away noun.Time) {
	sp := Speaker{Agent: a.Name, Inc: a.Inc}
	switch {
	case x.s.Wants(a):
		x.start(a.Name, h)
	case a.Proc == noun.ProcRunning && a.Part != noun.PartWaiting && a.Task == 0:
		x.must(Join{Speaker: sp})
	case a.Proc == noun.ProcRunning && a.Task == 0:
		x.do(Claim{Speaker: sp})
	case a.Task == 0 || x.clock.Sub(a.TaskSince) < 400*time.Millisecond:
	case x.clock >= away:
		x.must(CompleteTask{Work: Work{Speaker: sp, Task: a.Task, Attempt: x.s.Task(a.Task).Attempt}})
	case crash:
		x.must(ReportExit{Host: h, Agent: a.ID, Inc: a.Inc, Code: 1})
	default:
		x.must(FailTask{Work: Work{Speaker: sp, Task: a.Task, Attempt: x.s.Task(a.Task).Attempt}, Retryable: true,
			Reason: "503"})
	}
}

// L3, L11, L12: random logs with tasks that are put off and roles that half-open break no law, and
// a state that is loaded again goes on like the one that was dumped.
func TestN30RandomLogsKeepTheLaws(t *testing.T) {
	opened, closed, finals := 0, 0, 0
	for _, seed := range seeds(t, 4) {
		c := newChaos(seed, false)
		c.retries, c.circuit, c.verdicts, c.demand = true, true, seed%2 == 0, seed%3 == 0
		s, again, half, final := New(), New(), map[noun.RoleID]bool{}, map[noun.RoleID]bool{}
		step := func(e *Entry) {
			s.Apply(e)
			again.Apply(e)
			if err := s.Check(); err != nil {
				t.Fatalf("seed %d, entry %d: %v", seed, e.Index, err)
			}
			for id, r := range s.RoleTable.From(0) {
				switch is := r.Half != nil; {
				case is && !half[id]:
					opened++
				case !is && half[id]:
					closed++
				}
				half[id] = r.Half != nil
				if is := r.Half != nil && r.Half.Final; is != final[id] {
					if final[id] = is; is {
						finals++
					}
				}
			}
		}
		for _, e := range c.opening() {
			step(e)
		}
		for n := range 4000 {
			step(c.next(s))
			if n%500 == 499 {
				if again = reload(t, again); again.Hash() != s.Hash() || again.Check() != nil {
					t.Fatalf("seed %d, entry %d: loaded again it goes on differently: %v", seed, n, again.Check())
				}
			}
		}
	}
	t.Logf("%d half-opened, %d by final failures, in the end at least, %d opened again", opened, finals, closed)
	if opened == 0 || closed == 0 || finals == 0 && *seedFlag == 0 {
		t.Error("the logs exercise nothing")
	}
}
