package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// untakenRoom is a room with two tasks in which nobody has ever lived, at the level that knows of it.
func untakenRoom(t *testing.T, watch ...noun.RoomWatch) *silentRoom {
	t.Helper()
	x := &silentRoom{drive: newDrive(t)}
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.jump(time.Hour)
	x.must(ApplyRoom{Room: "r", By: "ann", Watch: watch, Roles: []noun.RoleSpec{{Name: "a", TTL: 24 * time.Hour,
		AckLimit: 7 * 24 * time.Hour, PendingLimit: 7 * 24 * time.Hour}}})
	x.held = x.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "ann"}).Task
	x.waiting = x.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "ann"}).Task
	return x
}

// goesSilent is warned of and stays silent for longer than the grace.
func (x *silentRoom) goesSilent() {
	x.t.Helper()
	x.jump(10*time.Minute + time.Second)
	x.is(RoomStalled)
	x.must(x.warning())
	x.jump(time.Hour)
}

func (x *silentRoom) untaken() *noun.Escalation {
	for e := range x.s.Escalations(0) {
		if e.Kind == noun.EscUntaken && e.State != noun.EscalationClosed {
			return e
		}
	}
	return nil
}

// L9: nobody has lived in the room, so the limits for all rooms cancel nothing: a human is told
// once a silence, and the tasks wait for the first agent.
func TestN06WorkThatNobodyServesWaits(t *testing.T) {
	x := untakenRoom(t)
	x.goesSilent()
	x.is(RoomUntaken)
	x.want(noun.Conflict, x.warning())
	x.want(noun.Conflict, x.cancellation())
	if got := x.s.Task(x.held).State; got != noun.TaskPending {
		t.Errorf("the task is %s", got)
	}
	e := x.untaken()
	if e == nil || e.Subject != "r" || e.Count != 1 || !strings.Contains(e.Reason(), "nobody serves") ||
		len(x.events("room.untaken")) != 1 {
		t.Fatalf("the escalation is %+v", e)
	}
	if e.Facts[0] != (noun.KV{Key: "roles", Value: "a"}) || e.Facts[2] != (noun.KV{Key: "tasks", Value: "2"}) {
		t.Errorf("it says %v", e.Facts)
	}
	if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Quiet(got.Room("r")).State != RoomUntaken {
		t.Error("a dump forgets it")
	}
	me := Speaker{Agent: "r/a", Inc: x.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	if x.untaken() != nil || !x.room().Lived {
		t.Error("an agent has joined, and a human is still called")
	}
	x.is(RoomActive) // the silence counts from when somebody could end it
	x.must(Leave{Speaker: me})
	x.jump(10*time.Minute + time.Second)
	x.must(x.warning())
	x.is(RoomStalling) // agents have lived in it since: as before
	x.jump(time.Minute)
	x.must(x.cancellation())
}

// A room's own word and its own limits, then the setting say whether it is canceled, and below the
// level it is.
func TestN06WhoCancelsWorkThatNobodyServes(t *testing.T) {
	set := func(value string) []noun.KV { return []noun.KV{{Key: "watchdog_untaken", Value: value}} }
	for name, c := range map[string]struct {
		watch   noun.RoomWatch
		setting string
		want    RoomState
	}{
		"nothing is said":       {noun.RoomWatch{}, "warn", RoomUntaken},
		"the setting":           {noun.RoomWatch{}, "cancel", RoomStalling},
		"a limit of its own":    {noun.RoomWatch{IdleLimit: 5 * time.Minute}, "warn", RoomStalling},
		"a deadline of its own": {noun.RoomWatch{Deadline: 5 * time.Minute}, "warn", RoomStalling},
		"its word":              {noun.RoomWatch{Untaken: noun.UntakenCancel}, "warn", RoomStalling},
		"its word, and a limit": {noun.RoomWatch{Untaken: noun.UntakenWarn, IdleLimit: 5 * time.Minute},
			"cancel", RoomUntaken},
		"its word, not that set": {noun.RoomWatch{Untaken: noun.UntakenWarn}, "cancel", RoomUntaken},
	} {
		t.Run(name, func(t *testing.T) {
			x := untakenRoom(t, c.watch)
			x.must(PutSettings{Values: set(c.setting)})
			x.goesSilent()
			x.is(c.want)
			if c.want == RoomStalling {
				x.must(x.cancellation())
			}
		})
	}
	x := untakenRoom(t)
	for _, value := range []string{"", "keep"} {
		x.want(noun.Invalid, PutSettings{Values: set(value)})
	}
	x.want(noun.Invalid, SetRoomWatch{Room: "r", RoomWatch: noun.RoomWatch{Untaken: 3}})
	x.s.State.Meta.Level = Baseline
	x.goesSilent()
	x.is(RoomStalling)
}

// When the level begins, rooms in which agents have lived are known.
func TestN06LivesBeforeTheLevelCount(t *testing.T) {
	x := newSilentRoom(t)
	x.drive.room("new", noun.RoleSpec{Name: "a"})
	x.must(RaiseLevel{Level: core.LevelRetry})
	if !x.room().Lived || x.s.Room("new").Lived {
		t.Errorf("r has lived: %v, new has: %v", x.room().Lived, x.s.Room("new").Lived)
	}
}

// The escalation ends with what it is about, also when its tasks are canceled by a human.
func TestN06NothingIsLeftToServe(t *testing.T) {
	x := untakenRoom(t)
	x.goesSilent()
	for _, id := range []noun.TaskID{x.held, x.waiting} {
		if x.untaken() == nil {
			t.Fatal("nobody is told")
		}
		x.must(CancelTask{Task: id, By: "ann"})
	}
	if x.untaken() != nil {
		t.Error("no task waits, and a human is still called")
	}
}

// A room that was canceled and has got new work is not called canceled, and can be reopened.
func TestN06NewWorkEndsTheNameCanceled(t *testing.T) {
	x := newSilentRoom(t)
	x.cancel()
	if x.room().Canceled == nil || x.room().ResumedWork() {
		t.Fatal("the room is not called canceled")
	}
	x.jump(time.Second)
	fresh := x.must(CreateTask{Room: "r", Role: "a", Title: "new"}).Task
	if !x.room().ResumedWork() {
		t.Error("the room has new work and is called canceled")
	}
	for e := range x.s.Escalations(0) {
		if e.Kind == noun.EscRoomCanceled && x.s.Lasts(e) {
			t.Error("its cancellation is reminded of")
		}
	}
	x.must(CancelTask{Task: fresh})
	if !x.room().ResumedWork() {
		t.Error("with its new work done the room is called canceled again")
	}
	if out := x.must(ReopenRoom{Room: "r"}); out.Count != 2 {
		t.Errorf("%d tasks are brought back", out.Count)
	}
}

// absentHosts are what keeps agents from a room that they have served, and what brings them back.
var absentHosts = map[string]struct {
	goes  func(x *silentRoom)
	waits string // said to the human
	back  func(x *silentRoom)
}{
	"drain": {func(x *silentRoom) {
		x.must(DrainHost{Host: x.host, By: "ann", For: 2 * time.Hour})
		x.exits()
	}, "is drained for another", func(x *silentRoom) { x.must(DrainHost{Host: x.host, Off: true, By: "ann"}) }},
	"lost host": {func(x *silentRoom) { x.jump(25 * time.Hour) }, "is lost", func(x *silentRoom) {
		x.drive.host("h1", "w")
	}},
	"full disk": {func(x *silentRoom) {
		x.must(ReportPressure{Host: x.host, Boot: "boot1", Reason: "its disk is full"})
		x.exits()
	}, "its disk is full", func(x *silentRoom) { x.must(ReportPressure{Host: x.host, Boot: "boot1"}) }},
	"full host": {func(x *silentRoom) {
		x.must(PutSettings{Values: []noun.KV{{Key: "default_capacity", Value: "1"}}})
		x.exits()
		x.must(ApplyRoom{Room: "other", Roles: []noun.RoleSpec{{Name: "b", Runner: "w", Replicas: 1}}})
		x.must(Join{Speaker: x.start("other/b", x.host)})
	}, "is full: 1 of 1 agent", func(x *silentRoom) {
		x.must(PutSettings{Values: []noun.KV{{Key: "default_capacity", Value: "2"}}})
	}},
	"unproven": {func(x *silentRoom) {
		x.must(ApplyRoom{Room: "r", By: "ann", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Replicas: 1,
			AckLimit: 7 * 24 * time.Hour, PendingLimit: 7 * 24 * time.Hour, Policy: noun.PolicyConfirm,
			AnyContainment: true}}})
		x.jump(25 * time.Hour)
	}, "confirm-dead", func(x *silentRoom) {
		x.must(ConfirmDead{Host: x.host, By: "ann"})
		x.drive.host("h1", "w")
	}},
}

// exits has the agent end its task, and its life with it.
func (x *silentRoom) exits() {
	x.t.Helper()
	if a := x.agent("r/a"); a.Task != 0 {
		x.must(CompleteTask{Work: x.work(), Result: "done"})
	}
	x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.ExitCrash})
}

// L9: a drain is a human's word, and an absent host is nobody's silence: a room whose agents only wait for a
// host is not canceled. A human is told once, and its silence counts anew when an agent is back. Limits of its
// own say nothing else; its word, the setting and the level before do.
func TestL9RoomsWhoseHostsAreAbsentAreNotCanceled(t *testing.T) {
	for name, c := range absentHosts {
		t.Run(name, func(t *testing.T) {
			for _, watch := range []noun.RoomWatch{{}, {IdleLimit: 10 * time.Minute}} {
				x := newSilentRoom(t, watch)
				x.must(RaiseLevel{Level: core.LevelRetry})
				c.goes(x)
				x.goesSilent()
				if q := x.is(RoomUntaken); q.Why !=
					"no agent of its role a is there; a human was told, and its tasks wait" {
					t.Errorf("it is spared because %s", q.Why)
				}
				x.want(noun.Conflict, x.warning())
				x.want(noun.Conflict, x.cancellation())
				if got := x.s.Task(x.waiting).State; got != noun.TaskPending {
					t.Errorf("the task is %s", got)
				}
				e := x.untaken()
				if e == nil || e.Count != 1 || !x.s.Lasts(e) || len(x.events("room.untaken")) != 1 {
					t.Fatalf("the escalation is %+v", e)
				}
				if f := e.Facts[len(e.Facts)-1]; f.Key != "waits_for" || !strings.Contains(f.Value, c.waits) {
					t.Errorf("it says %v", e.Facts)
				}
				if got := reload(t, x.s); got.Hash() != x.s.Hash() ||
					got.Quiet(got.Room("r")).State != RoomUntaken {
					t.Error("a dump forgets it")
				}
				c.back(x)
				x.me = x.start("r/a", x.host)
				x.is(RoomUntaken) // its start may take as long as it likes
				x.must(Join{Speaker: x.me})
				if x.untaken() != nil {
					t.Error("an agent is back, and a human is still called")
				}
				x.is(RoomActive)
				x.goesSilent() // it lives and does not claim
				x.is(RoomStalling)
				x.must(x.cancellation())
			}
		})
	}
	for want, cancels := range map[RoomState]func(x *silentRoom){
		RoomUntaken: func(x *silentRoom) {},
		RoomStalling: func(x *silentRoom) {
			x.must(SetRoomWatch{Room: "r", RoomWatch: noun.RoomWatch{Untaken: noun.UntakenCancel}})
		},
		RoomStalled: func(x *silentRoom) { // warned of as before, and whoever is there is asked first
			x.jump(10*time.Minute + time.Second)
			x.must(x.warning())
			x.must(PutSettings{Values: []noun.KV{{Key: "watchdog_untaken", Value: "cancel"}}})
		},
	} {
		x := newSilentRoom(t)
		x.must(RaiseLevel{Level: core.LevelRetry})
		x.exits()
		if cancels(x); want != RoomStalled {
			x.goesSilent()
		}
		x.is(want)
	}
	x := newSilentRoom(t) // before the level
	x.exits()
	x.goesSilent()
	x.is(RoomStalling)
}

// L9: only rooms in which nobody could be silent are spared: not where another agent holds a task, nor where
// one could take what waits, nor where the agents are started by hand.
func TestL9WhoIsThereAndSilentIsCanceled(t *testing.T) {
	for name, do := range map[string]func(x *silentRoom){
		"holds a task": func(x *silentRoom) {},
		"does not claim": func(x *silentRoom) {
			x.must(CompleteTask{Work: x.work(), Result: "done"})
		},
		"another role waits for a host": func(x *silentRoom) {
			x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Replicas: 1,
				AckLimit: 7 * 24 * time.Hour}, {Name: "b", Runner: "gone", Replicas: 1}}})
			x.must(CreateTask{Room: "r", Role: "b", Title: "t"})
		},
	} {
		x := newSilentRoom(t)
		x.must(RaiseLevel{Level: core.LevelRetry})
		do(x)
		x.goesSilent()
		if q := x.see(); q.State != RoomStalling {
			t.Errorf("%s: the room is %s: %s", name, q.State, q.Why)
		}
		x.must(x.cancellation())
	}
	// Warned of while an agent was there that is gone in the grace: a human is told instead.
	x := newSilentRoom(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.must(CompleteTask{Work: x.work(), Result: "done"})
	x.goesSilent()
	x.is(RoomStalling)
	x.exits()
	x.want(noun.Conflict, x.cancellation())
	x.is(RoomStalled)
	x.must(x.warning())
	x.is(RoomUntaken)
	if x.untaken() == nil {
		t.Error("nobody is told")
	}
}
