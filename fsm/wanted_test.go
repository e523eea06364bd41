package fsm

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

// Incident I113: what should run and what does are two numbers.
func TestI113WantedAndRunning(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	want := func(what string, wanted, running uint32) {
		t.Helper()
		if n, p := d.s.Wanted(), d.s.Counts().Processes[noun.ProcRunning]; n != wanted || p != running {
			t.Errorf("%s: %d should run and %d do, want %d and %d", what, n, p, wanted, running)
		}
	}
	onDemand := func(r *noun.RoleSpec) { r.Start, r.Replicas = noun.StartOnDemand, 2 }
	three := func(r *noun.RoleSpec) { r.Replicas = 3 }
	d.room("demo", managed("a", three), managed("b", onDemand), noun.RoleSpec{Name: "hand"})
	want("declared", 3, 0)
	d.must(Join{Speaker: Speaker{Agent: "demo/hand"}})
	want("one by hand", 3, 0)
	a := d.start("demo/a", h)
	want("one has started", 3, 1)
	d.must(CreateTask{Room: "demo", Role: "b"})
	want("a task waits for an agent on demand", 4, 1)
	b := d.start("demo/b", h)
	d.must(Join{Speaker: b})
	d.must(Claim{Speaker: b})
	want("which works on it", 4, 2)
	d.must(CompleteTask{Work: Work{Speaker: b, Task: 1, Attempt: 1}, Result: "done"})
	d.must(ReportExit{Host: h, Agent: d.agent("demo/b").ID, Inc: b.Inc})
	want("and has ended", 3, 1)
	for range 3 {
		d.must(CreateTask{Room: "demo", Role: "b"})
	}
	want("more tasks than agents", 5, 1)
	d.must(SetAgent{Agent: "demo/a.2", Stop: true, By: "ann"})
	d.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann"})
	want("a human has stopped two", 3, 1)
	d.must(SetAgent{Agent: "demo/a", Stop: true, By: "ann"})
	want("one of them still runs", 2, 1)
	d.must(ReportExit{Host: h, Agent: d.agent("demo/a").ID, Inc: a.Inc})
	want("and now does not", 2, 0)
	d.room("demo", managed("a", three, func(r *noun.RoleSpec) { r.Desired = noun.DesiredStopped }),
		managed("b", onDemand), noun.RoleSpec{Name: "hand"})
	want("a role is declared as stopped", 1, 0)
	d.must(DeleteRoom{Room: "demo", By: "ann"})
	d.pass(2 * time.Minute)
	want("all deleted", 0, 0)
}
