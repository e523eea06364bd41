package fsm

import (
	"strings"
	"testing"
	"time"

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
