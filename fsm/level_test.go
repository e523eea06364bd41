package fsm

import (
	"errors"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// testLevel is a feature level above those that there are.
const testLevel = core.Newest + 1

// L12: until a level begins, dumps and hashes are those of servers that do not know it, and
// each side reads the other's dumps; then they have what the level adds, for good.
func TestL12LevelIsInvisibleUntilItBegins(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"})
	d.must(CreateTask{Room: "r", Role: "a", Title: "t", Expect: time.Hour})
	d.s.State.TaskTable.Mut(1).NoteFailure("what only newer versions note", 1)
	all := added
	t.Cleanup(func() { added = all })
	added = nil
	full := dump(t, d.s.Copy())
	added = all
	before := dump(t, d.s.Copy())
	if len(before) >= len(full) {
		t.Errorf("a dump before the level has %d bytes, one with all of it %d", len(before), len(full))
	}
	if got := reload(t, d.s); got.Task(1).Retry != nil || got.Task(1).Title != "t" ||
		got.Task(1).Planned().Expect != time.Hour ||
		got.Settings().Retry != noun.DefaultSettings().Retry || got.Level() != Baseline {
		t.Errorf("loaded %+v at level %d", got.Task(1), got.Level())
	}
	d.must(RaiseLevel{Level: core.LevelRetry})
	if got := reload(t, d.s); got.Level() != core.LevelRetry || got.Task(1).Retried().Row != 1 ||
		got.Hash() != d.s.Hash() {
		t.Errorf("loaded %+v at level %d", got.Task(1), got.Level())
	}
	added = nil
	if got := reload(t, d.s); got.Hash() != d.s.Hash() {
		t.Error("the level has begun, and a dump lacks what it adds")
	}
}

// A level begins once and never goes back.
func TestL12LevelsOnlyRise(t *testing.T) {
	d := newDrive(t)
	if d.s.Level() != Baseline {
		t.Fatalf("a new state is at level %d", d.s.Level())
	}
	d.want(noun.Conflict, RaiseLevel{Level: Baseline})
	d.want(noun.Invalid, RaiseLevel{Level: core.MaxLevel + 1})
	if d.events("cluster.level_raised") != 0 {
		t.Error("a refused record has an event")
	}
	d.must(RaiseLevel{Level: testLevel + 3})
	d.want(noun.Conflict, RaiseLevel{Level: testLevel})
	d.want(noun.Conflict, RaiseLevel{Level: testLevel + 3})
	if d.s.Level() != testLevel+3 || d.events("cluster.level_raised") != 1 {
		t.Errorf("level %d, %d events", d.s.Level(), d.events("cluster.level_raised"))
	}
	for _, c := range []Command{Declare{}, SendMail{}, ReportPatrol{}, RaiseEpoch{},
		PutSettings{Values: []noun.KV{{Key: "ladder_nudge", Value: "1h"}}}} {
		if Level(c) != Baseline {
			t.Errorf("%T needs level %d", c, Level(c))
		}
	}
	for _, c := range []Command{CreateTask{After: 1}, FailTask{After: 1},
		ApplyRoom{Roles: []noun.RoleSpec{{RetryMost: 1}}},
		PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: "0"}}},
		PutSettings{Values: []noun.KV{{Key: "watchdog_untaken", Value: "cancel"}}},
		ApplyRoom{Watch: []noun.RoomWatch{{Untaken: noun.UntakenWarn}}},
		SetRoomWatch{RoomWatch: noun.RoomWatch{Untaken: noun.UntakenWarn}},
		SetAgent{Stop: true, For: 1}, SetPause{Pause: true, For: 1}, DrainHost{For: 1}} {
		if Level(c) != core.LevelRetry {
			t.Errorf("%T needs level %d", c, Level(c))
		}
	}
	if Level(RaiseLevel{Level: testLevel}) != testLevel {
		t.Error("the record that begins a level does not need it")
	}
	var newer error = ErrNewer // a dump of a build that knows more is told apart from a damaged one
	if errors.Is(newer, ErrDamaged) {
		t.Error("a newer dump counts as damaged")
	}
}

// Whoever loses a task gets the whole pending limit for the next one, although that has
// waited for longer.
func TestTaskTakenAwayMakesNobodyDeafAtOnce(t *testing.T) {
	const limit = 5 * time.Minute
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", TTL: 4 * time.Hour, PendingLimit: limit})
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "x"}).Task
	d.must(CreateTask{Room: "r", Role: "a", Title: "waits", By: "x"})
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.jump(limit + time.Minute)
	d.must(CancelTask{Task: task, By: "ann"})
	if g := d.s.Signals(d.agent("r/a").ID, true); g.Unheeding() {
		t.Errorf("a task has waited for %s, and the agent is deaf at once", g.Waiting)
	}
	d.jump(limit + time.Second)
	if g := d.s.Signals(d.agent("r/a").ID, true); !g.Unheeding() {
		t.Errorf("after the limit a task has waited for %s, and the agent is not deaf", g.Waiting)
	}
}

// What belongs to overseers survives a dump.
func TestL12OverseersSurviveADump(t *testing.T) {
	x := overseerRoom(t, true)
	x.patrol()
	x.ask()
	if got := reload(t, x.s); got.Hash() != x.s.Hash() ||
		*got.AgentByName(watchName).Notes().Chain != x.chain() || got.Check() != nil ||
		got.RoleByName("r", "deacon").Spec.Overseer[0] != x.s.RoleByName("r", "deacon").Spec.Overseer[0] {
		t.Errorf("%+v is loaded as %+v: %v", x.chain(), *got.AgentByName(watchName).Notes().Chain, got.Check())
	}
}
