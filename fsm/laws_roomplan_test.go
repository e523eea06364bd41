package fsm

import (
	"fmt"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// replicas declares a role with so many agents.
func replicas(n uint32, mods ...func(*noun.RoleSpec)) noun.RoleSpec {
	return managed("b", append([]func(*noun.RoleSpec){func(r *noun.RoleSpec) { r.Replicas = n }}, mods...)...)
}

// twoAtWork is a role of three managed agents, of which the first and the last have a task.
func twoAtWork(t *testing.T) (*drive, noun.HostID, []Work) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", replicas(3))
	var work []Work
	for i := uint32(1); i <= 3; i++ {
		sp := d.start(noun.AgentName("demo", "b", i), h)
		d.must(Join{Speaker: sp})
		if i == 2 {
			continue
		}
		id := d.must(CreateTask{Room: "demo", Role: "b", Title: fmt.Sprint(i)}).Task
		d.must(Claim{Speaker: sp, Task: id})
		work = append(work, Work{Speaker: sp, Task: id, Attempt: 1})
	}
	return d, h, work
}

// N27: with fewer replicas those at work finish their task first, take no other, and end;
// those without a task end at once.
func TestN27SurplusAgentsFinishTheirTaskFirst(t *testing.T) {
	d, h, work := twoAtWork(t)
	d.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{replicas(1)}, Gentle: true})
	last, idle := d.agent("demo/b.3"), d.agent("demo/b.2")
	if last.Order != noun.NoOrder || !last.Surplus || last.Retired || idle.Order != noun.StopOrder ||
		!idle.Retired || d.agent("demo/b").Surplus {
		t.Fatalf("at work %+v, idle %+v", last, idle)
	}
	d.must(CreateTask{Room: "demo", Role: "b", Title: "for the first"})
	d.must(ProgressTask{Work: work[1], Note: "still at it"})
	d.must(CompleteTask{Work: work[1], Result: "done"})
	if last = d.agent("demo/b.3"); last.Order != noun.StopOrder || !last.Retired || last.Surplus {
		t.Fatalf("after its task %+v", last)
	}
	d.want(noun.Stopped, Claim{Speaker: work[1].Speaker})
	d.must(ReportExit{Host: h, Agent: 3, Inc: 1, Signal: "terminated"})
	d.must(ReportExit{Host: h, Agent: 2, Inc: 1, Signal: "terminated"})
	if d.agent("demo/b.3") != nil || d.agent("demo/b.2") != nil || d.agent("demo/b").Task != work[0].Task {
		t.Fatal("two agents are to be gone, and the first at work")
	}
}

// N27: a surplus agent that dies at work is not started again; its task goes to another.
func TestN27SurplusAgentThatDiesIsNotStartedAgain(t *testing.T) {
	d, h, work := twoAtWork(t)
	d.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{replicas(2)}})
	d.must(ReportExit{Host: h, Agent: 3, Inc: 1, Code: 1})
	if d.agent("demo/b.3") != nil || d.s.Task(work[1].Task).State != noun.TaskPending {
		t.Fatalf("the agent is %+v, the task %s", d.agent("demo/b.3"), d.s.Task(work[1].Task).State)
	}
	d.must(Claim{Speaker: Speaker{Agent: "demo/b.2", Inc: 1}, Task: work[1].Task})
}

// N27: more replicas again take the mark back, and --now ends those at work.
func TestN27SurplusIsTakenBackOrEndedAtOnce(t *testing.T) {
	d, _, work := twoAtWork(t)
	d.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{replicas(1)}})
	d.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{replicas(3)}})
	if a := d.agent("demo/b.3"); a.Surplus || a.Retired || a.Order != noun.NoOrder {
		t.Fatalf("%+v", a)
	}
	now := ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{replicas(1)}, Now: true, Gentle: true}
	rev := d.s.Room("demo").Rev
	if d.want(noun.Conflict, now); d.s.Room("demo").Rev != rev || d.agent("demo/b.3").Order != noun.NoOrder {
		t.Fatal("a refused change has changed something")
	}
	now.Gentle = false
	d.must(now)
	if a := d.agent("demo/b.3"); a.Order != noun.StopOrder || !a.Retired || a.Task != work[1].Task {
		t.Fatalf("%+v", a)
	}
}

// N27: who was started by hand finishes too, gets no other task, and goes with its lease.
func TestN27SurplusAgentByHandFinishesToo(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "b", Replicas: 2})
	sp := d.hand("demo/b.2")
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "b", Replicas: 1}}})
	d.must(CreateTask{Room: "demo", Role: "b"})
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: "done"})
	d.want(noun.Stopped, Claim{Speaker: sp})
	d.pass(2 * time.Minute)
	if d.agent("demo/b.2") != nil {
		t.Fatalf("%+v", d.agent("demo/b.2"))
	}
}

// N27: what a plan says is what happens, for all changes of a room in all phases of a life.
func TestN27ThePlanIsWhatHappens(t *testing.T) {
	for name, c := range map[string]ApplyRoom{
		"fewer":      {Roles: []noun.RoleSpec{replicas(1)}},
		"fewer, now": {Roles: []noun.RoleSpec{replicas(1)}, Now: true},
		"stopped": {Roles: []noun.RoleSpec{replicas(3,
			func(r *noun.RoleSpec) { r.Desired = noun.DesiredStopped })}},
		"more":        {Roles: []noun.RoleSpec{replicas(5)}},
		"another too": {Roles: []noun.RoleSpec{replicas(3), managed("c")}},
	} {
		d, _, _ := twoAtWork(t)
		c.Room = "demo"
		if out := d.s.CheckRoom(&c); out.Code != noun.OK {
			t.Fatalf("%s: %+v", name, out)
		}
		plan := d.s.PlanApply(&c)
		var ends, finishes []noun.AgentID
		starts := uint32(0)
		for _, r := range plan.Roles {
			ends, finishes, starts = append(ends, r.Ends...), append(finishes, r.Finishes...), starts+r.Starts
		}
		harm, _ := d.s.Harm(&plan)
		wanted := wantedOf(d.s)
		d.must(c)
		var ended, finishing []noun.AgentID
		hurt := uint32(0)
		for a := range d.s.Agents("") {
			if a.Order == noun.StopOrder {
				if ended = append(ended, a.ID); a.Task != 0 {
					hurt++
				}
			}
			if a.Surplus {
				finishing = append(finishing, a.ID)
			}
		}
		if fmt.Sprint(ends, finishes, harm) != fmt.Sprint(ended, finishing, hurt) ||
			int(starts) != wantedOf(d.s)-wanted {
			t.Errorf("%s: planned ends %v, finishes %v, %d at work, %d starts; happened %v, %v, %d, %d",
				name, ends, finishes, harm, starts,
				ended, finishing, hurt, wantedOf(d.s)-wanted)
		}
	}
}

// N27: a room with open tasks or agents at work is not deleted gently.
func TestN27GentleDeleteHarmsNothing(t *testing.T) {
	d, _, work := twoAtWork(t)
	d.must(CreateTask{Room: "demo", Role: "b"})
	plan := d.s.PlanDelete("demo")
	if atWork, canceled := d.s.Harm(&plan); atWork != 2 || canceled != 3 || len(plan.Roles[0].Ends) != 3 {
		t.Fatalf("%d at work, %d canceled: %+v", atWork, canceled, plan)
	}
	d.want(noun.Conflict, DeleteRoom{Room: "demo", Gentle: true})
	if d.s.Task(work[0].Task).State.Terminal() || d.s.Room("demo").Deleting {
		t.Fatal("a refused deletion has changed something")
	}
	d.must(DeleteRoom{Room: "demo"})
	if !d.s.Task(work[0].Task).State.Terminal() || d.agent("demo/b").Order != noun.StopOrder {
		t.Fatal("it was not deleted")
	}
}

func wantedOf(s *State) (n int) {
	for range s.Wanting() {
		n++
	}
	return n
}
