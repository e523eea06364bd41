package fsm

import (
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// I95: a task that needs several windows of a quota waits each time for as long as its tool names, when its lives
// have worked, by whatever sign, and when they have not: a human is called then (TestL11WhoWaitsInVainCallsAHuman).
func TestI95NamedLimitsAreNotDoubledForWhoWorks(t *testing.T) {
	for name, c := range map[string]struct {
		level  uint32
		work   func(*drive, noun.HostID, Speaker, noun.TaskID)
		double bool
	}{
		"runs for long": {core.LevelRetry, func(d *drive, h noun.HostID, _ Speaker, _ noun.TaskID) {
			for range 40 {
				d.clock = d.clock.Add(15 * time.Second)
				d.beat(h, BeatVouch|BeatFence, 1)
			}
		}, false},
		"reports progress": {core.LevelRetry, func(d *drive, h noun.HostID, sp Speaker, task noun.TaskID) {
			d.jump(time.Second)
			d.must(ProgressTask{Work: Work{Speaker: sp, Task: task, Attempt: d.s.Task(task).Attempt}, Note: "half"})
		}, false},
		"uses tokens": {core.LevelRetry, func(d *drive, h noun.HostID, sp Speaker, _ noun.TaskID) {
			e := d.entry()
			e.Beats = []HostBeats{{Host: h, Boot: "boot1", Usage: []Used{{Agent: 1, Inc: sp.Inc, Run: 1, Output: 5}}}}
			d.apply(e)
		}, false},
		"does nothing": {core.LevelRetry, func(*drive, noun.HostID, Speaker, noun.TaskID) {}, false},
		"before the level": {core.Baseline, func(d *drive, h noun.HostID, sp Speaker, task noun.TaskID) {
			d.jump(time.Second)
			d.must(ProgressTask{Work: Work{Speaker: sp, Task: task, Attempt: d.s.Task(task).Attempt}, Note: "half"})
		}, true},
	} {
		d := newDrive(t)
		if c.level > core.Baseline {
			d.must(RaiseLevel{Level: c.level})
		}
		h := d.host("h1", "worker")
		d.room("demo", managed("b"))
		task := d.must(CreateTask{Room: "demo", Role: "b"}).Task
		want := 4 * time.Hour
		for n := range 4 {
			sp := d.start("demo/b", h)
			d.must(Join{Speaker: sp})
			d.must(Claim{Speaker: sp})
			d.must(StartTask{Work: Work{Speaker: sp, Task: task, Attempt: d.s.Task(task).Attempt}})
			c.work(d, h, sp, task)
			d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1, Kind: noun.ExitUsageLimit, RetryAfter: 4 * time.Hour})
			if got := d.wait("demo/b", h); got < want || got > want+time.Minute {
				t.Errorf("%s: window %d: paused for %s, want %s", name, n, got, want)
			}
			if c.double {
				want = min(2*want, 24*time.Hour)
			}
		}
	}
}

// L11: a cancel is no fault of the life that works on the task: as nobody tells a program that was put in its place,
// it ends by itself with an error, or is ended at its start limit, whatever it does until then. Five of them in a row
// open no breaker. One that has taken note, and crashes later, is charged, and so was everyone before the level.
func TestL11ACanceledHolderIsNotCharged(t *testing.T) {
	end := func(x *hung, code int32) {
		x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: code})
	}
	for name, c := range map[string]struct {
		level   uint32
		after   func(*hung)
		charged bool
	}{
		"its word comes too late": {core.LevelRetry, func(x *hung) { end(x, 7) }, false},
		"it runs on": {core.LevelRetry, func(x *hung) {
			x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: time.Hour})
			for n := range uint64(10) {
				x.uses(n + 1)
				x.beating(20 * time.Second)
			}
			if !x.stopped() {
				t.Error("it runs on for a task that was canceled")
			}
			end(x, -1)
		}, false},
		"it ends well": {core.LevelRetry, func(x *hung) { end(x, 0) }, false},
		"it goes on":   {core.LevelRetry, func(x *hung) { x.must(Join{Speaker: x.me}); end(x, 7) }, true},
		"it takes another task": {core.LevelRetry, func(x *hung) {
			x.must(CreateTask{Room: "r", Role: "a", Priority: 1})
			task := x.must(Claim{Speaker: x.me}).Task
			end(x, 7)
			x.must(CancelTask{Task: task})
		}, true},
		"before the level": {core.Baseline, func(x *hung) { end(x, 7) }, true},
	} {
		x := &hung{drive: newDrive(t)}
		x.jump(time.Minute)
		if c.level > core.Baseline {
			x.must(RaiseLevel{Level: c.level})
		}
		x.h = x.host("h1", "w")
		x.room("r", noun.RoleSpec{Name: "a", Runner: "w", KillLimit: 100})
		for range 5 {
			x.wait(hungName, x.h)
			x.task = 0
			x.begin()
			x.must(CancelTask{Task: x.agent(hungName).Task, By: "ann"})
			x.s = reload(t, x.s)
			c.after(x)
		}
		a := x.agent(hungName)
		if parked := x.events("agent.parked") > 0; parked != c.charged || (a.Failures > 0) != c.charged ||
			(a.LastExit.Kind == noun.ExitOrdered) == c.charged {
			t.Errorf("%s: %d failures, parked: %v, %+v", name, a.Failures, parked, a.LastExit)
		}
	}
}

// L6: a life from which a limit has taken its task works on at what somebody else has by then, so it is ended at its
// start limit, whatever signs of work it gives. That is charged (L11), also where it ends by itself as it is told: it
// has let the limit pass. One that goes on with another task has heard of it.
func TestL6ALifeThatLosesItsTaskAtALimitEnds(t *testing.T) {
	for name, c := range map[string]struct {
		level   uint32
		started bool
		after   func(*hung)
		stopped bool
		kind    noun.ExitKind
	}{
		"never starts, and works on": {core.LevelRetry, false, nil, true, noun.ExitTimedOut},
		"no progress, and works on":  {core.LevelRetry, true, nil, true, noun.ExitTimedOut},
		"it declares that it is busy": {core.LevelRetry, true, func(x *hung) {
			x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: time.Hour})
		}, true, noun.ExitTimedOut},
		"ends as it is told": {core.LevelRetry, true, func(x *hung) {
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 7})
		}, false, noun.ExitTimedOut},
		"ends with nothing wrong": {core.LevelRetry, true, func(x *hung) {
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc})
		}, false, noun.ExitTimedOut},
		"ends as it is told, before the level": {core.Baseline, true, func(x *hung) {
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 7})
		}, false, noun.ExitCrash},
		"takes another task": {core.LevelRetry, true, func(x *hung) {
			x.must(Join{Speaker: x.me})
			x.must(Leave{Speaker: x.me})
		}, false, noun.ExitCrash},
	} {
		x := &hung{drive: newDrive(t)}
		x.jump(time.Minute)
		if c.level > core.Baseline {
			x.must(RaiseLevel{Level: c.level})
		}
		x.h = x.host("h1", "w")
		x.room("r", noun.RoleSpec{Name: "a", Runner: "w", KillLimit: 100, AckLimit: 2 * time.Minute,
			ProgressLimit: 2 * time.Minute, StartLimit: 2 * time.Minute})
		uses := uint64(0)
		works := func(span time.Duration) {
			for end := x.clock.Add(span); x.clock < end; {
				x.beating(20 * time.Second)
				if uses++; x.agent(hungName).Inc == x.me.Inc && x.agent(hungName).Proc == noun.ProcRunning {
					x.uses(uses)
				}
			}
		}
		if c.started {
			x.begin()
		} else {
			x.me = x.start(hungName, x.h)
			x.must(Join{Speaker: x.me})
			x.task = x.must(CreateTask{Room: "r", Role: "a"}).Task
			x.must(Claim{Speaker: x.me})
		}
		works(2*time.Minute + 20*time.Second)
		if got := x.s.Task(x.task).State; got.Held() {
			t.Fatalf("%s: after the limit the task is %s", name, got)
		}
		if c.after != nil {
			c.after(x)
		}
		x.s = reload(t, x.s)
		works(4 * time.Minute) // the rest of its lease, and the start limit
		if x.stopped() != c.stopped {
			t.Errorf("%s: a stop of it is ordered: %v", name, x.stopped())
		}
		if a := x.agent(hungName); a.Proc.Fenced() {
			x.must(ReportExit{Host: x.h, Agent: a.ID, Inc: x.me.Inc, Code: 7})
		}
		a, fault := x.agent(hungName), c.kind != noun.ExitOrdered
		if a.LastExit.Kind != c.kind || (a.Failures > 0) != fault {
			t.Errorf("%s: %d failures, %+v", name, a.Failures, a.LastExit)
		}
	}
}

// lives starts the agent, lets it live for so long and end with the code, so often in a row; it tells after how many
// lives the breaker has opened, 0 for never.
func (x *hung) lives(n int, each time.Duration, code int32) int {
	x.t.Helper()
	for i := range n {
		x.wait(hungName, x.h)
		x.me = x.start(hungName, x.h)
		x.must(Join{Speaker: x.me})
		for end := x.clock.Add(each); x.clock < end; {
			x.clock = x.clock.Add(20 * time.Second)
			x.beat(x.h, BeatLease|BeatFence, x.agent(hungName).ID)
		}
		x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: code})
		if x.agent(hungName).Parked {
			return i + 1
		}
	}
	return 0
}

// L11: who fails again and again is parked at any pace, crashing or ending without work while some waits, and a human
// is called; a healthy life in between begins anew. Who ends because nothing waits has not failed.
func TestL11SlowCrashLoopsOpenTheBreaker(t *testing.T) {
	for name, c := range map[string]struct {
		level  uint32
		start  noun.StartMode
		work   bool
		code   int32
		opened int
	}{
		"crashes":               {core.LevelRetry, noun.StartAlways, false, 1, 10},
		"ends beside work":      {core.LevelRetry, noun.StartAlways, true, 0, 10},
		"nothing waits":         {core.LevelRetry, noun.StartAlways, false, 0, 0},
		"on demand beside work": {core.LevelRetry, noun.StartOnDemand, true, 0, 10},
		"before the level":      {core.Baseline, noun.StartAlways, false, 1, 0},
	} {
		x := newOutside(t, c.level)
		x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Start: c.start}}})
		if c.work {
			x.must(CreateTask{Room: "r", Role: "a"})
		}
		x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Kind: noun.ExitOrdered})
		if got := x.lives(20, 3*time.Minute, c.code); got != c.opened {
			t.Errorf("%s: the breaker opened after %d lives, want %d", name, got, c.opened)
		}
		if calls := escalated(x.s, noun.EscBreaker, hungName); calls != (c.opened > 0) {
			t.Errorf("%s: a human was called: %v", name, calls)
		}
	}
}

// L11: an agent on demand that ends by itself because nothing waits has not failed: it is started at once for the
// next task.
func TestL11OnDemandEndsWithoutFault(t *testing.T) {
	x := newOutside(t, core.LevelRetry)
	x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Start: noun.StartOnDemand}}})
	for range 5 {
		x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc})
		if a := x.agent(hungName); a.Failures != 0 || a.NotBefore != 0 || a.LastExit.Kind != noun.ExitClean {
			t.Fatalf("%d failures, %+v", a.Failures, a.LastExit)
		}
		task := x.must(CreateTask{Room: "r", Role: "a"}).Task
		x.me = x.start(hungName, x.h)
		x.must(Join{Speaker: x.me})
		x.must(CancelTask{Task: task})
	}
}

// L11: an outage charges no task of an agent that proves itself (proof: agent), whichever of it and its host was heard
// last. While its host is heard, its silence is its own.
func TestL11SilentHostChargesNoTask(t *testing.T) {
	for name, c := range map[string]struct {
		level   uint32
		before  bool // its own beat comes before that of its host
		heard   bool // the host is heard all the time
		charged bool
	}{
		"the host is heard last":  {level: core.LevelRetry, before: true},
		"the agent is heard last": {level: core.LevelRetry},
		"the host is heard":       {level: core.LevelRetry, before: true, heard: true, charged: true},
		"before the level":        {level: core.Baseline, before: true, charged: true},
	} {
		d := newDrive(t)
		if c.level > core.Baseline {
			d.must(RaiseLevel{Level: c.level})
		}
		h := d.host("h1", "worker")
		const n = 10
		d.room("demo", managed("b", func(r *noun.RoleSpec) {
			r.Proof, r.TTL, r.Replicas = noun.ProofAgent, time.Minute, n
		}))
		role := d.s.RoleByName("demo", "b").ID
		var all []noun.AgentID
		var tasks []noun.TaskID
		for i := range uint32(n) {
			sp := d.start(noun.AgentName("demo", "b", i+1), h)
			all = append(all, d.agent(sp.Agent).ID)
			d.must(Join{Speaker: sp})
			d.must(CreateTask{Room: "demo", Role: "b"})
			tasks = append(tasks, d.must(Claim{Speaker: sp, Start: true}).Task)
		}
		own := func() {
			for _, id := range all {
				d.beat(0, BeatLease, id)
			}
		}
		if c.before {
			own()
			d.jump(10 * time.Second)
			d.beat(h, BeatFence, all...)
		} else {
			d.beat(h, BeatFence, all...)
			d.jump(10 * time.Second)
			own()
		}
		for range 6 {
			if c.heard {
				d.beat(h, BeatFence, all...)
			}
			d.pass(10 * time.Second)
		}
		for i, id := range tasks {
			task := d.s.Task(id)
			if charged := task.Charged > 0; task.State.Held() || charged && !c.charged || !charged && c.charged && i == 0 {
				t.Errorf("%s: task %d is %s, charged %d times", name, id, task.State, task.Charged)
			}
			if lost := task.Retried().Lost; lost != 1 && !c.charged {
				t.Errorf("%s: task %d counts %d lives that were lost", name, id, lost)
			}
		}
		if half := d.s.Role(role).Half != nil; half != (c.charged && c.level > core.Baseline) {
			t.Errorf("%s: the role is half-open: %v", name, half)
		}
	}
}
