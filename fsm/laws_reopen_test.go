package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// What the watchdog canceled comes back with its attempts, once, and finishes.
func TestWatchdogResurrection(t *testing.T) {
	x := newSilentRoom(t)
	x.want(noun.Conflict, ReopenRoom{Room: "r", By: "ann"})
	x.want(noun.NotFound, ReopenRoom{Room: "nowhere", By: "ann"})
	mine := x.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	x.must(CancelTask{Task: mine, By: "ann"})
	x.cancel()
	rev := x.room().Rev
	if x.room().Canceled == nil {
		t.Fatal("the room does not show that it was canceled")
	}
	retried := x.waiting
	x.must(RetryTask{Task: retried, By: "ann"}) // one by one works as before
	x.must(CompleteTask{Work: Work{Speaker: x.again(), Task: retried, Attempt: 1}, Result: "done"})
	x.want(noun.Conflict, ReopenRoom{Room: "r", By: "ann", IfRev: rev - 1})
	if out := x.must(ReopenRoom{Room: "r", By: "ann", IfRev: rev}); out.Count != 1 {
		t.Fatalf("%d tasks came back, want the 1 that was canceled by the watchdog and not retried", out.Count)
	}
	task := x.s.Task(x.held)
	if task.State != noun.TaskPending || task.Attempt != 1 || task.Result != "" {
		t.Errorf("the task is %s after %d attempts: %q", task.State, task.Attempt, task.Result)
	}
	if st := x.s.Task(mine).State; st != noun.TaskCanceled {
		t.Errorf("what a human canceled is %s", st)
	}
	x.want(noun.Conflict, ReopenRoom{Room: "r", By: "ann"})
	if x.room().Canceled != nil || x.room().Active != x.clock {
		t.Errorf("the reopened room: canceled %v, active at %d", x.room().Canceled, x.room().Active)
	}
	me := x.me
	out := x.must(Claim{Speaker: me})
	if out.Task != x.held || out.Attempt != 2 {
		t.Fatalf("claimed %+v", out)
	}
	x.must(CompleteTask{Work: Work{Speaker: me, Task: x.held, Attempt: 2}, Result: "done"})
}

// Of a canceled room whose tasks have lost their texts for want of space, those come back that anybody could do.
func TestWatchdogBringsNoTaskBackWithoutItsText(t *testing.T) {
	x := newSilentRoom(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	long := x.must(CreateTask{Room: "r", Role: "a", Title: "t", Text: strings.Repeat("x", 5_000)}).Task
	x.cancel()
	x.drive.room("s", noun.RoleSpec{Name: "a"})
	x.set("budget_tasks", "256KiB", "budget_room_share", "100", "max_open_tasks", "1000")
	for range 1000 {
		id := x.must(CreateTask{Room: "s", Role: "a", Title: "t", Text: strings.Repeat("x", 5_000)}).Task
		x.must(CancelTask{Task: id, By: "ann"})
		if x.s.Task(long).TextGone {
			break
		}
	}
	if !x.s.Task(long).TextGone || x.s.Task(x.held).TextGone {
		t.Fatal("no text is gone, or all are")
	}
	x.must(ReopenRoom{Room: "r", By: "ann"})
	if of, held := x.s.Task(long).State, x.s.Task(x.held).State; of != noun.TaskCanceled || held != noun.TaskPending {
		t.Errorf("without its text a task is %s, with it %s", of, held)
	}
}

// again is the next life of the agent that the watchdog stopped; it claims.
func (x *silentRoom) again() Speaker {
	x.t.Helper()
	x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.ExitOrdered})
	if a := x.agent("r/a"); a.Failures != 0 || a.LastExit.Kind != noun.ExitOrdered {
		x.t.Errorf("L11: the stop of the watchdog is charged: %+v", a.LastExit)
	}
	x.me = x.start("r/a", x.host)
	x.must(Join{Speaker: x.me})
	x.must(Claim{Speaker: x.me})
	return x.me
}

// A result that comes after the cancellation is kept, and does not keep its task from
// being reopened.
func TestWatchdogLateResultOfACanceledTask(t *testing.T) {
	x := newSilentRoom(t)
	x.cancel()
	x.want(noun.Superseded, CompleteTask{Work: x.work(), Result: "done after all"})
	if late := x.s.Task(x.held).Late; len(late) != 1 || late[0].Result != "done after all" {
		t.Errorf("kept: %+v", late)
	}
	if out := x.must(ReopenRoom{Room: "r", By: "ann"}); out.Count != 2 {
		t.Errorf("%d tasks came back, want 2", out.Count)
	}
}

// At most 10 within an interval, whoever leads; the rest comes in the next one.
func TestL11CancellationsAreBounded(t *testing.T) {
	d := newDrive(t)
	for i := range 25 {
		name := fmt.Sprintf("r%02d", i)
		d.room(name, noun.RoleSpec{Name: "a", PendingLimit: 7 * 24 * time.Hour})
		d.must(CreateTask{Room: name, Role: "a", Title: "t"})
		d.jump(time.Second)
	}
	d.jump(time.Hour)
	var order []string
	for rm := range d.s.StalledRooms() {
		order = append(order, rm.Name)
	}
	if len(order) != 25 || !slices.IsSorted(order) {
		t.Fatalf("not all, or not the oldest first: %v", order)
	}
	for rm, q := range d.s.StalledRooms() {
		d.must(WarnRoom{Room: rm.ID, Active: q.Active})
	}
	d.jump(time.Minute)
	for round, want := range []int{10, 10, 5} {
		d.term++
		d.must(LeaderEstablished{Server: fmt.Sprint("s", round)})
		n := 0
		for _, name := range order {
			rm := d.s.Room(name)
			if d.do(CancelIdleRoom{Room: rm.ID, Active: rm.Active, Warned: rm.Warned}).Code == noun.OK {
				n++
			}
		}
		if n != want {
			t.Errorf("round %d: %d rooms were canceled, want %d", round, n, want)
		}
		d.jump(5 * time.Minute)
	}
	if w := d.s.Watchdog(); w.Canceled != 25 || len(w.History) != 25 || w.Warned != 25 {
		t.Errorf("%d canceled, %d warned, %d in the history", w.Canceled, w.Warned, len(w.History))
	}
}

// A limit of its own, at creation and later, and an explicit deadline, which no activity
// moves.
func TestWatchdogPerConversationOverrides(t *testing.T) {
	x := newSilentRoom(t, noun.RoomWatch{IdleLimit: time.Hour})
	x.jump(time.Hour)
	x.is(RoomActive)
	x.jump(time.Second)
	x.is(RoomStalled)
	x.must(SetRoomWatch{Room: "r", RoomWatch: noun.RoomWatch{IdleLimit: 5 * time.Minute, Deadline: 3 * time.Hour},
		By: "ann"})
	x.jump(5*time.Minute + time.Second)
	x.is(RoomStalled)
	x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w"}}}) // says nothing of it: it stays
	if x.room().Watch.IdleLimit != 5*time.Minute {
		t.Errorf("watch %+v after an apply that does not name it", x.room().Watch)
	}
	for range 20 {
		x.jump(4 * time.Minute)
		x.must(ProgressTask{Work: x.work(), Note: "on"})
		x.is(RoomActive)
	}
	x.want(noun.Invalid, SetRoomWatch{Room: "r", RoomWatch: noun.RoomWatch{IdleLimit: time.Millisecond}})
	x.want(noun.Invalid, SetRoomWatch{Room: "r", RoomWatch: noun.RoomWatch{Deadline: -1}})
	x.want(noun.Invalid, ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a"}},
		Watch: []noun.RoomWatch{{Deadline: 1}}})
	opened := x.room().Opened
	x.clock = opened.Add(3*time.Hour + time.Second)
	x.must(ProgressTask{Work: x.work(), Note: "on"})
	q := x.is(RoomStalled)
	if q.Reason != RoomDeadline {
		t.Fatalf("%+v", q)
	}
	x.must(x.warning())
	x.jump(time.Minute)
	x.must(ProgressTask{Work: x.work(), Note: "nearly done"})
	x.must(x.cancellation())
	if c := x.room().Canceled; c.Reason != RoomDeadline {
		t.Errorf("%+v", c)
	}
	x.must(ReopenRoom{Room: "r", By: "ann"})
	x.is(RoomActive) // it has the whole time again
}

// False.
func TestWatchdogSwitchedOff(t *testing.T) {
	x := newSilentRoom(t)
	x.must(PutSettings{Values: []noun.KV{{Key: "watchdog_enabled", Value: "false"}}})
	x.jump(time.Hour)
	x.is(RoomUnwatched)
	x.want(noun.Conflict, x.warning())
	for rm := range x.s.StalledRooms() {
		t.Errorf("%s is found as stalled", rm.Name)
	}
	x.must(PutSettings{Values: []noun.KV{{Key: "watchdog_enabled", Value: "true"}}})
	x.is(RoomStalled)
}

// What the watchdog says holds no content.
func TestWatchdogNoContentInEvents(t *testing.T) {
	x := newSilentRoom(t)
	x.must(ProgressTask{Work: x.work(), Note: "secret note"})
	x.cancel()
	x.must(ReopenRoom{Room: "r", By: "ann"})
	for _, e := range x.s.EventTable.From(0) {
		if strings.Contains(e.Text, "secret") {
			t.Errorf("event %s says %q", e.Kind, e.Text)
		}
	}
}

// A restored backup begins every silence anew.
func TestL12SilenceBeginsAnewWithARestoredBackup(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", PendingLimit: 7 * 24 * time.Hour})
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	state := func() RoomState { return d.s.Quiet(d.s.Room("r")).State }
	d.jump(10 * time.Minute)
	if state() != RoomActive {
		t.Errorf("the room is %s 10 min after its task was created", state())
	}
	d.jump(time.Second)
	if state() != RoomStalled {
		t.Errorf("the room is %s", state())
	}
	d.must(RaiseEpoch{})
	if state() != RoomActive {
		t.Errorf("the room is %s just after a restored backup", state())
	}
	if next := reload(t, d.s); next.Quiet(next.Room("r")) != d.s.Quiet(d.s.Room("r")) || next.ActiveRooms() != 1 {
		t.Error("a loaded state sees the room differently")
	}
}
