package fsm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// set changes settings.
func (d *drive) set(pairs ...string) {
	d.t.Helper()
	var list []noun.KV
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, noun.KV{Key: pairs[i], Value: pairs[i+1]})
	}
	d.must(PutSettings{Values: list})
}

// use gives how much is used of a budget.
func (d *drive) use(name string) BudgetUse {
	for _, u := range d.s.Budgets() {
		if u.Name == name {
			return u
		}
	}
	d.t.Fatalf("there is no budget %q", name)
	return BudgetUse{}
}

// untilFull repeats a command until it is refused, and gives that answer and the count.
func (d *drive) untilFull(c Command) (int, noun.Outcome) {
	d.t.Helper()
	for n := range 100_000 {
		switch out := d.do(c); out.Code {
		case noun.OK:
		case noun.Full:
			return n, out
		default:
			d.t.Fatalf("%T, the %dth: %+v", c, n+1, out)
		}
	}
	d.t.Fatalf("%T is never refused", c)
	return 0, noun.Outcome{}
}

// F7: whatever has a length is charged, in every type that is.
func TestF07EveryTextIsCharged(t *testing.T) {
	charged(t, noun.CostOfRoom)
	charged(t, noun.CostOfRole)
	charged(t, noun.CostOfAgent)
	charged(t, noun.CostOfTask)
	charged(t, noun.CostOfMail)
	charged(t, noun.CostOfHost)
	charged(t, noun.CostOfSession)
	charged(t, noun.CostOfEvent)
	charged(t, noun.CostOfEscalation)
	charged(t, noun.CostOfToken)
	charged(t, noun.CostOfCredential)
	charged(t, noun.CostOfUser)
	charged(t, noun.CostOfAPIToken)
}

func charged[T any](t *testing.T, cost func(*T) int64) {
	var v T
	lengthen(t, reflect.ValueOf(&v).Elem(), reflect.TypeFor[T]().Name(), func() int64 { return cost(&v) })
}

// lengthen gives one field after the other of a struct a length, and sees what it costs more.
func lengthen(t *testing.T, v reflect.Value, name string, cost func() int64) {
	dearer := func(what string, by int64, change func()) {
		was := cost()
		change()
		if more := cost() - was; more < by {
			t.Errorf("%s costs %d more, want at least %d", what, more, by)
		}
	}
	switch v.Kind() {
	case reflect.String:
		dearer(name, 1000, func() { v.SetString(strings.Repeat("x", 1000)) })
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				lengthen(t, v.Field(i), name+"."+f.Name, cost)
			}
		}
	case reflect.Pointer:
		dearer(name, int64(v.Type().Elem().Size()), func() { v.Set(reflect.New(v.Type().Elem())) })
		lengthen(t, v.Elem(), name, cost)
	case reflect.Slice:
		switch name {
		case "Role.Agents": // the agents pay
			return
		case "Session.Answers": // so many are paid for in advance
			v.Set(reflect.MakeSlice(v.Type(), noun.LeastAnswers, noun.LeastAnswers))
		}
		was := v.Len()
		dearer(name, int64(v.Type().Elem().Size()), func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
		lengthen(t, v.Index(was), name+"[]", cost)
	}
}

// F7: new tasks are refused when nine tenths are used, and say what is full, how much and
// what helps; nothing else is refused, and finished tasks make place.
func TestF07NewTasksAreRefusedWhenTheBudgetIsFull(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 2})
	d.room("s", noun.RoleSpec{Name: "a"})
	d.set("budget_tasks", "1MiB", "budget_room_share", "100")
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	big := CreateTask{Room: "r", Role: "a", Title: "t", Text: strings.Repeat("x", 20_000), By: "ann"}
	n, out := d.untilFull(big)
	if n < 40 || n > 46 {
		t.Errorf("%d tasks of 20 kB fit into nine tenths of 1 MiB", n)
	}
	for _, word := range []string{"tasks of room \"r\"", "921.6 KiB", "budget_tasks or budget_room_share",
		"cancel some"} {
		if !strings.Contains(out.Detail, word) {
			t.Errorf("the refusal does not say %q: %s", word, out.Detail)
		}
	}
	if u := d.use("tasks"); u.Used > u.Limit || !u.High() {
		t.Errorf("use is %+v", u)
	}
	if d.s.Figures().Full != 1 {
		t.Errorf("%d refusals are counted", d.s.Figures().Full)
	}
	// the cluster is full, not that room
	d.want(noun.Full, CreateTask{Room: "s", Role: "a", Title: "t", Text: big.Text})
	got := d.must(Claim{Speaker: me})
	d.must(ProgressTask{Work: Work{Speaker: me, Task: got.Task, Attempt: got.Attempt},
		Note: strings.Repeat("n", noun.MaxNote)})
	d.want(noun.Full, Handoff{Work: Work{Speaker: me, Task: got.Task, Attempt: got.Attempt},
		ToRole: "a", Title: "t", Text: strings.Repeat("x", 20_000)})
	if d.s.Task(got.Task).State != noun.TaskInProgress {
		t.Fatalf("a refused hand-off left the task %s", d.s.Task(got.Task).State)
	}
	// into the reserve
	d.must(CompleteTask{Work: Work{Speaker: me, Task: got.Task, Attempt: got.Attempt},
		Result: strings.Repeat("r", 30_000)})
	if r := d.s.Task(got.Task).Result; len(r) != 30_000 {
		t.Errorf("the result has %d bytes, want all of them", len(r))
	}
	d.must(big) // the text of the finished one goes
	if done := d.s.Task(got.Task); done.Text != "" || done.Result != "" ||
		done.Dropped != 20_000+30_000+noun.MaxNote || !done.TextGone {
		t.Errorf("the finished task has a text of %d bytes, a result of %d, %d dropped", len(done.Text),
			len(done.Result), done.Dropped)
	}
	d.must(CancelTask{Task: 3, By: "ann"})
	d.must(DeleteRoom{Room: "r", By: "ann"})
	d.pass(2 * time.Minute)
	d.must(CreateTask{Room: "s", Role: "a", Title: "t", Text: big.Text})
}

// F7: of old finished tasks the texts go first, the oldest first, then the tasks.
func TestF07TextsOfOldFinishedTasksGoFirst(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"})
	d.set("budget_tasks", "256KiB", "budget_room_share", "100", "max_open_tasks", "1000")
	text := strings.Repeat("x", 5_000)
	last := noun.TaskID(0)
	for range 2000 {
		last = d.must(CreateTask{Room: "r", Role: "a", Title: "t", Text: text}).Task
		d.must(CancelTask{Task: last, By: "ann", Reason: "enough"})
	}
	gone, bare, whole := 0, 0, 0
	for id := noun.TaskID(1); id <= last; id++ {
		switch task := d.s.Task(id); {
		case task == nil:
			gone++
		case task.TextGone:
			bare++
		default:
			whole++
		}
		if whole > 0 && d.s.Task(id).TextGone {
			t.Fatalf("task %d has lost its text and an older one has not", id)
		}
	}
	if gone == 0 || bare == 0 || whole == 0 {
		t.Errorf("%d tasks are gone, %d without a text, %d whole", gone, bare, whole)
	}
	first := last - noun.TaskID(bare+whole) + 1
	if out := d.want(noun.Conflict, RetryTask{Task: first, By: "ann"}); !strings.Contains(out.Detail,
		"create the task anew") {
		t.Errorf("a retry without the text: %s", out.Detail)
	}
	d.must(RetryTask{Task: last, By: "ann"})
}

// F7: facts are never refused. When the reserve is used up too their texts are cut, with a
// mark, and the whole stays within the budget.
func TestF07FactsAreCutWhenTheReserveIsUsedUp(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("r", managed("a", func(r *noun.RoleSpec) { r.Replicas = 20 }))
	d.set("budget_tasks", "64KiB", "budget_agents", "64KiB", "budget_room_share", "100", "starts_per_host",
		"100", "starts_per_second", "1000")
	d.untilFull(CreateTask{Room: "r", Role: "a", Title: "t", Text: strings.Repeat("x", 2000)})
	cut := 0
	for i := range 20 {
		name := noun.AgentName("r", "a", uint32(i+1))
		me := d.start(name, h)
		d.must(Join{Speaker: me})
		got := d.must(Claim{Speaker: me})
		d.must(CompleteTask{Work: Work{Speaker: me, Task: got.Task, Attempt: got.Attempt},
			Result: strings.Repeat("r", 10_000)})
		if task := d.s.Task(got.Task); len(task.Result) < 10_000 {
			if cut++; task.Dropped != uint64(10_000-len(task.Result)) {
				t.Errorf("%d bytes are left, %d dropped", len(task.Result), task.Dropped)
			}
		}
		d.must(ReportExit{Host: h, Agent: d.agent(name).ID, Inc: me.Inc, Code: 1,
			Tail: strings.Repeat("e", noun.MaxTail)})
		if x := d.agent(name).LastExit; x == nil || x.Code != 1 {
			t.Fatalf("the exit of %s is not kept: %+v", name, x)
		}
		for _, name := range []string{"tasks", "agents"} {
			if u := d.use(name); u.Used > u.Budget+2048 { // what cannot be cut
				t.Fatalf("%+v is beyond its budget", u)
			}
		}
	}
	if last := d.agent("r/a.20").LastExit; len(last.Tail) == noun.MaxTail {
		t.Error("nothing of the last agent's output was cut")
	}
	d.must(SetAgent{Agent: "r/a", Stop: true, By: "ann", Reason: strings.Repeat("w", noun.MaxReason)})
	d.must(SetPause{Scope: "r", Pause: true, By: "ann", Reason: strings.Repeat("w", noun.MaxReason)})
	d.want(noun.Full,
		ApplyRoom{Room: "r", Roles: []noun.RoleSpec{managed("a", func(r *noun.RoleSpec) { r.Replicas = 200 })}})
	d.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{managed("a", func(r *noun.RoleSpec) { r.Replicas = 5 })}})
}

// F7: a mail to many is charged for each of them, so that a restart, which makes copies of
// what was shared, needs no more than was counted.
func TestF07EachCopyOfAMailIsCharged(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 100})
	was := d.use("mail").Used
	d.must(SendMail{To: "r", From: "ann", Subject: "s", Body: strings.Repeat("b", 16_000)})
	if more := d.use("mail").Used - was; more < 100*16_000 || more > 100*17_000 {
		t.Errorf("100 copies of 16 kB cost %d bytes", more)
	}
	if got := reload(t, d.s); got.Budgets()[noun.ForMail] != d.use("mail") {
		t.Errorf("after a load mail costs %+v, before %+v", got.Budgets()[noun.ForMail], d.use("mail"))
	}
	d.set("budget_mail", "2MiB", "budget_room_share", "100")
	if out := d.want(noun.Full, SendMail{To: "r", From: "ann", Subject: "s",
		Body: strings.Repeat("b", 16_000)}); !strings.Contains(out.Detail, "budget_mail") {
		t.Errorf("the refusal: %s", out.Detail)
	}
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	for _, m := range d.read(me) {
		d.must(AckMail{Speaker: me, Mail: m.ID})
	}
	left := d.s.MailTable.Len()
	d.must(SendMail{To: "r/a.2", From: "ann", Subject: "s", Body: strings.Repeat("b", 16_000)})
	d.untilFull(SendMail{To: "r/a.2", From: "ann", Subject: "s", Body: strings.Repeat("b", 16_000)})
	if d.s.Mail(1) != nil || d.s.MailTable.Len() <= left {
		t.Errorf("closed mail is kept while new mail is refused: %d mails, before %d", d.s.MailTable.Len(), left)
	}
}

// F7: what agents say of themselves is charged; joins by hand are refused when the budget is
// full, and so is a longer resume value. Who is there may declare and leave.
func TestF07JoinsByHandAreRefusedWhenTheBudgetIsFull(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 20})
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	d.must(SetResume{Speaker: me, Resume: strings.Repeat("x", 2000)})
	d.set("budget_agents", "32KiB")
	if out := d.want(noun.Full, Join{Speaker: Speaker{Agent: "r/a.2"}}); !strings.Contains(out.Detail,
		"budget_agents") {
		t.Errorf("the refusal: %s", out.Detail)
	}
	d.want(noun.Full, SetResume{Speaker: me, Resume: strings.Repeat("x", 3000)})
	d.must(SetResume{Speaker: me, Resume: strings.Repeat("x", 1000)})
	d.must(Declare{Speaker: me, Status: noun.StatusBusy, For: time.Minute, Text: "compiling"})
	d.must(Join{Speaker: me})
	d.must(Leave{Speaker: me})
}

// F7: one room may use its share and no more, so that a flood in it stops no other.
func TestF07ARoomMayUseItsShare(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"})
	d.room("s", noun.RoleSpec{Name: "a"})
	d.set("budget_tasks", "1MiB", "budget_room_share", "40")
	text := strings.Repeat("x", 10_000)
	_, out := d.untilFull(CreateTask{Room: "r", Role: "a", Title: "t", Text: text})
	if u := d.use("tasks"); u.Used > u.Budget*4/10 || !strings.Contains(out.Detail, `room "r"`) {
		t.Errorf("%+v is used by one room: %s", u, out.Detail)
	}
	d.must(CreateTask{Room: "s", Role: "a", Title: "t", Text: text})
	list := d.s.RoomBudgets(10)
	if len(list) != 1 || list[0].Room != "r" || list[0].Name != "tasks" ||
		!strings.Contains(list[0].Warning(), `of room "r"`) {
		t.Errorf("rooms to be warned of: %+v", list)
	}
}

// F7: a backup above the budget loads, loses nothing, refuses growth, and everything that
// shrinks it works.
func TestF07ABackupAboveTheBudgetLoads(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 50})
	for range 50 {
		d.must(CreateTask{Room: "r", Role: "a", Title: "t", Text: strings.Repeat("x", 5_000)})
	}
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	d.set("budget_tasks", "64KiB", "budget_agents", "16KiB", "max_rooms", "1", "max_open_tasks", "10")
	d.s = reload(t, d.s)
	if n := d.s.Counts().Tasks[noun.TaskPending]; n != 50 || d.s.Task(1).Text == "" {
		t.Fatalf("%d tasks are left", n)
	}
	d.want(noun.Full, CreateTask{Room: "r", Role: "a", Title: "t"})
	d.want(noun.Full, ApplyRoom{Room: "other", Roles: []noun.RoleSpec{{Name: "a"}}})
	d.want(noun.Full, Join{Speaker: Speaker{Agent: "r/a.2"}})
	got := d.must(Claim{Speaker: me})
	d.must(CompleteTask{Work: Work{Speaker: me, Task: got.Task, Attempt: got.Attempt}, Result: "done"})
	d.must(CancelTask{Task: 9, By: "ann"})
	d.must(DeleteRoom{Room: "r", By: "ann"})
	d.pass(2 * time.Minute)
	if u := d.use("tasks"); u.Used != 0 {
		t.Errorf("an empty cluster has %+v", u)
	}
	d.room("other", noun.RoleSpec{Name: "a"})
	d.must(CreateTask{Room: "other", Role: "a", Title: "t"})
}

// F7: answers that a full budget has made a session forget are never executed again.
func TestF07ForgottenAnswersAreNotExecutedAgain(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"})
	id := d.must(OpenSession{Client: "c"}).Session
	write := func(seq uint64, c Command) noun.Outcome {
		return d.apply(d.entry(Request{Session: id, Seq: seq, Cmd: c})).Outcomes[0]
	}
	create := CreateTask{Room: "r", Role: "a", Title: "t"}
	for seq := uint64(1); seq <= 30; seq++ {
		if out := write(seq, create); out.Code != noun.OK {
			t.Fatalf("%+v", out)
		}
	}
	d.set("budget_sessions", "16KiB")
	for range 12 {
		d.do(OpenSession{Client: "other"})
	}
	d.want(noun.Full, OpenSession{Client: "one more"})
	for seq := uint64(31); seq <= 64; seq++ {
		write(seq, create)
	}
	made, forgotten := d.s.Meta.NextTask, 0
	for seq := uint64(1); seq <= 64; seq++ {
		switch out := write(seq, create); {
		case out.Code == noun.TooOld && seq <= 64-noun.LeastAnswers:
			forgotten++
		case out.Code != noun.OK || out.Task != noun.TaskID(seq):
			t.Errorf("write %d again: %+v", seq, out)
		}
	}
	if forgotten == 0 {
		t.Error("no answer was forgotten")
	}
	if d.s.Meta.NextTask != made {
		t.Errorf("%d writes were executed twice", d.s.Meta.NextTask-made)
	}
}

// F7: history is a ring in bytes too: the oldest events go, nothing is refused.
func TestF07TheOldestEventsGoWhenHistoryIsFull(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"})
	d.set("budget_history", "64KiB")
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	for i := range 200 {
		d.must(SetAgent{Agent: "r/a", Stop: i%2 == 0, By: "ann", Reason: strings.Repeat("w", 900)})
	}
	if u := d.use("history"); u.Used > u.Budget || d.s.Meta.FirstEvent == 1 || d.s.EventTable.Len() < 20 {
		t.Errorf("%+v with %d events from %d on", u, d.s.EventTable.Len(), d.s.Meta.FirstEvent)
	}
	_ = me
}

// S7: what may exist is bounded in number, and what is there goes on.
func TestS07RoomsHostsSessionsTasksAndAgentsAreBounded(t *testing.T) {
	next := 0
	for setting, grow := range map[string]func() Command{
		"max_rooms": func() Command {
			return ApplyRoom{Room: fmt.Sprint("x", next), Roles: []noun.RoleSpec{{Name: "a"}}}
		},
		"max_agents": func() Command {
			return ApplyRoom{Room: fmt.Sprint("x", next), Roles: []noun.RoleSpec{{Name: "a"}}}
		},
		"max_hosts":      func() Command { return RegisterHost{Key: fmt.Sprint("x", next), Name: "h", Boot: "b"} },
		"max_sessions":   func() Command { return OpenSession{Client: "c"} },
		"max_open_tasks": func() Command { return CreateTask{Room: "r", Role: "a", Title: "t"} },
	} {
		t.Run(setting, func(t *testing.T) {
			d := newDrive(t)
			d.room("r", noun.RoleSpec{Name: "a"})
			d.host("h1", "worker")
			d.set(setting, "7", "budget_room_share", "100")
			made := 0
			for next = 0; ; next++ {
				out := d.do(grow())
				if out.Code == noun.Full {
					if !strings.Contains(out.Detail, setting) || !strings.Contains(out.Detail, "7") {
						t.Errorf("the refusal: %s", out.Detail)
					}
					break
				}
				if made++; out.Code != noun.OK || made > 7 {
					t.Fatalf("the %dth: %+v", made, out)
				}
			}
			if made < 6 {
				t.Errorf("only %d more were allowed", made)
			}
			d.host("h1", "worker") // who is known may say so again
			d.room("r", noun.RoleSpec{Name: "a"})
			d.set(setting, "8")
			d.must(grow())
		})
	}
}

// S7: five requests of 361 bytes must not make half a million agents where a budget does
// not have the memory for them.
func TestS07SlotsOfAgentsCostWhatTheyTake(t *testing.T) {
	d := newDrive(t)
	d.set("budget_agents", "8MiB", "budget_room_share", "100")
	roles := make([]noun.RoleSpec, 10)
	for i := range roles {
		roles[i] = noun.RoleSpec{Name: fmt.Sprint("role", i), Replicas: 10_000}
	}
	for i := range 5 {
		d.want(noun.Full, ApplyRoom{Room: fmt.Sprint("r", i), Roles: roles})
	}
	if n := d.s.AgentTable.Len(); n != 0 {
		t.Errorf("%d agents were made by refused requests", n)
	}
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 10_000})
	if u := d.use("agents"); u.Used < 10_000*500 {
		t.Errorf("10,000 agents are charged %d bytes", u.Used)
	}
}
