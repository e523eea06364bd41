package fsm

import (
	"fmt"
	"testing"

	"vigil/fsm/noun"
)

// L6: a life that is over leaves a result only with an attempt that was its own; anything else
// changes no task and no revision.
func TestF15LateResultsOfOwnAttemptsOnly(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"}, noun.RoleSpec{Name: "b"})
	d.room("s", noun.RoleSpec{Name: "a"})
	join := func(name string) Speaker {
		return Speaker{Agent: name, Inc: d.must(Join{Speaker: Speaker{Agent: name}}).Inc}
	}
	mine := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	old := join("r/a")
	d.must(Claim{Speaker: old})
	d.must(Leave{Speaker: old})
	now := join("r/a")
	if out := d.must(Claim{Speaker: now}); out.Task != mine || out.Attempt != 2 {
		t.Fatalf("claimed %+v", out)
	}
	beside := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	next := d.must(CreateTask{Room: "r", Role: "b", Title: "t"}).Task
	other := join("r/b")
	d.must(Claim{Speaker: other})
	far := d.must(CreateTask{Room: "s", Role: "a", Title: "t"}).Task
	before := map[noun.TaskID]noun.Task{}
	for _, id := range []noun.TaskID{mine, beside, next, far} {
		before[id] = *d.s.Task(id)
	}
	for _, w := range []Work{{Speaker: old, Task: mine, Attempt: 2}, {Speaker: old, Task: mine, Attempt: 3},
		{Speaker: old, Task: mine, Attempt: 0}, {Speaker: old, Task: beside, Attempt: 1},
		{Speaker: old, Task: next, Attempt: 1}, {Speaker: old, Task: far, Attempt: 0},
		{Speaker: old, Task: far, Attempt: 1},
		{Speaker: other, Task: mine, Attempt: 1}, {Speaker: other, Task: mine, Attempt: 2},
		{Speaker: now, Task: mine, Attempt: 1}, {Speaker: now, Task: next, Attempt: 1}} {
		if out := d.do(CompleteTask{Work: w, Result: "result"}); out.Code != noun.Superseded {
			t.Errorf("%+v: %s", w, out.Code)
		}
	}
	for id, was := range before {
		if got := d.s.Task(id); fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", was) {
			t.Errorf("task %d was %+v, is %+v", id, was, *got)
		}
	}
	d.want(noun.Superseded, CompleteTask{Work: Work{Speaker: old, Task: mine, Attempt: 1}, Result: "late"})
	if got := d.s.Task(mine); len(got.Late) != 1 || got.Late[0].Result != "late" || got.Late[0].Attempt != 1 ||
		got.Late[0].Inc != old.Inc {
		t.Errorf("the late result of its own attempt: %+v", got.Late)
	}
	if next := reload(t, d.s); next.Hash() != d.s.Hash() {
		t.Error("a loaded state has another hash")
	}
	d.must(CompleteTask{Work: Work{Speaker: now, Task: mine, Attempt: 2}, Result: "done"})
}

// The last attempts are remembered, not all: a task that goes from hand to hand stays small.
func TestF15OnlyTheLastAttemptsAreRemembered(t *testing.T) {
	d := newDrive(t)
	d.must(PutSettings{Values: []noun.KV{{Key: "attempt_limit", Value: "0"}, {Key: "kill_limit", Value: "0"}}})
	d.room("r", noun.RoleSpec{Name: "a"})
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	var lives []Speaker
	for range 8 {
		me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
		d.must(Claim{Speaker: me})
		d.must(Leave{Speaker: me})
		lives = append(lives, me)
	}
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	d.must(Claim{Speaker: me})
	for i, old := range lives {
		d.want(noun.Superseded, CompleteTask{Work: Work{Speaker: old, Task: task, Attempt: uint32(i + 1)},
			Result: fmt.Sprint("late ", i+1)})
	}
	if got := d.s.Task(task); len(got.Late) != noun.PastKept || got.Late[0].Result != "late 6" ||
		len(got.Past) != noun.PastKept {
		t.Errorf("late %+v, past %+v", got.Late, got.Past)
	}
}
