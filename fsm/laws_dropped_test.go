package fsm

import (
	"strings"
	"testing"

	"vigil/fsm/noun"
)

// worker is an agent that ends tasks, in a cluster whose budget for tasks is small.
func (d *drive) worker(level uint32) Speaker {
	d.t.Helper()
	if level > d.s.Level() {
		d.must(RaiseLevel{Level: level})
	}
	d.room("r", noun.RoleSpec{Name: "a"})
	d.set("budget_tasks", "64KiB", "budget_room_share", "100")
	return Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
}

// ended has a task done.
func (d *drive) ended(me Speaker, text, result string) noun.TaskID {
	d.t.Helper()
	d.must(CreateTask{Room: "r", Role: "a", Title: "t", Text: text})
	return d.completes(me, result)
}

// completes has the next task done.
func (d *drive) completes(me Speaker, result string) noun.TaskID {
	d.t.Helper()
	got := d.must(Claim{Speaker: me})
	d.must(CompleteTask{Work: Work{Speaker: me, Task: got.Task, Attempt: got.Attempt}, Result: result})
	return got.Task
}

// loses fills the budget until the texts of a task are gone.
func (d *drive) loses(id noun.TaskID) {
	d.t.Helper()
	for range 100 {
		if d.s.Task(id).TextGone {
			return
		}
		one := d.must(CreateTask{Room: "r", Role: "a", Title: "t", Text: strings.Repeat("x", 5000)}).Task
		d.must(CancelTask{Task: one, By: "ann"})
	}
	d.t.Fatalf("task %d keeps its texts", id)
}

// A result that went says so, and by how much, so that nobody takes it for an empty one; one that was empty has lost
// nothing.
func TestADroppedResultIsNoEmptyOne(t *testing.T) {
	for level, lost := range map[uint32]uint32{Baseline: 0, NewestLevel: 3000} {
		d := newDrive(t)
		me := d.worker(level)
		said := d.ended(me, "short", strings.Repeat("r", 3000))
		silent := d.ended(me, strings.Repeat("x", 3000), "")
		d.loses(silent)
		d.s = reload(t, d.s)
		if x := d.s.Task(said); !x.TextGone || x.Result != "" || x.Retried().ResultDropped != lost {
			t.Errorf("level %d: %d bytes of the result are gone, want %d", level, x.Retried().ResultDropped, lost)
		}
		if x := d.s.Task(silent); x.Retried().ResultDropped != 0 {
			t.Errorf("level %d: %d bytes of an empty result are gone", level, x.Retried().ResultDropped)
		}
	}
}

// So does one of which only the end went; the next result of the task is another one.
func TestAResultThatIsCutSaysHowMuchIsGone(t *testing.T) {
	d := newDrive(t)
	me := d.worker(NewestLevel)
	d.untilFull(CreateTask{Room: "r", Role: "a", Title: "t", Text: strings.Repeat("x", 2000)})
	id := d.completes(me, strings.Repeat("r", 10_000))
	x := d.s.Task(id)
	if len(x.Result) == 10_000 || x.Retried().ResultDropped != uint32(10_000-len(x.Result)) {
		t.Errorf("%d bytes of the result are left, and %d are said to be gone", len(x.Result), x.Retried().ResultDropped)
	}
}

// A task whose text is gone cannot be tried again. Whoever is told to create it anew under its key would get it again.
func TestATaskWithAKeyWhoseTextIsGoneIsCreatedUnderAnother(t *testing.T) {
	d := newDrive(t)
	d.worker(NewestLevel)
	c := CreateTask{Room: "r", Role: "a", Title: "t", Text: strings.Repeat("x", 3000), Key: "build-4f2"}
	keyed := d.must(c).Task
	c.Key = ""
	bare := d.must(c).Task
	for _, id := range []noun.TaskID{keyed, bare} {
		d.must(CancelTask{Task: id})
	}
	d.loses(bare)
	c.Key = "build-4f2"
	if out := d.must(c); out.Task != keyed {
		t.Fatalf("task %d has the key of task %d", out.Task, keyed)
	}
	for id, want := range map[noun.TaskID]string{keyed: `create the task anew under another key than "build-4f2"`,
		bare: "create the task anew"} {
		if out := d.want(noun.Conflict, RetryTask{Task: id}); !strings.HasSuffix(out.Detail, want) {
			t.Errorf("a retry of task %d says %q, want %q", id, out.Detail, want)
		}
	}
}
