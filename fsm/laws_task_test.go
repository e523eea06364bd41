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

// hand joins an agent by hand and returns its speaker.
func (d *drive) hand(name string) Speaker {
	d.t.Helper()
	return Speaker{Agent: name, Inc: d.must(Join{Speaker: Speaker{Agent: name}}).Inc}
}

// at brings a new task of role "w" into a state; its holder is demo/w.
func (d *drive) at(st noun.TaskState) (Speaker, Work) {
	d.t.Helper()
	d.room("demo", noun.RoleSpec{Name: "w", AttemptLimit: 9, KillLimit: 1, Runner: "worker"}, noun.RoleSpec{Name: "v"})
	h := d.host("h1", "worker")
	sp := d.start("demo/w", h)
	d.must(Join{Speaker: sp})
	if st == noun.TaskQueued {
		d.must(CreateTask{Room: "demo", Role: "w", Priority: 1})
	}
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	w := Work{Speaker: sp, Task: id, Attempt: 1}
	if st > noun.TaskPending {
		d.must(Claim{Speaker: sp, Task: id})
	}
	switch st {
	case noun.TaskInProgress:
		d.must(StartTask{Work: w})
	case noun.TaskCompleted:
		d.must(CompleteTask{Work: w, Result: "ok"})
	case noun.TaskFailed:
		d.must(FailTask{Work: w, Reason: "no"})
	case noun.TaskCanceled:
		d.must(CancelTask{Task: id})
	case noun.TaskQuarantined:
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 9})
		sp = d.start("demo/w", h)
		d.must(Join{Speaker: sp})
	}
	if got := d.s.Task(id).State; got != st {
		d.t.Fatalf("the task is %s, not %s", got, st)
	}
	return sp, w
}

// Every word about a task in every state: what it answers and where it leads.
func TestTaskTransitions(t *testing.T) {
	type end struct {
		code noun.Code
		to   noun.TaskState
	}
	states := []noun.TaskState{noun.TaskQueued, noun.TaskPending, noun.TaskAcknowledged, noun.TaskInProgress,
		noun.TaskCompleted, noun.TaskFailed, noun.TaskCanceled, noun.TaskQuarantined}
	stay := func(code noun.Code) []end {
		list := make([]end, len(states))
		for i, st := range states {
			list[i] = end{code, st}
		}
		return list
	}
	table := func(def noun.Code, changes map[noun.TaskState]end) []end {
		list := stay(def)
		for st, e := range changes {
			list[st-1] = e
		}
		return list
	}
	words := map[string]struct {
		cmd  func(Speaker, Work) Command
		ends []end
	}{
		"claim": {func(sp Speaker, w Work) Command { return Claim{Speaker: sp, Task: w.Task} },
			table(noun.Conflict, map[noun.TaskState]end{
				noun.TaskPending: {noun.OK, noun.TaskAcknowledged}, noun.TaskAcknowledged: {noun.OK,
					noun.TaskAcknowledged}, noun.TaskInProgress: {noun.OK, noun.TaskInProgress}})},
		"start": {func(_ Speaker, w Work) Command { return StartTask{Work: w} },
			table(noun.Superseded, map[noun.TaskState]end{
				noun.TaskAcknowledged: {noun.OK, noun.TaskInProgress},
				noun.TaskInProgress:   {noun.OK, noun.TaskInProgress}})},
		"progress": {func(_ Speaker, w Work) Command { return ProgressTask{Work: w, Note: "n"} },
			table(noun.Superseded, map[noun.TaskState]end{
				noun.TaskAcknowledged: {noun.OK, noun.TaskInProgress},
				noun.TaskInProgress:   {noun.OK, noun.TaskInProgress}})},
		"complete": {func(_ Speaker, w Work) Command { return CompleteTask{Work: w, Result: "ok"} },
			table(noun.Superseded, map[noun.TaskState]end{
				noun.TaskAcknowledged: {noun.OK, noun.TaskCompleted},
				noun.TaskInProgress:   {noun.OK, noun.TaskCompleted},
				noun.TaskCompleted:    {noun.OK, noun.TaskCompleted}})},
		"fail": {func(_ Speaker, w Work) Command { return FailTask{Work: w} },
			table(noun.Superseded, map[noun.TaskState]end{
				noun.TaskAcknowledged: {noun.OK, noun.TaskFailed}, noun.TaskInProgress: {noun.OK, noun.TaskFailed},
				noun.TaskFailed: {noun.OK, noun.TaskFailed}})},
		"give back": {func(_ Speaker, w Work) Command { return FailTask{Work: w, Retryable: true} },
			table(noun.Superseded, map[noun.TaskState]end{
				noun.TaskAcknowledged: {noun.OK, noun.TaskPending}, noun.TaskInProgress: {noun.OK, noun.TaskPending},
				noun.TaskFailed: {noun.OK, noun.TaskFailed}})},
		"hand off": {func(_ Speaker, w Work) Command { return Handoff{Work: w, ToRole: "v"} },
			table(noun.Superseded, map[noun.TaskState]end{
				noun.TaskAcknowledged: {noun.OK, noun.TaskCompleted},
				noun.TaskInProgress:   {noun.OK, noun.TaskCompleted},
				noun.TaskCompleted:    {noun.Conflict, noun.TaskCompleted}})},
		"cancel": {func(_ Speaker, w Work) Command { return CancelTask{Task: w.Task} },
			table(noun.Conflict, map[noun.TaskState]end{
				noun.TaskQueued: {noun.OK, noun.TaskCanceled}, noun.TaskPending: {noun.OK, noun.TaskCanceled},
				noun.TaskAcknowledged: {noun.OK, noun.TaskCanceled},
				noun.TaskInProgress:   {noun.OK, noun.TaskCanceled}, noun.TaskCanceled: {noun.OK, noun.TaskCanceled}})},
		"retry": {func(_ Speaker, w Work) Command { return RetryTask{Task: w.Task} },
			table(noun.Conflict, map[noun.TaskState]end{
				noun.TaskFailed: {noun.OK, noun.TaskPending}, noun.TaskCanceled: {noun.OK, noun.TaskPending},
				noun.TaskQuarantined: {noun.OK, noun.TaskPending}})},
		"leave": {func(sp Speaker, _ Work) Command { return Leave{Speaker: sp} }, table(noun.OK, map[noun.TaskState]end{
			noun.TaskAcknowledged: {noun.OK, noun.TaskPending}, noun.TaskInProgress: {noun.OK, noun.TaskPending}})},
	}
	for name, w := range words {
		for i, st := range states {
			t.Run(fmt.Sprintf("%s/%s", name, st), func(t *testing.T) {
				d := newDrive(t)
				sp, work := d.at(st)
				out := d.do(w.cmd(sp, work))
				got := d.s.Task(work.Task).State
				want := w.ends[i]
				if out.Code != want.code || got != want.to {
					t.Fatalf("%s (%s), now %s; want %s, %s", out.Code, out.Detail, got, want.code, want.to)
				}
				if out.Code != noun.OK && out.Detail == "" {
					t.Fatal("refused without a word")
				}
			})
		}
	}
}

func TestL11AttemptLimitFailsTask(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", AttemptLimit: 3})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	for n := uint32(1); n <= 3; n++ {
		d.must(Claim{Speaker: sp})
		d.must(FailTask{Work: Work{Speaker: sp, Task: id, Attempt: n}, Retryable: true})
	}
	if x := d.s.Task(id); x.State != noun.TaskFailed || !strings.Contains(x.Result, "attempt limit") {
		t.Fatalf("%+v", x)
	}
	d.want(noun.NoTask, Claim{Speaker: sp})
	d.must(RetryTask{Task: id})
	d.want(noun.Superseded, CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 3}, Result: "late"})
	if out := d.must(Claim{Speaker: sp}); out.Attempt != 4 {
		t.Fatalf("attempt %d after a retry: numbers must only grow", out.Attempt)
	}
	if x := d.s.Task(id); x.Charged != 0 || len(x.Late) != 1 {
		t.Fatalf("%+v", x)
	}
}

func TestL11KillLimitQuarantinesTask(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.KillLimit = 2 }))
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	for n := range 2 {
		for d.agent("demo/b").NotBefore > d.clock {
			d.beat(h, 0)
			d.pass(time.Second)
		}
		sp := d.start("demo/b", h)
		d.must(Join{Speaker: sp})
		d.must(Claim{Speaker: sp})
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Signal: "segmentation fault"})
		if want := []noun.TaskState{noun.TaskPending, noun.TaskQuarantined}[n]; d.s.Task(id).State != want {
			t.Fatalf("after %d deaths it is %s", n+1, d.s.Task(id).State)
		}
	}
}

// A stop on purpose, a host that comes back without it, or a silent host are no
// fault of the task.
func TestL11OnlyFaultsAreCharged(t *testing.T) {
	for name, end := range map[string]func(*drive, Speaker, noun.HostID){
		"stopped": func(d *drive, sp Speaker, h noun.HostID) {
			d.must(SetAgent{Agent: sp.Agent, Stop: true})
			d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Signal: "terminated"})
		},
		"host silent":          func(d *drive, _ Speaker, _ noun.HostID) { d.pass(61 * time.Second) },
		"host back without it": func(d *drive, _ Speaker, _ noun.HostID) { d.host("h1", "worker") },
		"left":                 func(d *drive, sp Speaker, _ noun.HostID) { d.must(Leave{Speaker: sp}) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrive(t)
			h := d.host("h1", "worker")
			d.room("demo", managed("b"))
			id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
			sp := d.start("demo/b", h)
			d.must(Join{Speaker: sp})
			d.must(Claim{Speaker: sp})
			end(d, sp, h)
			if x := d.s.Task(id); x.State != noun.TaskPending || x.Charged != 0 || x.Kills != 0 {
				t.Fatalf("%+v", x)
			}
			if a := d.agent("demo/b"); a.Failures != 0 || a.NotBefore != 0 {
				t.Fatalf("the agent was charged: %+v", a)
			}
		})
	}
}

func TestL8HandoffIsOneStep(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"}, noun.RoleSpec{Name: "v"})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	h := Handoff{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: "built", ToRole: "v", Title: "review"}
	bad := h
	bad.ToRole = "nobody"
	d.want(noun.NotFound, bad)
	bad = h
	bad.Title = strings.Repeat("x", noun.MaxTitle+1)
	d.want(noun.Invalid, bad)
	if d.s.Task(id).State != noun.TaskAcknowledged {
		t.Fatal("a refused hand-off completed the task")
	}
	first := d.must(h)
	again := d.must(h)
	if next := d.s.Task(first.Task); first.Task != again.Task || next.Parent != id ||
		next.State != noun.TaskPending || d.s.Task(id).Next != next.ID {
		t.Fatalf("%+v, then %+v", first, again)
	}
	if n := d.s.Meta.NextTask; n != 3 {
		t.Fatalf("%d tasks", n-1)
	}
}

func TestPromoteOrderAndReplicas(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", Replicas: 2})
	for _, prio := range []int32{0, 0, 5, 9, 5} {
		d.must(CreateTask{Room: "demo", Role: "w", Priority: prio})
	}
	role := d.agent("demo/w").Role
	if n := d.s.Pending(role); n != 2 {
		t.Fatalf("%d tasks are PENDING for 2 replicas", n)
	}
	sp := d.hand("demo/w")
	var got []noun.TaskID
	for range 5 {
		out := d.must(Claim{Speaker: sp})
		got = append(got, out.Task)
		d.must(CompleteTask{Work: Work{Speaker: sp, Task: out.Task, Attempt: 1}, Result: ""})
	}
	// 1 and 2 were PENDING at once; from then on the highest priority, then the
	// oldest, moves up whenever a place is free.
	if fmt.Sprint(got) != "[1 4 3 5 2]" {
		t.Fatalf("claimed in the order %v", got)
	}
}

func TestL2AcknowledgementLimit(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", AckLimit: 30 * time.Second})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	d.pass(29 * time.Second)
	d.beat(0, BeatLease, 1)
	if d.s.Task(id).State != noun.TaskAcknowledged {
		t.Fatal("too early")
	}
	d.pass(time.Second)
	if x := d.s.Task(id); x.State != noun.TaskPending || x.Charged != 1 {
		t.Fatalf("%+v", x)
	}
	if a := d.agent("demo/w"); a.Task != 0 || a.Part != noun.PartActive {
		t.Fatalf("%+v", a)
	}
	d.want(noun.Superseded, StartTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}})
}

func TestProgressLimitMovesWithProgress(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", ProgressLimit: 20 * time.Second})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	for range 6 {
		d.must(ProgressTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Note: "still at it"})
		d.pass(15 * time.Second)
		d.beat(0, BeatLease, 1)
	}
	if d.s.Task(id).State != noun.TaskInProgress {
		t.Fatal("progress did not move the limit")
	}
	d.pass(5 * time.Second)
	if d.s.Task(id).State != noun.TaskPending {
		t.Fatal("no progress was not noticed")
	}
}

func TestPendingOverdueIsSaidOnce(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", PendingLimit: 10 * time.Second})
	d.must(CreateTask{Room: "demo", Role: "w"})
	d.pass(60 * time.Second)
	n := 0
	for e := range d.s.Events(0) {
		if e.Kind == "task.overdue" {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("said %d times", n)
	}
}

func TestL8LateResultsAreKept(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", Replicas: 2})
	a, b := d.hand("demo/w"), d.hand("demo/w.2")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: a})
	d.must(Leave{Speaker: a})
	d.must(Claim{Speaker: b})
	for range 2 {
		d.want(noun.Superseded, CompleteTask{Work: Work{Speaker: a, Task: id, Attempt: 1}, Result: "mine"})
	}
	for i := range 5 {
		d.want(noun.Superseded, CompleteTask{Work: Work{Speaker: a, Task: id, Attempt: 1},
			Result: fmt.Sprint("again ", i)})
	}
	x := d.s.Task(id)
	if x.State != noun.TaskAcknowledged || len(x.Late) != 3 || x.Late[2].Result != "again 4" {
		t.Fatalf("%+v", x)
	}
	d.want(noun.Invalid, CompleteTask{Work: Work{Speaker: b, Task: id, Attempt: 2},
		Result: strings.Repeat("x", noun.MaxResult+1)})
	d.must(CompleteTask{Work: Work{Speaker: b, Task: id, Attempt: 2}, Result: "done"})
}

func TestTaskLimitsAreRefused(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	sp := d.hand("demo/w")
	for _, c := range []Command{
		CreateTask{Room: "demo", Role: "w", Title: strings.Repeat("x", noun.MaxTitle+1)},
		CreateTask{Room: "demo", Role: "w", Text: strings.Repeat("x", noun.MaxTaskText+1)},
		CreateTask{Room: "demo", Role: "w", Title: "\xff"},
		SetResume{Speaker: sp, Resume: strings.Repeat("x", noun.MaxResume+1)},
		OpenSession{Client: strings.Repeat("x", 257)},
	} {
		d.want(noun.Invalid, c)
	}
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	d.want(noun.Invalid, ProgressTask{Work: Work{Speaker: sp, Task: id, Attempt: 1},
		Note: strings.Repeat("x", noun.MaxNote+1)})
	d.want(noun.Invalid, FailTask{Work: Work{Speaker: sp, Task: id, Attempt: 1},
		Reason: strings.Repeat("x", noun.MaxReason+1)})
	d.want(noun.NotFound, CreateTask{Room: "nowhere", Role: "w"})
	d.want(noun.NotFound, CreateTask{Room: "demo", Role: "x"})
	d.want(noun.NotFound, CancelTask{Task: 99})
	d.want(noun.NotFound, CompleteTask{Work: Work{Speaker: sp, Task: 99, Attempt: 1}, Result: ""})
	d.must(SetResume{Speaker: sp, Resume: "x"})
}

// L3: priority holds for what is offered, too, as long as nobody has claimed it: with one replica an urgent task
// waited for the whole of a lower one. What is put back keeps its place.
func TestL3UrgentTasksTakeThePlaceOfLowerOnes(t *testing.T) {
	for _, level := range []uint32{core.Baseline, core.LevelRetry} {
		d := newDrive(t)
		if level > core.Baseline {
			d.must(RaiseLevel{Level: level})
		}
		d.room("demo", noun.RoleSpec{Name: "b", Replicas: 2})
		add := func(prio int32, after time.Duration) noun.TaskID {
			return d.must(CreateTask{Room: "demo", Role: "b", Priority: prio, After: after}).Task
		}
		pending := func(want ...noun.TaskID) {
			t.Helper()
			d.s = reload(t, d.s)
			var got []noun.TaskID
			for id := noun.TaskID(1); d.s.Task(id) != nil; id++ {
				if d.s.Task(id).State == noun.TaskPending {
					got = append(got, id)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("level %d: %d are offered, want %d", level, got, want)
			}
		}
		first, second := add(0, 0), add(0, 0)
		urgent := add(5, 0)
		if level == core.Baseline {
			pending(first, second)
			continue
		}
		pending(first, urgent) // the newer of two equal ones makes room
		same := add(0, 0)
		pending(first, urgent)
		later := add(3, time.Minute)
		d.pass(time.Minute)
		pending(urgent, later)
		d.must(CancelTask{Task: urgent})
		pending(first, later) // by its place, before those that came behind it
		d.must(RetryTask{Task: urgent})
		pending(urgent, later)
		d.must(CancelTask{Task: later})
		d.must(CancelTask{Task: urgent})
		pending(first, second)
		d.must(CancelTask{Task: first})
		pending(second, same)
	}
}

// A task that is claimed is not put back for a more urgent one, nor does a task overtake an equal one.
func TestL3UrgentTasksLeaveWhatIsClaimed(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	d.room("demo", noun.RoleSpec{Name: "b"})
	held := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	sp := Speaker{Agent: "demo/b", Inc: d.must(Join{Speaker: Speaker{Agent: "demo/b"}}).Inc}
	d.must(Claim{Speaker: sp})
	low := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	urgent := d.must(CreateTask{Room: "demo", Role: "b", Priority: 9}).Task
	d.must(CreateTask{Room: "demo", Role: "b", Priority: 9})
	if a, b, c := d.s.Task(held), d.s.Task(low), d.s.Task(urgent); !a.State.Held() || b.State != noun.TaskQueued ||
		c.State != noun.TaskPending {
		t.Errorf("the held one is %s, the low one %s, the urgent one %s", a.State, b.State, c.State)
	}
}

// inOrder fails the test when a task is offered while a more urgent one of its role waits.
func (d *drive) inOrder(role noun.RoleID) {
	d.t.Helper()
	var offered, waits *noun.Task
	for x := range d.s.Tasks(0) {
		switch {
		case x.Role != role:
		case x.State == noun.TaskPending && (offered == nil || x.Priority < offered.Priority):
			offered = x
		case x.State == noun.TaskQueued && !x.Delayed() && (waits == nil || x.Priority > waits.Priority):
			waits = x
		}
	}
	if offered == nil || waits == nil {
		d.t.Fatal("nothing is offered, or nothing waits")
	}
	if offered.Priority < waits.Priority {
		d.t.Errorf("task %d of priority %d is offered, task %d of %d waits", offered.ID, offered.Priority, waits.ID,
			waits.Priority)
	}
}

// L3: whatever brings a task back, or has kept the order from being made, urgent tasks do not wait for the whole of a
// lower one afterwards.
func TestL3UrgentTasksComeFirstWhateverComesBack(t *testing.T) {
	add := func(d *drive, room, role string, prio int32, n int) {
		d.t.Helper()
		for range n {
			d.must(CreateTask{Room: room, Role: role, Priority: prio})
		}
	}
	t.Run("a holder leaves", func(t *testing.T) {
		d := newRetryDrive(t)
		d.room("demo", noun.RoleSpec{Name: "b"})
		sp := d.hand("demo/b")
		low := d.must(CreateTask{Room: "demo", Role: "b"}).Task
		d.must(Claim{Speaker: sp})
		add(d, "demo", "b", 9, 2)
		d.must(Leave{Speaker: sp})
		if st := d.s.Task(low).State; st != noun.TaskQueued || d.s.Pending(d.agent("demo/b").Role) != 2 {
			t.Errorf("it is %s, %d are offered", st, d.s.Pending(d.agent("demo/b").Role))
		}
		d.inOrder(d.agent("demo/b").Role)
	})
	t.Run("a human reopens the room", func(t *testing.T) {
		x := newSilentRoom(t)
		x.must(RaiseLevel{Level: core.LevelRetry})
		urgent := x.must(CreateTask{Room: "r", Role: "a", Priority: 9}).Task
		x.cancel()
		x.must(ReopenRoom{Room: "r", By: "ann"})
		if x.s.Task(urgent).State != noun.TaskPending {
			t.Errorf("%+v", x.s.Task(urgent))
		}
		x.inOrder(x.agent("r/a").Role)
	})
	t.Run("a human's word is carried out in steps", func(t *testing.T) {
		d := newRetryDrive(t)
		d.room("demo", noun.RoleSpec{Name: "b", Replicas: 3000})
		for d.s.Unfinished(d.s.Room("demo")) > 0 {
			d.apply(d.entry())
		}
		role := d.agent("demo/b").Role
		reqs := []Request{{Cmd: ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "b", Replicas: 3}}}}}
		for n := range 7 {
			reqs = append(reqs, Request{Cmd: CreateTask{Room: "demo", Role: "b", Priority: int32(n / 3)}})
		}
		d.apply(d.entry(reqs...))
		if d.s.Role(role).Below == 0 {
			t.Fatal("it is carried out already")
		}
		d.s = reload(t, d.s) // L12
		for d.s.Unfinished(d.s.Room("demo")) > 0 {
			d.apply(d.entry())
		}
		d.apply(d.entry())
		d.inOrder(role)
	})
	t.Run("a half-open role opens", func(t *testing.T) {
		x := newOutage(t, 4, 40)
		x.trip()
		add(x.drive, "demo", "w", 9, 40)
		for x.half() != nil {
			x.probe(false)
		}
		x.inOrder(x.role)
	})
	t.Run("the level is raised", func(t *testing.T) {
		d := newDrive(t)
		d.room("demo", noun.RoleSpec{Name: "b", Replicas: 2})
		add(d, "demo", "b", 0, 2)
		add(d, "demo", "b", 9, 3)
		d.must(RaiseLevel{Level: core.LevelRetry})
		d.inOrder(d.agent("demo/b").Role)
	})
}
