package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// L11: a role with nothing but tasks that always fail stays half-open, and tries them slowly. After twenty times their
// limit failures count again, so that this ends.
func TestL11HalfOpenRoleGivesBadTasksUp(t *testing.T) {
	x := newOutage(t, 1, 2, func(r *noun.RoleSpec) { r.AttemptLimit, r.KillLimit = 3, 2 })
	attempts := map[noun.TaskID]int{}
	for x.half() == nil {
		attempts[x.attempt(0, true)]++
		x.jump(10 * time.Minute)
	}
	for x.s.Counts().Tasks[noun.TaskQueued]+x.s.Counts().Tasks[noun.TaskPending] > 0 {
		id, _ := x.probe(true)
		if attempts[id]++; attempts[id]%20 == 0 {
			x.s = reload(t, x.s) // L12
		}
		if attempts[id] > 100 {
			t.Fatalf("after %d attempts: %+v, %+v", attempts[id], x.s.Task(id), x.s.Task(id).Retried())
		}
	}
	for _, id := range x.tasks {
		if k := x.s.Task(id); k.State != noun.TaskFailed || attempts[id] < 60 || attempts[id] > 62 {
			t.Errorf("after %d attempts: %+v, %+v", attempts[id], k, k.Retried())
		}
	}
	good := x.must(CreateTask{Room: "demo", Role: "w"}).Task // the others are not on its account
	x.probe(true)
	if k := x.s.Task(good); k.State != noun.TaskQueued || k.Charged != 0 {
		t.Errorf("%+v", k)
	}
}

// L11: a task of a half-open role from which lives only leave, or are lost, ends as well.
func TestL11HalfOpenRoleGivesTasksUpThatNobodyKeeps(t *testing.T) {
	x := newOutage(t, 1, 2, func(r *noun.RoleSpec) { r.AttemptLimit, r.KillLimit = 3, 2 })
	for x.half() == nil {
		x.attempt(0, true)
		x.jump(10 * time.Minute)
	}
	bad := x.tasks[0]
	for n := 0; x.s.Task(bad).State != noun.TaskQuarantined; n++ {
		if n > 200 {
			t.Fatalf("after %d lives: %+v, %+v", n, x.s.Task(bad), x.s.Task(bad).Retried())
		}
		x.jump(10 * time.Minute)
		x.must(Join{Speaker: x.me[0]})
		if out := x.do(Claim{Speaker: x.me[0]}); out.Task == bad {
			x.must(Leave{Speaker: x.me[0]})
		} else if out.Code == noun.OK {
			x.must(FailTask{Work: Work{Speaker: x.me[0], Task: out.Task, Attempt: out.Attempt}, Reason: "503", Retryable: true})
		}
	}
}

// L11: the bad task of a lone agent is given up at its attempt limit, although another one was some days before. Soon
// after it what they depend on may be away, and the role half-opens.
func TestL11SecondBadTaskOfALoneAgent(t *testing.T) {
	for pause, half := range map[time.Duration]bool{time.Hour: true, 25 * time.Hour: false} {
		x := newOutage(t, 1, 1)
		bad := func() noun.TaskState {
			for x.half() == nil && x.attempt(0, true) != 0 {
				x.jump(10 * time.Minute)
			}
			return x.s.Task(x.tasks[len(x.tasks)-1]).State
		}
		if st := bad(); st != noun.TaskFailed || x.half() != nil {
			t.Fatalf("the first one is %s, %+v", st, x.half())
		}
		x.jump(pause)
		x.tasks = append(x.tasks, x.must(CreateTask{Room: "demo", Role: "w"}).Task)
		if st := bad(); (x.half() != nil) != half || (st == noun.TaskFailed) == half {
			t.Errorf("%s later it is %s, %+v", pause, st, x.half())
		}
	}
}

// Who looks for the cause has to see that it is in no single agent: beyond those that are named the others are counted.
func TestN30EscalationCountsTheAgents(t *testing.T) {
	x := newOutage(t, 8, 20)
	x.must(PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: "8"}}})
	x.trip()
	const names = "demo/w.8, demo/w.7, demo/w.6, demo/w.5, demo/w.4 and 3 more"
	if e := x.escalated(); !slices.Contains(e.Facts, noun.KV{Key: "agents", Value: names}) {
		t.Errorf("%+v", e.Facts)
	}
	if texts := x.eventTexts("role.half_open"); len(texts) != 1 ||
		!strings.Contains(texts[0], ", of "+names+", the last") {
		t.Errorf("%q", texts)
	}
}

// L11: a role that opens offers its tasks in bounded entries, however many wait and it has replicas, the most urgent
// ones where a human has had others offered before.
func TestL11GreatRolesOpenInSteps(t *testing.T) {
	x := newOutage(t, 4, 8)
	x.trip()
	x.whole(Request{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "w", Replicas: wide, TTL: time.Hour}}}})
	for first := 0; first < 2*wide; first += 2048 {
		var reqs []Request
		for n := range 2048 {
			prio := int32(0)
			if n%2 == 0 {
				prio = 1
			}
			reqs = append(reqs, Request{Cmd: CreateTask{Room: "demo", Role: "w", Title: "t", Priority: prio}})
		}
		x.s.Apply(x.entry(reqs...))
	}
	for range 3 {
		x.probe(false)
	}
	var reqs []Request
	for id, k := range x.s.TaskTable.From(0) {
		if k.Priority == 0 && k.State == noun.TaskQueued && len(reqs) < 2048 {
			reqs = append(reqs, Request{Cmd: RetryTask{Task: id, By: "ann"}})
		}
	}
	x.s.Apply(x.entry(reqs...))
	sp := x.me[0]
	x.must(Join{Speaker: sp})
	out := x.must(Claim{Speaker: sp})
	if h := x.half(); h == nil || h.Allowed != noun.MostProbes {
		t.Fatalf("%+v", h)
	}
	x.clock += noun.Time(100 * time.Millisecond)
	done := CompleteTask{Work: Work{Speaker: sp, Task: out.Task, Attempt: out.Attempt}}
	entries := x.bounded(x.entry(Request{Cmd: done}), func(n int) {
		if n%3 == 0 {
			x.s = reload(t, x.s)
		}
	})
	if x.half() != nil || entries < 3 || x.s.Pending(x.role) != wide {
		t.Fatalf("after %d entries %d tasks are offered, half-open: %+v", entries, x.s.Pending(x.role), x.half())
	}
	for id, k := range x.s.TaskTable.From(0) {
		if k.Priority > 0 && k.State == noun.TaskQueued {
			t.Fatalf("task %d is more urgent than some that are offered, and waits", id)
		}
	}
}

// nearlyOpen brings the role to where the next word opens it, and gives what is tried then.
func (x *outage) nearlyOpen() (held []Work) {
	x.t.Helper()
	x.trip()
	for range 3 {
		x.probe(false)
	}
	for _, sp := range x.me {
		x.must(Join{Speaker: sp})
		if out := x.do(Claim{Speaker: sp}); out.Code == noun.OK {
			held = append(held, Work{Speaker: sp, Task: out.Task, Attempt: out.Attempt})
		}
	}
	return held
}

// Who opens a role with its word, and asks for the next task in it, gets one, although none was offered before.
func TestN30WhoOpensARoleGetsItsNextTask(t *testing.T) {
	x := newOutage(t, 10, 40)
	held := x.nearlyOpen()
	if len(held) != noun.MostProbes || x.s.Pending(x.role) != 0 {
		t.Fatalf("%d are tried, %d offered: %+v", len(held), x.s.Pending(x.role), x.half())
	}
	out := x.must(CompleteTask{Work: held[0], Then: Then{Next: true}})
	if x.half() != nil || out.Task == 0 || x.s.Task(out.Task).State != noun.TaskAcknowledged {
		t.Errorf("half-open: %+v, and the answer is %+v", x.half(), out)
	}
}

// L12: a role that would offer its tasks in later entries is no longer among those that do once there is nothing to
// offer, as a server finds that is restored then.
func TestL12ARoleWithNothingToOfferDoesNotGrow(t *testing.T) {
	x := newOutage(t, 10, 20)
	held := x.nearlyOpen()
	reqs := []Request{{Cmd: ApplyRoom{Room: "wide", Roles: []noun.RoleSpec{wideRole()}}}, // no step is left
		{Cmd: CompleteTask{Work: held[0]}}}
	for id, k := range x.s.TaskTable.From(0) {
		if k.State == noun.TaskQueued {
			reqs = append(reqs, Request{Cmd: CancelTask{Task: id}})
		}
	}
	if len(reqs) < 3 {
		t.Fatal("no task waits")
	}
	x.s.Apply(x.entry(reqs...))
	if x.half() != nil {
		t.Fatalf("%+v", x.half())
	}
	if err := x.s.Check(); err != nil {
		t.Error(err)
	}
}
