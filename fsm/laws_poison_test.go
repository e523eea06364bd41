package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// poison drives lives of one agent, each of which hangs with the task, until the ladder has
// ended so many, or the task is over.
func (x *hung) poison(lives int) *noun.Task {
	x.t.Helper()
	for i := range lives {
		if i > 0 {
			x.begin()
			x.stall()
		}
		for x.agent(hungName).Order != noun.StopOrder {
			x.up(x.climb().Next)
		}
		x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Signal: "killed"})
		if x.s.Task(x.task).State.Terminal() {
			break
		}
		for x.agent(hungName).NotBefore > x.clock {
			x.jump(30 * time.Second)
			x.beat(x.h, 0)
		}
	}
	return x.s.Task(x.task)
}

// N29: lives that the ladder has to end count against their task like deaths.
func TestN29LivesThatTheLadderEndsCountAsDeaths(t *testing.T) {
	soon := func(d *drive, values ...noun.KV) {
		d.must(PutSettings{Values: append(values, noun.KV{Key: "ladder_cooldown", Value: "0s"})})
	}
	quarantined := func(x *drive, id noun.TaskID, deaths uint32, says string) {
		t.Helper()
		k := x.s.Task(id)
		if k.State != noun.TaskQuarantined || k.Kills != deaths || !strings.Contains(k.Result, says) {
			t.Errorf("%s with %d deaths: %s", k.State, k.Kills, k.Result)
		}
		for e := range x.s.Escalations(0) {
			if e.Kind == noun.EscTaskQuarantined && e.Task == id && e.State == noun.EscalationOpen {
				return
			}
		}
		t.Error("no human is called")
	}
	t.Run("after kill_limit it is quarantined", func(t *testing.T) {
		x := hungAgent(t)
		soon(x.drive)
		x.poison(5)
		quarantined(x.drive, x.task, 3, "3 incarnations died or had to be ended while they held it")
		x.must(UnquarantineTask{Task: x.task})
		if k := x.s.Task(x.task); k.Kills != 0 || k.Stuck {
			t.Errorf("forgiven, it has %+v", k)
		}
	})
	t.Run("with deaths of their own", func(t *testing.T) {
		x := hungAgent(t)
		soon(x.drive)
		if k := x.poison(1); k.State != noun.TaskPending || k.Kills != 1 || k.Charged != 1 {
			t.Fatalf("after one: %s, %d deaths, %d charged", k.State, k.Kills, k.Charged)
		}
		for range 2 {
			x.begin()
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Signal: "killed"})
			x.jump(time.Minute)
			x.beat(x.h, 0)
		}
		quarantined(x.drive, x.task, 3, "3 incarnations")
	})
	t.Run("whatever ends the life in the end", func(t *testing.T) {
		x := hungAgent(t, func(r *noun.RoleSpec) { r.KillLimit = 1 })
		for x.agent(hungName).Order != noun.StopOrder {
			x.up(x.climb().Next)
		}
		x.pass(time.Hour) // its host is gone with it
		quarantined(x.drive, x.task, 1, "1 incarnations")
	})
	t.Run("started by hand", func(t *testing.T) {
		d := newDrive(t)
		soon(d)
		d.room("r", noun.RoleSpec{Name: "a", Ladder: noun.LadderRestart, KillLimit: 1})
		x := &hung{drive: d, me: d.hand(hungName)}
		id := d.must(CreateTask{Room: "r", Role: "a"}).Task
		d.must(StartTask{Work: Work{Speaker: x.me, Task: id, Attempt: d.must(Claim{Speaker: x.me}).Attempt}})
		beating := func(span time.Duration) {
			for end := d.clock.Add(span); d.clock < end; {
				d.clock = min(d.clock.Add(10*time.Second), end)
				d.beat(0, BeatLease, d.agent(hungName).ID)
			}
		}
		beating(judge.StalledAfter + time.Second)
		for d.s.Task(id).State == noun.TaskInProgress {
			c := x.climb()
			if c.Next == noun.NoRung || c.Next == noun.RungEscalate {
				t.Fatalf("next is %s: %s", c.Next, c.Why)
			}
			beating(c.Due.Sub(d.clock))
			d.must(x.step())
		}
		quarantined(d, id, 1, "1 incarnations")
	})
	t.Run("the attempt limit fails it not without a word", func(t *testing.T) {
		x := hungAgent(t, func(r *noun.RoleSpec) { r.AttemptLimit, r.KillLimit = 2, 9 })
		soon(x.drive)
		x.poison(5)
		quarantined(x.drive, x.task, 2, "attempt limit of 2 reached")
	})
}

// A task that takes its host down each time, say by using up its memory, ends no life by itself: six in a row call a
// human, and progress, a life that only waits, or a stop by order begins the row anew or does not count.
func TestL11TaskThatTakesHostsDown(t *testing.T) {
	for _, level := range []uint32{0, core.LevelRetry} {
		x := newSilentRoom(t)
		if level > 0 {
			x.must(RaiseLevel{Level: level})
		}
		x.must(CancelTask{Task: x.waiting, By: "ann"})
		downs := func(n int) {
			t.Helper()
			for range n {
				k := x.s.Task(x.held)
				if !k.State.Held() {
					x.me = x.start("r/a", x.host)
					x.must(Join{Speaker: x.me})
					k = x.s.Task(x.must(Claim{Speaker: x.me}).Task)
					x.must(StartTask{Work: Work{Speaker: x.me, Task: k.ID, Attempt: k.Attempt}})
				}
				x.jump(time.Minute)
				switch x.s.Task(x.held).Attempt % 3 {
				case 0: // with the machine
					x.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"w"}})
				case 1: // with agentd and shim
					x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.ExitOrdered})
				case 2: // and nobody says so
					x.jump(25 * time.Hour)
					x.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"w"}})
				}
			}
		}
		downs(5)
		if k := x.s.Task(x.held); k.State.Terminal() || k.Kills+k.Charged != 0 {
			t.Fatalf("level %d: after five: %s, %d deaths, %d charged", level, k.State, k.Kills, k.Charged)
		}
		downs(1)
		k := x.s.Task(x.held)
		if level == 0 {
			if k.State.Terminal() || k.Retry != nil {
				t.Errorf("before the level: %s", k.State)
			}
			continue
		}
		if k.State != noun.TaskQuarantined || !strings.Contains(k.Result, "6 incarnations in a row were lost") {
			t.Fatalf("after six: %s: %s", k.State, k.Result)
		}
		if !escalated(x.s, noun.EscTaskQuarantined, noun.TaskSubject(k.ID)) {
			t.Error("no human is called")
		}
		x.must(UnquarantineTask{Task: x.held})
		downs(5)
		x.me = x.start("r/a", x.host)
		x.must(Join{Speaker: x.me})
		x.must(Claim{Speaker: x.me})
		work := Work{Speaker: x.me, Task: x.held, Attempt: x.s.Task(x.held).Attempt}
		x.must(StartTask{Work: work})
		x.jump(time.Minute)
		x.must(ProgressTask{Work: work, Note: "gets on"})
		downs(1)
		if k := x.s.Task(x.held); k.State.Terminal() || k.Retry != nil {
			t.Errorf("after progress: %s, %+v", k.State, k.Retry)
		}
		downs(5) // and what has got on may end otherwise
		x.me = x.start("r/a", x.host)
		x.must(Join{Speaker: x.me})
		x.must(Claim{Speaker: x.me})
		work.Speaker, work.Attempt = x.me, x.s.Task(x.held).Attempt
		x.must(StartTask{Work: work})
		x.jump(time.Minute)
		x.must(ProgressTask{Work: work, Note: "gets on"})
		x.must(Leave{Speaker: x.me})
		if lost := x.s.Task(x.held).Retried().Lost; lost != 0 {
			t.Errorf("after progress and a leave: %d lives in a row are lost", lost)
		}
		// An end that a human has ordered is none of the task's.
		x.must(Join{Speaker: x.me})
		x.must(Claim{Speaker: x.me})
		x.must(SetAgent{Agent: "r/a", Stop: true, By: "ann"})
		x.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"w"}})
		if lost := x.s.Task(x.held).Retried().Lost; lost != 0 || x.agent("r/a").Proc.Fenced() {
			t.Errorf("after a stop by a human: %d lives in a row are lost", lost)
		}
	}
}

// A task whose holder leaves as it dies of it, say since a handler panicked or its program's owner is gone, is no
// death that anybody reports: six in a row call a human. Progress begins the row anew, and who leaves since it was told
// to stop is no one of them.
func TestL11TaskWhoseHoldersLeave(t *testing.T) {
	for _, level := range []uint32{0, core.LevelRetry} {
		x := newDrive(t)
		if level > 0 {
			x.must(RaiseLevel{Level: level})
		}
		x.room("r", noun.RoleSpec{Name: "a", TTL: time.Hour})
		id := x.must(CreateTask{Room: "r", Role: "a"}).Task
		leave := func(n int, gets, stopped bool) {
			t.Helper()
			for range n {
				me := x.hand("r/a")
				w := Work{Speaker: me, Task: id, Attempt: x.must(Claim{Speaker: me, Start: level > 0}).Attempt}
				x.pass(time.Second)
				if gets {
					x.must(ProgressTask{Work: w, Note: "gets on"})
				}
				if stopped {
					x.must(SetAgent{Agent: "r/a", Stop: true, By: "ann"})
				}
				x.must(Leave{Speaker: me, Reason: "its process has ended"})
				if stopped {
					x.must(SetAgent{Agent: "r/a", By: "ann"})
				}
			}
		}
		leave(5, false, false)
		leave(1, true, false)
		leave(5, false, false)
		leave(2, false, true)
		if k := x.s.Task(id); k.State != noun.TaskPending || k.Kills+k.Charged != 0 {
			t.Fatalf("level %d: %+v", level, k)
		}
		leave(1, false, false)
		k := x.s.Task(id)
		if level == 0 {
			if k.State != noun.TaskPending || k.Retry != nil {
				t.Errorf("before the level: %+v", k)
			}
			continue
		}
		if k.State != noun.TaskQuarantined || !strings.Contains(k.Result, "left their room, or died") ||
			!escalated(x.s, noun.EscTaskQuarantined, noun.TaskSubject(id)) {
			t.Errorf("after six: %s: %s", k.State, k.Result)
		}
	}
}

// L11: who is over a limit and leaves as it is ended for that, as programs do on SIGTERM, is no way around the attempt
// limit: the attempt is charged as if it had not left. Before the level it is not.
func TestL11WhoLeavesForALimitIsCharged(t *testing.T) {
	for _, level := range []uint32{core.Baseline, core.LevelRetry} {
		x := &hung{drive: newDrive(t)}
		if level > core.Baseline {
			x.must(RaiseLevel{Level: level})
		}
		x.h = x.host("h1", "w")
		x.room("r", noun.RoleSpec{Name: "a", Runner: "w", TurnLimit: time.Minute, AttemptLimit: 2, TTL: time.Hour})
		for n := range uint32(2) {
			x.begin()
			x.beating(time.Minute + time.Second)
			if a := x.agent(hungName); a.Order != noun.StopOrder || !a.Overdue {
				t.Fatalf("level %d: %+v", level, a)
			}
			x.must(Leave{Speaker: x.me})
			if k := x.s.Task(x.task); (k.Charged == n+1) != (level > core.Baseline) || k.Kills+k.Retried().Lost != 0 {
				t.Fatalf("level %d, life %d: %+v", level, n, k)
			}
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc})
			x.jump(time.Minute)
			x.beat(x.h, 0)
		}
		if st := x.s.Task(x.task).State; (st == noun.TaskFailed) != (level > core.Baseline) {
			t.Errorf("level %d: it is %s", level, st)
		}
		texts := x.eventTexts("task.recovered")
		if want := "its holder left, as it was ended: turn limit of 1m0s"; len(texts) == 0 ||
			(texts[0] == want) != (level > core.Baseline) {
			t.Errorf("level %d: the log says %q", level, texts)
		}
	}
}

// L11: the trial of a parked agent that leaves as it is ended for a limit costs its task as much as one that stays.
func TestL11TrialThatLeavesForALimit(t *testing.T) {
	x := &hung{drive: newDrive(t)}
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.must(PutSettings{Values: []noun.KV{{Key: "breaker_starts", Value: "1"}}})
	x.h = x.host("h1", "w")
	x.room("r", noun.RoleSpec{Name: "a", Runner: "w", TurnLimit: time.Minute, AttemptLimit: 2, TTL: time.Hour})
	x.begin()
	x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 1})
	if k := x.s.Task(x.task); k.Charged != 1 || !x.agent(hungName).Parked {
		t.Fatalf("%+v", k)
	}
	x.wait(hungName, x.h)
	x.begin()
	x.beating(time.Minute + time.Second)
	x.must(Leave{Speaker: x.me})
	if k := x.s.Task(x.task); k.Charged != 1 || k.Retried().Lost != 1 {
		t.Errorf("%+v, %+v", k, k.Retried())
	}
}

// L11: a life that was told to stop and is lost with its host is no one of those that its task takes down, whichever
// of its timers fires first; one that is over a limit is.
func TestL11TaskOfLivesThatWereToldToStop(t *testing.T) {
	for _, limit := range []bool{false, true} {
		x := &hung{drive: newDrive(t)}
		x.must(RaiseLevel{Level: core.LevelRetry})
		x.h = x.host("h1", "w")
		spec := noun.RoleSpec{Name: "a", Runner: "w", TTL: time.Minute}
		if limit {
			spec.TurnLimit = 30 * time.Second
		}
		x.room("r", spec)
		x.begin()
		x.beat(x.h, BeatFence|BeatVouch, x.agent(hungName).ID)
		if limit {
			x.beating(31 * time.Second)
		} else {
			x.must(OrderStop{Agent: x.agent(hungName).ID, Inc: x.me.Inc, Reason: "planned"})
		}
		x.jump(10 * time.Minute) // lease and fence end together
		if k := x.s.Task(x.task); k.State != noun.TaskPending || (k.Retried().Lost == 1) != limit || k.Charged != 0 {
			t.Errorf("over its limit: %v: %+v, %+v", limit, k, k.Retried())
		}
	}
}
