package fsm

import (
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// Every key, its default and how it is called here.
func TestWatchdogDefaultConfiguration(t *testing.T) {
	set := noun.DefaultSettings()
	for _, x := range []struct {
		seed, key, want string
	}{
		{"enabled: true", "watchdog_enabled", "true"},
		{"intervalMs: 5 * 60 * 1000", "watchdog_interval", "5m0s"},
		{"stalledThresholdMs: 10 * 60 * 1000", "watchdog_threshold", "10m0s"},
		{"minAgeMs: 2 * 60 * 1000", "watchdog_min_age", "2m0s"},
		{"startupDelayMs: 30 * 1000", "watchdog_start_delay", "30s"},
		{"maxCancellationsPerRun: 10", "watchdog_max_cancellations", "10"},
	} {
		got, ok := "", false
		for i := range noun.SettingTable {
			if d := &noun.SettingTable[i]; d.Name == x.key {
				got, ok = d.Show(&set), true
			}
		}
		if !ok || got != x.want {
			t.Errorf("%s: %s is %q, want %q", x.seed, x.key, got, x.want)
		}
	}
}

// A stalled room is found step by step.
func TestWatchdogStalledDetectionAlgorithm(t *testing.T) {
	d := newDrive(t)
	d.jump(time.Hour)
	d.room("r", noun.RoleSpec{Name: "a", AckLimit: 7 * 24 * time.Hour, PendingLimit: 7 * 24 * time.Hour})
	is := func(want RoomState, when string) {
		t.Helper()
		if q := d.s.Quiet(d.s.Room("r")); q.State != want {
			t.Errorf("%s it is %s (%s), want %s", when, q.State, q.Why, want)
		}
	}
	is(RoomIdle, "without an open task")
	d.must(PutSettings{Values: []noun.KV{{Key: "watchdog_threshold", Value: "1m"}}})
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	d.jump(119 * time.Second)
	is(RoomActive, "too young")
	d.jump(2 * time.Second)
	is(RoomStalled, "with no event since it began, but old enough")
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	is(RoomActive, "after an event")
	d.jump(time.Minute)
	is(RoomActive, "not for more than the threshold")
	d.jump(time.Second)
	is(RoomStalled, "for more than the threshold")
	d.want(noun.NotFound, WarnRoom{Room: 99}) // an error in one room cancels none
	is(RoomStalled, "after an error")
}

// An agent that is kept running and says nothing, failures again and again in its turns, and a
// time-out set at creation.
func TestWatchdogFutureCriteria(t *testing.T) {
	t.Run("ensure-running and silent", func(t *testing.T) {
		x := newSilentRoom(t)
		x.jump(judge.StalledAfter + time.Second)
		if c := x.s.Climb(x.agent("r/a").ID); c.Next != noun.RungNudge {
			t.Errorf("next is %s (%s)", c.Next, c.Why)
		}
	})
	t.Run("repeated failures", func(t *testing.T) {
		x := newSilentRoom(t)
		for range noun.DefaultSettings().AttemptLimit {
			w := Work{Speaker: x.me, Task: x.held, Attempt: x.s.Task(x.held).Attempt}
			x.must(FailTask{Work: w, Reason: "no", Retryable: true})
			if x.s.Task(x.held).State.Terminal() {
				break
			}
			x.must(Join{Speaker: x.me})
			x.must(Claim{Speaker: x.me, Task: x.held})
			x.must(StartTask{Work: Work{Speaker: x.me, Task: x.held, Attempt: x.s.Task(x.held).Attempt}})
		}
		if got := x.s.Task(x.held).State; got != noun.TaskFailed {
			t.Errorf("after as many failures as are allowed the task is %s", got)
		}
	})
	t.Run("explicit time-out", func(t *testing.T) {
		x := newSilentRoom(t, noun.RoomWatch{Deadline: 30 * time.Minute})
		for range 7 {
			x.jump(5 * time.Minute)
			x.must(ProgressTask{Work: x.work(), Note: "going on"})
		}
		if q := x.is(RoomStalled); q.Reason != RoomDeadline {
			t.Errorf("stalled for %s", q.Reason)
		}
	})
}

// Each border case of the watchdog has its answer.
func TestWatchdogOpenQuestions(t *testing.T) {
	t.Run("1 agents are notified before", func(t *testing.T) {
		x := newSilentRoom(t)
		x.jump(10*time.Minute + time.Second)
		before := x.s.Unread(x.agent("r/a").ID)
		x.must(x.warning())
		if after := x.s.Unread(x.agent("r/a").ID); after != before+1 || len(x.events("room.stalling")) != 1 {
			t.Errorf("%d mails before the warning, %d after it", before, after)
		}
	})
	t.Run("2 canceled conversations are resumable", func(t *testing.T) {
		x := newSilentRoom(t)
		x.cancel()
		if out := x.must(ReopenRoom{Room: "r", By: "ann"}); out.Count != 2 {
			t.Errorf("%d tasks came back", out.Count)
		}
		x.is(RoomActive)
	})
	t.Run("3 long-running on purpose", func(t *testing.T) {
		x := newSilentRoom(t)
		x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: 4 * time.Hour})
		x.jump(3 * time.Hour)
		x.is(RoomExempt)
		for _, w := range []noun.RoomWatch{{Disabled: true}, {IdleLimit: 8 * time.Hour}} {
			x = newSilentRoom(t, w)
			x.jump(7 * time.Hour)
			if q := x.see(); q.State != RoomExempt && q.State != RoomActive {
				t.Errorf("%+v: %s", w, q.State)
			}
		}
	})
	t.Run("4 patterns", func(t *testing.T) {
		x := newSilentRoom(t)
		x.cancel()
		c := x.s.Watchdog().History[0]
		if c.Room != "r" || len(c.Roles) != 1 || c.Roles[0] != "a" || len(c.Hosts) != 1 || c.Hosts[0] != "h1" ||
			c.Reason != IdleTimeout || c.Tasks != 2 || c.Wall == 0 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("5 error recovery", func(t *testing.T) {
		x := newSilentRoom(t)
		charged := x.s.Task(x.held).Charged
		x.cancel()
		x.must(ReopenRoom{Room: "r", By: "ann"})
		task := x.s.Task(x.held)
		if task.Charged != charged || task.Kills != 0 || x.agent("r/a").Failures != 0 {
			t.Errorf("the cancellation is charged: %d attempts, %d kills, %d failures of the agent", task.Charged,
				task.Kills, x.agent("r/a").Failures)
		}
	})
}
