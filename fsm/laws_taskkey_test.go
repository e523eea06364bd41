package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// L8: a task with a key is made once, however often it is asked for, also after a restore; another one under its key
// is refused, and its key is free when it is not kept any more.
func TestL8OneTaskForAKey(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: NewestLevel})
	d.room("demo", noun.RoleSpec{Name: "w"}, noun.RoleSpec{Name: "v"})
	d.room("other", noun.RoleSpec{Name: "w"})
	c := CreateTask{Room: "demo", Role: "w", Title: "Build 4f2a", Text: "the text", Key: "build-4f2a", Expect: time.Hour}
	id := d.must(c).Task
	d.must(CreateTask{Room: "demo", Role: "w", Title: "without one"})
	again := c
	again.By, again.After = "somebody else", time.Minute
	for range 2 {
		if out := d.must(again); out.Task != id {
			t.Fatalf("task %d under the key of %d", out.Task, id)
		}
		d.s = reload(t, d.s)
	}
	for what, change := range map[string]func(*CreateTask){
		"role": func(c *CreateTask) { c.Role = "v" }, "title": func(c *CreateTask) { c.Title = "x" },
		"text": func(c *CreateTask) { c.Text = "x" }, "priority": func(c *CreateTask) { c.Priority = 1 },
		"expected time": func(c *CreateTask) { c.Expect = time.Minute },
	} {
		other := c
		change(&other)
		if out := d.want(noun.Conflict, other); !strings.Contains(out.Detail, "another "+what) {
			t.Errorf("%s: %s", what, out.Detail)
		}
	}
	elsewhere := c
	elsewhere.Room = "other"
	if out := d.must(elsewhere); out.Task == id {
		t.Error("a key counts in another room")
	}
	d.must(CancelTask{Task: id})
	if out := d.must(c); out.Task != id {
		t.Error("a task that was canceled is made again")
	}
	for _, key := range []string{"two words", "line\n", strings.Repeat("k", noun.MaxTaskKey+1), "\xff"} {
		bad := c
		bad.Key = key
		d.want(noun.Invalid, bad)
	}
	d.must(DeleteRoom{Room: "demo"})
	d.pass(time.Minute)
	d.room("demo", noun.RoleSpec{Name: "w"})
	if out := d.must(c); out.Task == id {
		t.Error("the key of a task that is gone is taken")
	}
}
