package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// N32: a role with waiting tasks and nobody who could take one is seen, with the reason, also
// without a runner, and also when its agent by hand has just died with the task.
func TestN32RolesWithWorkAndNoAgentAreSeen(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "b", Replicas: 2})
	seen := func(when string, waiting uint32, says ...string) {
		t.Helper()
		list, more := d.s.Unserved("", 10)
		if waiting == 0 {
			if len(list) != 0 || more != 0 {
				t.Fatalf("%s: %+v", when, list)
			}
			return
		}
		if len(list) != 1 || list[0].Waiting != waiting {
			t.Fatalf("%s: %+v, want %d tasks of one role", when, list, waiting)
		}
		for _, text := range says {
			if !strings.Contains(list[0].Why.Text, text) {
				t.Errorf("%s: %q, without %q", when, list[0].Why.Text, text)
			}
		}
	}
	for range 5 {
		d.must(CreateTask{Room: "demo", Role: "b"})
	}
	seen("at once", 0)
	d.pass(core.UnservedAfter)
	seen("after a while", 5, "no agent of demo/b is there", "vigil wait-for-task --agent demo/b")
	if list, more := d.s.Unserved("", 0); len(list) != 0 || more != 1 {
		t.Fatalf("without room for any: %v, %d more", list, more)
	}
	for room, want := range map[string]int{"demo": 1, "other": 0} {
		if list, _ := d.s.Unserved(room, 10); len(list) != want {
			t.Fatalf("of room %s: %v", room, list)
		}
	}
	sp := d.hand("demo/b")
	seen("somebody is there", 0)
	id := d.must(Claim{Speaker: sp}).Task
	if why := d.s.WhyWaits(d.agent("demo/b").Role); why.Code != "busy" {
		t.Fatalf("%+v", why)
	}
	d.pass(2 * time.Minute) // its lease ends
	if a := d.agent("demo/b"); a.LastExit == nil || a.LastExit.Kind != noun.ExitGone || a.LastExit.Task != id ||
		a.Failures != 0 {
		t.Fatalf("%+v", a.LastExit)
	}
	if g := d.s.Signals(d.agent("demo/b").ID, true); !strings.HasPrefix(g.Exit, "ended with its task: ") {
		t.Errorf("its last life %s", g.Exit)
	}
	seen("it died with its task", 5, "demo/b ended", "with task 1")
	d.must(SetPause{Scope: "demo", Pause: true, By: "ann"})
	seen("a human has paused it", 0)
	d.must(SetPause{Scope: "demo", By: "ann"})
	sp = d.hand("demo/b")
	d.must(Claim{Speaker: sp})
	d.must(Leave{Speaker: sp, Reason: "its process has ended"})
	if x := d.agent("demo/b").LastExit; x.Inc != sp.Inc || x.Task != id {
		t.Fatalf("who leaves with a task: %+v", x)
	}
}

// N32: for roles with a runner it is the reason of the agent that should be there.
func TestN32TheReasonIsThatOfTheAgent(t *testing.T) {
	d := newDrive(t)
	d.room("demo", managed("b"))
	d.must(CreateTask{Room: "demo", Role: "b"})
	d.pass(core.UnservedAfter)
	if list, _ := d.s.Unserved("", 10); len(list) != 1 || list[0].Why.Code != "no_host" ||
		!strings.HasPrefix(list[0].Why.Text, "demo/b: ") {
		t.Fatalf("%+v", list)
	}
	d.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann"})
	if list, _ := d.s.Unserved("", 10); len(list) != 1 || !strings.Contains(list[0].Why.Text, "stopped by ann") {
		t.Fatalf("%+v", list)
	}
}
