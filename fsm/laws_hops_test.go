package fsm

import (
	"fmt"
	"strings"
	"testing"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// pingPong is two roles that hand one piece of work to each other.
type pingPong struct {
	*drive
	me   [2]Speaker
	task noun.TaskID // which the next one has to do
	turn int
}

func newPingPong(t *testing.T, level uint32) *pingPong {
	d := newDrive(t)
	if level > Baseline {
		d.must(RaiseLevel{Level: level})
	}
	d.room("r", noun.RoleSpec{Name: "builder"}, noun.RoleSpec{Name: "reviewer"})
	x := &pingPong{drive: d, me: [2]Speaker{d.hand("r/builder"), d.hand("r/reviewer")}}
	x.task = d.must(CreateTask{Room: "r", Role: "builder", Title: "build", By: "ann"}).Task
	return x
}

// hop hands the work on once; it gives the new task.
func (x *pingPong) hop() *noun.Task {
	x.t.Helper()
	sp := x.me[x.turn%2]
	x.turn++
	x.must(Join{Speaker: sp})
	out := x.must(Claim{Speaker: sp, Start: x.s.Level() >= core.LevelRetry})
	if out.Task != x.task {
		x.t.Fatalf("hop %d: it got task %d, not %d", x.turn, out.Task, x.task)
	}
	x.task = x.must(Handoff{Work: Work{Speaker: sp, Task: out.Task, Attempt: out.Attempt}, Result: "one more change",
		ToRole: [2]string{"builder", "reviewer"}[x.turn%2], Title: "again"}).Task
	return x.s.Task(x.task)
}

// L11: work that roles hand to each other again and again, each time as a new task with all its attempts, comes
// before a human after handoff_limit hand-offs in a row; a human's word lets it go on, counted anew. multica#8754 is
// such a night: a builder and a reviewer, and 18 million tokens.
func TestL11HandOffsInARowComeBeforeAHuman(t *testing.T) {
	x := newPingPong(t, core.LevelRetry)
	goOn := []func(){func() { x.must(RetryTask{Task: x.task, By: "ann"}) },
		func() { x.must(UnquarantineTask{Task: x.task, By: "ann"}) }}
	for round, word := range goOn {
		for n := uint32(1); n < 30; n++ {
			if k := x.hop(); k.State != noun.TaskPending || k.Hops != n {
				t.Fatalf("round %d: after %d hand-offs: %s, %d hops", round, n, k.State, k.Hops)
			}
		}
		k := x.hop()
		if k.State != noun.TaskQuarantined || k.Hops != 30 || !strings.HasPrefix(k.Result, "handed on 30 times in a row") {
			t.Fatalf("round %d: after 30 hand-offs: %s, %d hops: %s", round, k.State, k.Hops, k.Result)
		}
		if before := x.s.Task(k.Parent); before.State != noun.TaskCompleted || before.Next != k.ID {
			t.Errorf("the task before is %s, its next one %d", before.State, before.Next)
		}
		e := x.quarantine(k.ID)
		if e == nil || e.State != noun.EscalationOpen || !strings.Contains(e.Reason(), "handed on 30 times in a row") ||
			!x.s.Lasts(e) || fmt.Sprint(e.Facts) != "[{role builder} {handed_on 30}]" {
			t.Fatalf("no human is called: %+v", e)
		}
		if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Check() != nil || got.Task(k.ID).Hops != 30 {
			t.Errorf("loaded: %+v, %v", got.Task(k.ID), got.Check())
		}
		if word(); x.s.Task(k.ID).Hops != 0 || x.s.Task(k.ID).State != noun.TaskPending || x.s.Lasts(e) {
			t.Errorf("after a human's word: %+v", x.s.Task(k.ID))
		}
	}
	x.must(PutSettings{Values: []noun.KV{{Key: "handoff_limit", Value: "0"}}})
	for range 35 {
		if k := x.hop(); k.State != noun.TaskPending {
			t.Fatalf("without a limit: %s after %d hand-offs", k.State, k.Hops)
		}
	}
	x.must(PutSettings{Values: []noun.KV{{Key: "handoff_limit", Value: "3"}}})
	if k := x.hop(); k.State != noun.TaskQuarantined || k.Hops != 36 {
		t.Errorf("beyond a new limit: %s after %d hand-offs", k.State, k.Hops)
	}
	id := x.must(CreateTask{Room: "r", Role: "builder", Title: "another", By: "ann"}).Task
	if k := x.s.Task(id); k.Hops != 0 || k.State != noun.TaskPending {
		t.Errorf("a new task: %+v", k)
	}
}

// L11: a task that ends with a hand-off makes place for the next one, so no limit on their number refuses that; one of
// bytes does.
func TestL11AHandOffAddsNoOpenTask(t *testing.T) {
	x := newPingPong(t, core.LevelRetry)
	x.set("max_open_tasks", "2", "budget_room_share", "100")
	x.must(CreateTask{Room: "r", Role: "reviewer", Title: "another", By: "ann", Priority: -1})
	x.want(noun.Full, CreateTask{Room: "r", Role: "builder", Title: "third", By: "ann"})
	if k := x.hop(); k.State == noun.TaskQuarantined || x.s.OpenTasks() != 2 {
		t.Errorf("%s, %d are open", k.State, x.s.OpenTasks())
	}
	x.set("max_open_tasks", "1") // lower than what is there
	x.hop()
	x.set("max_open_tasks", "2", "handoff_limit", "1")
	if k := x.hop(); k.State != noun.TaskQuarantined || x.use("open_tasks").Used != 2 {
		t.Errorf("%s, %d count", k.State, x.use("open_tasks").Used)
	}
	x.want(noun.Full, CreateTask{Room: "r", Role: "builder", Title: "third", By: "ann"})
}

// quarantine is the escalation about a task that is QUARANTINED.
func (d *drive) quarantine(id noun.TaskID) (e *noun.Escalation) {
	for n := range d.s.Escalations(0) {
		if n.Kind == noun.EscTaskQuarantined && n.Task == id {
			e = n
		}
	}
	return e
}

// L12: before the level nothing is counted, as servers that do not know it do.
func TestL12HandOffsAreCountedFromTheirLevelOn(t *testing.T) {
	x := newPingPong(t, Baseline)
	for range 35 {
		if k := x.hop(); k.State != noun.TaskPending || k.Hops != 0 {
			t.Fatalf("%s after %d hops", k.State, k.Hops)
		}
	}
	x.must(RaiseLevel{Level: core.LevelRetry})
	if k := x.hop(); k.Hops != 1 {
		t.Errorf("%d hops", k.Hops)
	}
}
