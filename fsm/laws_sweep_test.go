package fsm

import (
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// manyTasks is how many tasks wait in the room of newGreatRoom: those of the silent room, and these.
const manyTasks = 20_000

// manyLater is how many of them are put off.
const manyLater = manyTasks / 50

// maxSwept is what an entry may weigh that sweeps a room: each of its steps moves a task, and may tell of it.
const maxSwept = 4 * noun.StepsPerEntry

// newGreatRoom is a silent room in which very many tasks wait, some of them for their time.
func newGreatRoom(t *testing.T) *silentRoom {
	t.Helper()
	x := newSilentRoom(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	for first := 0; first < manyTasks; first += 500 {
		var reqs []Request
		for i := range 500 {
			c := CreateTask{Room: "r", Role: "a", Title: "t", Priority: int32(i % 3)}
			if i%50 == 0 {
				c.After = 24 * time.Hour
			}
			reqs = append(reqs, Request{Cmd: c})
		}
		x.s.Apply(x.entry(reqs...))
	}
	return x
}

// follow applies entries of these commands, one after another, and then empty ones as long as work is left, to the
// state and to one that is restored again and again: both do the same, and no entry is heavy. It gives how many
// entries there were.
func (x *silentRoom) follow(cmds ...Command) (entries int) {
	x.t.Helper()
	other := reload(x.t, x.s)
	for more := true; more || len(cmds) > 0; entries++ {
		e := x.entry()
		if len(cmds) > 0 {
			e.Requests, cmds = []Request{{Cmd: cmds[0]}}, cmds[1:]
		}
		res := x.s.Apply(e)
		if more = res.Effects.More; more {
			if _, due := x.s.NextTimer(); !due {
				x.t.Fatal("nothing tells a new leader that there is work left")
			}
		}
		for _, out := range res.Outcomes {
			if out.Code != noun.OK {
				x.t.Fatalf("%T: %s", e.Requests[0].Cmd, out.Detail)
			}
		}
		if x.s.Weight() > maxSwept {
			x.t.Fatalf("entry %d weighs %d", entries, x.s.Weight())
		}
		if got := other.Apply(e).Effects.More; got != more || entries%9 == 8 && other.Hash() != x.s.Hash() {
			x.t.Fatalf("entry %d: a restored state differs", entries)
		}
		if entries%9 == 8 {
			other = reload(x.t, other)
		}
	}
	if err := x.s.Check(); err != nil || other.Hash() != x.s.Hash() {
		x.t.Fatalf("in the end: %v, or a restored state differs", err)
	}
	return entries
}

// tasks counts the tasks of the room by state.
func (x *silentRoom) tasks() (n [noun.TaskQuarantined + 1]int) {
	for _, t := range x.s.TaskTable.From(0) {
		n[t.State]++
	}
	return n
}

// F11, L4, L9: a room with very many tasks is canceled by many entries, none of which is heavy, and counts as
// canceled from the first on. What somebody says of a task in between is as strong as afterwards. It is reopened
// in the same way, and what a human has canceled stays so.
func TestF11GreatRoomsAreCanceledAndReopenedInSteps(t *testing.T) {
	x := newGreatRoom(t)
	before := x.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	x.must(CancelTask{Task: before, By: "ann"})
	events := x.s.LastEvent()
	x.jump(10*time.Minute + time.Second)
	x.must(x.warning())
	x.jump(time.Minute)
	const open = manyTasks + 2 - manyLater
	if out := x.must(x.cancellation()); out.Count != open || x.s.Weight() > maxSwept {
		t.Fatalf("%d tasks are canceled, and the entry weighs %d", out.Count, x.s.Weight())
	}
	if n := x.tasks(); n[noun.TaskCanceled] > noun.StepsPerEntry+1 || x.s.Task(x.held).State != noun.TaskCanceled ||
		n[noun.TaskPending] != 0 || x.agent("r/a").Order != noun.StopOrder || x.room().Canceled.Tasks != open {
		t.Fatalf("after the first entry: %v, %+v", n, x.room().Canceled)
	}
	x.is(RoomExempt)
	x.want(noun.Conflict, WarnRoom{Room: x.room().ID, Active: x.room().Active})

	const last = manyTasks + 2 // id of the last task; those of priority 2 are canceled first
	low := noun.TaskID(last - 3)
	for x.s.Task(low).Priority != 0 || x.s.Task(low).State != noun.TaskQueued || x.s.Task(low).Delayed() {
		low--
	}
	entries := x.follow(CreateTask{Room: "r", Role: "a", Title: "new"}, CancelTask{Task: low, By: "ann"},
		RetryTask{Task: x.held, By: "ann"})
	if least := open/noun.StepsPerEntry - 2; entries < least {
		t.Errorf("only %d entries, want at least %d", entries, least)
	}
	fresh := x.s.Task(last + 2)
	if fresh.Title != "new" || fresh.State.Terminal() || x.s.Task(x.held).State.Terminal() {
		t.Errorf("the new task is %s, the one that a human has retried %s", fresh.State, x.s.Task(x.held).State)
	}
	n := x.tasks()
	if n[noun.TaskPending] != 1 || n[noun.TaskQueued] != 1+manyLater || n[noun.TaskCanceled] != open-1+1 ||
		x.room().Sweep != nil || x.room().Canceled.Tasks != open-1 { // without the one that ann canceled
		t.Errorf("in the end: %v, %+v", n, x.room().Canceled)
	}
	if h := x.s.Meta.Watchdog.History; h[len(h)-1].Tasks != open-1 || h[len(h)-1].Last == 0 {
		t.Errorf("the history has %+v", h[len(h)-1])
	}
	if q := x.see(); q.State != RoomActive {
		t.Errorf("with new tasks it is %s: %s", q.State, q.Why)
	}
	if told := len(x.events("task.canceled")); told < 4096 || told > 4096+3 || len(x.events("room.swept")) != 1 ||
		x.s.LastEvent()-events > 4096+100 {
		t.Errorf("%d events of %d tell of tasks", told, x.s.LastEvent()-events)
	}

	entries = x.follow(ReopenRoom{Room: "r", By: "ben"})
	if least := open/noun.StepsPerEntry - 1; entries < least || x.room().Sweep != nil || x.room().Canceled != nil {
		t.Errorf("reopened by %d entries, want at least %d: %+v", entries, least, x.room())
	}
	n = x.tasks()
	if n[noun.TaskCanceled] != 2 || x.s.Task(before).State != noun.TaskCanceled ||
		x.s.Task(low).State != noun.TaskCanceled || n[noun.TaskPending] != 1 || n[noun.TaskQueued] != open-1+manyLater {
		t.Errorf("in the end: %v; what ann canceled is %s and %s", n, x.s.Task(before).State, x.s.Task(low).State)
	}
	for _, task := range x.s.TaskTable.From(0) {
		if task.Swept || !task.State.Terminal() && task.Result != "" {
			t.Fatalf("task %d is back with %+v", task.ID, task)
		}
	}
	if n := len(x.events("room.swept")); n != 2 {
		t.Errorf("%d sweeps are told of", n)
	}
	x.want(noun.Conflict, ReopenRoom{Room: "r", By: "ben"})
}

// Who works is stopped by the first entry, whichever role it serves: until then it would spend for nothing.
func TestF11WhoHoldsATaskIsStoppedFirst(t *testing.T) {
	x := newGreatRoom(t)
	long := 7 * 24 * time.Hour
	x.must(ApplyRoom{Room: "r", By: "ann", Roles: []noun.RoleSpec{
		{Name: "a", Runner: "w", Replicas: 1, AckLimit: long, PendingLimit: long},
		{Name: "b", Runner: "w", Replicas: 1, AckLimit: long, PendingLimit: long}}})
	last := x.start("r/b", x.host)
	x.must(Join{Speaker: last})
	x.must(CreateTask{Room: "r", Role: "b", Title: "t"})
	x.must(Claim{Speaker: last})
	x.cancel()
	if n := x.tasks(); n[noun.TaskQueued] == 0 || x.agent("r/b").Order != noun.StopOrder {
		t.Errorf("after the first entry %v are left, and the last holder has order %v", n, x.agent("r/b").Order)
	}
}

// L9: a human's word ends a cancellation that is under way: reopened, what is canceled comes back and the rest stays;
// deleted, all goes.
func TestL9AHumansWordEndsASweep(t *testing.T) {
	for name, word := range map[string]Command{"reopen": ReopenRoom{Room: "r", By: "ann"},
		"delete": DeleteRoom{Room: "r", By: "ann"}} {
		t.Run(name, func(t *testing.T) {
			x := newGreatRoom(t)
			x.cancel()
			for range 5 {
				x.s.Apply(x.entry())
			}
			canceled := x.tasks()[noun.TaskCanceled]
			if canceled < 3*noun.StepsPerEntry || canceled > 7*noun.StepsPerEntry {
				t.Fatalf("%d tasks are canceled so far", canceled)
			}
			x.follow(word)
			if name == "reopen" {
				n := x.tasks()
				if n[noun.TaskCanceled] != 0 || n[noun.TaskPending] != 1 || n[noun.TaskQueued] != manyTasks+1 ||
					x.room().Sweep != nil || x.room().Canceled != nil {
					t.Errorf("reopened: %v", n)
				}
				return
			}
			x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.ExitOrdered})
			x.follow()
			if x.s.Room("r") != nil || x.s.TaskTable.Len() != 0 {
				t.Errorf("%d tasks are left", x.s.TaskTable.Len())
			}
		})
	}
}

// L12: before the level one entry does all, as servers do that do not know of it.
func TestL12RoomsAreSweptFromTheLevelOn(t *testing.T) {
	x := newSilentRoom(t)
	var reqs []Request
	for range 2 * noun.StepsPerEntry {
		reqs = append(reqs, Request{Cmd: CreateTask{Room: "r", Role: "a", Title: "t"}})
	}
	x.s.Apply(x.entry(reqs...))
	x.cancel()
	if n := x.tasks(); n[noun.TaskCanceled] != 2*noun.StepsPerEntry+2 || x.room().Sweep != nil {
		t.Fatalf("in one entry: %v", n)
	}
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.follow(ReopenRoom{Room: "r", By: "ann"}) // what was canceled so comes back all the same
	if n := x.tasks(); n[noun.TaskCanceled] != 0 {
		t.Errorf("reopened: %v", n)
	}
}
