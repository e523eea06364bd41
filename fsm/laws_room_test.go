package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

func TestApplyRoomRefusals(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"}, noun.RoleSpec{Name: "v"})
	rev := d.s.Room("demo").Rev
	role := func(r noun.RoleSpec) Command {
		if r.Name == "" {
			r.Name = "w"
		}
		return ApplyRoom{Room: "x", Roles: []noun.RoleSpec{r}}
	}
	for name, c := range map[string]struct {
		code noun.Code
		cmd  Command
	}{
		"room name":      {noun.Invalid, ApplyRoom{Room: "No"}},
		"long name":      {noun.Invalid, ApplyRoom{Room: strings.Repeat("x", noun.MaxName+1)}},
		"role name":      {noun.Invalid, role(noun.RoleSpec{Name: "-w"})},
		"runner":         {noun.Invalid, role(noun.RoleSpec{Runner: "a/b"})},
		"two of a name":  {noun.Invalid, ApplyRoom{Room: "x", Roles: []noun.RoleSpec{{Name: "w"}, {Name: "w"}}}},
		"too many roles": {noun.Invalid, ApplyRoom{Room: "x", Roles: make([]noun.RoleSpec, noun.MaxRoles+1)}},
		"replicas":       {noun.Invalid, role(noun.RoleSpec{Replicas: noun.MaxReplicas + 1})},
		"short ttl":      {noun.Invalid, role(noun.RoleSpec{TTL: time.Millisecond})},
		"long ttl":       {noun.Invalid, role(noun.RoleSpec{TTL: 25 * time.Hour})},
		"ack limit":      {noun.Invalid, role(noun.RoleSpec{AckLimit: time.Millisecond})},
		"pending limit":  {noun.Invalid, role(noun.RoleSpec{PendingLimit: time.Millisecond})},
		"start limit":    {noun.Invalid, role(noun.RoleSpec{StartLimit: time.Millisecond})},
		"progress limit": {noun.Invalid, role(noun.RoleSpec{ProgressLimit: -1})},
		"long grace":     {noun.Invalid, role(noun.RoleSpec{TTL: time.Minute, StopGrace: 15 * time.Second})},
		"proof":          {noun.Invalid, role(noun.RoleSpec{Proof: 9})},
		"unsorted labels": {noun.Invalid,
			role(noun.RoleSpec{Labels: []noun.KV{{Key: "b", Value: ""}, {Key: "a", Value: ""}}})},
		"doubled params": {noun.Invalid,
			role(noun.RoleSpec{Params: []noun.KV{{Key: "a", Value: ""}, {Key: "a", Value: ""}}})},
		"stale revision":   {noun.Conflict, ApplyRoom{Room: "demo", IfRev: rev + 7}},
		"no such room":     {noun.NotFound, ApplyRoom{Room: "nowhere", IfRev: 3}},
		"delete stale":     {noun.Conflict, DeleteRoom{Room: "demo", IfRev: rev + 7}},
		"delete not there": {noun.NotFound, DeleteRoom{Room: "nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			d.t = t
			out := d.want(c.code, c.cmd)
			if c.code == noun.Conflict && out.Rev != rev {
				t.Fatalf("revision %d, want the current one, %d", out.Rev, rev)
			}
		})
	}
	d.t = t
	d.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "w"}, {Name: "v"}}, IfRev: rev})
	d.must(CreateTask{Room: "demo", Role: "v"})
	d.want(noun.Conflict, ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "w"}}}) // v has an open task
}

// Optimistic locking answers with the current revision.
func TestConflictNamesTheCurrentRevision(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	rev := d.s.Task(id).Rev
	sp := d.hand("demo/w")
	d.must(Claim{Speaker: sp})
	for _, c := range []Command{CancelTask{Task: id, IfRev: rev}, RetryTask{Task: id, IfRev: rev},
		Claim{Speaker: d.other("demo/w"), Task: id + 1}} {
		if out := d.do(c); out.Code == noun.Conflict && out.Rev != d.s.Task(id).Rev && out.Rev != 0 {
			t.Fatalf("%T: %+v", c, out)
		}
	}
	if out := d.want(noun.Conflict, CancelTask{Task: id, IfRev: rev}); out.Rev != d.s.Task(id).Rev {
		t.Fatalf("%+v", out)
	}
	if out := d.want(noun.Conflict, SetAgent{Agent: "demo/w", Stop: true, IfRev: 1}); out.Rev != d.agent("demo/w").Rev {
		t.Fatalf("%+v", out)
	}
	d.must(SetAgent{Agent: "demo/w", Stop: true, IfRev: d.agent("demo/w").Rev})
	d.must(CancelTask{Task: id, IfRev: d.s.Task(id).Rev})
}

func (d *drive) other(name string) Speaker {
	return Speaker{Agent: name, Inc: d.agent(name).Inc}
}

func TestFewerReplicasAndRoles(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 3 }), noun.RoleSpec{Name: "w"})
	sp := d.start("demo/b.3", h)
	d.room("demo", managed("b"), noun.RoleSpec{Name: "w"})
	if d.agent("demo/b.2") != nil {
		t.Fatal("an idle agent beyond the replicas is still there")
	}
	if a := d.agent("demo/b.3"); a == nil || a.Order != noun.StopOrder || !a.Retired {
		t.Fatalf("%+v", a)
	}
	d.must(ReportExit{Host: h, Agent: 3, Inc: sp.Inc})
	if d.agent("demo/b.3") != nil {
		t.Fatal("it has ended and is still there")
	}
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 3 }))
	a := d.agent("demo/b.3")
	if next := d.s.NextInc(a); a.ID == 3 || next <= sp.Inc {
		t.Fatalf("agent %d starts with incarnation %s, below the floor %s", a.ID, next, sp.Inc)
	}
	if d.s.RoleByName("demo", "w") != nil || len(d.s.Room("demo").Roles) != 1 {
		t.Fatal("a role without agents and tasks is still there")
	}
	for i := range 300 { // names that come and go leave nothing behind
		d.room("demo", noun.RoleSpec{Name: fmt.Sprint("r", i)})
	}
	if n := len(d.s.Room("demo").Roles); n != 1 {
		t.Fatalf("%d roles", n)
	}
}

func TestL9DeletedRoomGoesOnceNothingRuns(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"), noun.RoleSpec{Name: "w"})
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	if out := d.must(DeleteRoom{Room: "demo", By: "ann"}); out.Count != 1 {
		t.Fatalf("%+v", out)
	}
	d.must(DeleteRoom{Room: "demo", By: "ann"})
	if d.s.Task(id).State != noun.TaskCanceled || d.agent("demo/b").Order != noun.StopOrder {
		t.Fatalf("%+v", d.agent("demo/b"))
	}
	d.want(noun.Stopped, ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "w"}}})
	d.want(noun.Stopped, CreateTask{Room: "demo", Role: "b"})
	d.want(noun.NotFound, Join{Speaker: Speaker{Agent: "demo/w"}})
	if w := d.s.Why(1); w.Code != "deleting" {
		t.Fatalf("%+v", w)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc})
	if d.s.Room("demo") != nil || d.s.Task(id) != nil || d.agent("demo/b") != nil {
		t.Fatal("the room is still there")
	}
	d.room("demo", managed("b"))
	if next := d.s.NextInc(d.agent("demo/b")); next <= sp.Inc {
		t.Fatalf("incarnation %s of a new agent is not above that of the old one", next)
	}
	if ans := d.beat(h, 0); ans.HostGone {
		t.Fatal("the host went with the room")
	}
}

// A room is deleted whose declared role went before: found by the random test.
func TestDeleteRoomWithRetiredRole(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"}, noun.RoleSpec{Name: "v"})
	d.must(CancelTask{Task: d.must(CreateTask{Room: "demo", Role: "v"}).Task})
	d.room("demo", noun.RoleSpec{Name: "w"})
	if len(d.s.Room("demo").Roles) != 2 {
		t.Fatal("a role that still has tasks is gone")
	}
	d.s = reload(t, d.s) // a role without agents survives a restore
	d.must(PutSettings{})
	if st := d.s.RoleStats(2); st.Agents != 0 || st.Tasks[noun.TaskCanceled] != 1 {
		t.Fatalf("%+v", st)
	}
	d.must(DeleteRoom{Room: "demo"})
	if d.s.Room("demo") != nil || d.s.Role(2) != nil {
		t.Fatal("still there")
	}
}

func TestSettingsRanges(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.Newest})
	for _, x := range noun.SettingTable {
		t.Run(x.Name, func(t *testing.T) {
			d.t = t
			show := func(v int64) string {
				if x.Dur != nil {
					return (time.Duration(v) * time.Millisecond).String()
				}
				if x.Flag != nil && (v == 0 || v == 1) {
					return fmt.Sprint(v == 1)
				}
				return fmt.Sprint(v)
			}
			before := *d.s.Settings()
			for _, v := range []string{show(x.Min - 1), show(x.Max + 1), "", "much"} {
				d.want(noun.Invalid, PutSettings{Values: []noun.KV{{Key: x.Name, Value: v}}})
			}
			if *d.s.Settings() != before {
				t.Fatal("a refused value was taken")
			}
			good := []string{show(x.Max), show(x.Min)}
			if len(x.Words) > 0 {
				good = x.Words
			}
			for _, v := range good {
				if out := d.do(PutSettings{Values: []noun.KV{{Key: x.Name, Value: v}}}); out.Code != noun.OK &&
					x.Name != "ttl" && x.Name != "stop_grace" {
					t.Fatalf("%s: %s", v, out.Detail)
				}
			}
			d.s.Meta.Settings = noun.DefaultSettings()
		})
	}
	d.t = t
	d.want(noun.Invalid, PutSettings{Values: []noun.KV{{Key: "nonsense", Value: "1"}}})
	before := *d.s.Settings()
	// all or none
	d.want(noun.Invalid, PutSettings{Values: []noun.KV{{Key: "ttl", Value: "90s"}, {Key: "kill_limit", Value: "-1"}}})
	// too short for the grace
	d.want(noun.Invalid, PutSettings{Values: []noun.KV{{Key: "ttl", Value: "1s"}}})
	if *d.s.Settings() != before {
		t.Fatal("half of a change was taken")
	}
	d.must(PutSettings{Values: []noun.KV{{Key: "ttl", Value: "1s"}, {Key: "stop_grace", Value: "200ms"}}})
	if info := d.s.Settings().Info(); len(info) != len(noun.SettingTable) || info[0].Value != "1s" ||
		info[0].Default != "1m0s" {
		t.Fatalf("%+v", info[0])
	}
}

func TestEventsAreARing(t *testing.T) {
	d := newDrive(t)
	d.must(PutSettings{Values: []noun.KV{{Key: "events_kept", Value: "1000"}}})
	d.room("demo", noun.RoleSpec{Name: "w"})
	sp := d.hand("demo/w")
	for range 800 {
		d.s.Apply(d.entry(Request{Cmd: Leave{Speaker: sp}}, Request{Cmd: Join{Speaker: sp}}))
	}
	if n := d.s.LastEvent() - d.s.OldestEvent() + 1; n != 1000 {
		t.Fatalf("%d events are kept", n)
	}
	want := d.s.OldestEvent()
	for e := range d.s.Events(0) {
		if e.Seq != want {
			t.Fatalf("event %d, want %d", e.Seq, want)
		}
		want++
	}
	if err := d.s.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestRetentionOfFinishedTasks(t *testing.T) {
	d := newDrive(t)
	d.must(PutSettings{Values: []noun.KV{{Key: "tasks_kept", Value: "10"}, {Key: "task_retention", Value: "1m"}}})
	d.room("demo", noun.RoleSpec{Name: "w", Replicas: 1})
	for range 30 {
		d.must(CancelTask{Task: d.must(CreateTask{Room: "demo", Role: "w"}).Task})
	}
	d.must(PutSettings{})
	if n := d.s.Counts().Tasks[noun.TaskCanceled]; n != 10 {
		t.Fatalf("%d finished tasks are kept", n)
	}
	if d.s.Task(21) == nil || d.s.Task(20) != nil {
		t.Fatal("not the oldest ones went")
	}
	open := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.pass(61 * time.Second)
	if n := d.s.Counts().Tasks[noun.TaskCanceled]; n != 0 || d.s.Task(open) == nil {
		t.Fatalf("%d finished tasks are left", n)
	}
}

// L3: a limit that a role gets while its task is in work counts for that task too.
func TestL3LimitsOfTasksInWorkFollowTheirRole(t *testing.T) {
	d := newDrive(t)
	role := noun.RoleSpec{Name: "a", TTL: time.Hour}
	d.room("r", role)
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.jump(time.Minute)
	role.ProgressLimit = 5 * time.Minute
	d.room("r", role)
	d.jump(4*time.Minute - time.Second)
	if got := d.s.Task(task); got.State != noun.TaskInProgress {
		t.Fatalf("%s before its limit", got.State)
	}
	d.jump(time.Second)
	if got := d.s.Task(task); got.State == noun.TaskInProgress {
		t.Errorf("it is %s after its limit", got.State)
	}
}
