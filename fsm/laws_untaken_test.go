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
