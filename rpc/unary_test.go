package rpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func TestLifeOfATask(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	task := w.task(0, "demo", "builder", "first")
	if task.GetState() != vigilv1.TaskState_PENDING || task.GetText() != "" {
		t.Fatalf("created task is %v with text %q, want PENDING without text", task.GetState(), task.GetText())
	}
	me := w.join("demo/builder")
	work := w.work(0)
	claim, err := work.Claim(within(t), &vigilv1.ClaimRequest{Speaker: me})
	if err != nil {
		t.Fatal(err)
	}
	if claim.GetTask().GetText() != "secret work" || claim.GetAttempt() != 1 || claim.GetIndex() == 0 {
		t.Fatalf("claim answered %v", claim)
	}
	again, err := work.Claim(within(t), &vigilv1.ClaimRequest{Speaker: me})
	if err != nil || again.GetTask().GetId() != task.GetId() || again.GetAttempt() != 1 {
		t.Fatalf("second claim of the same incarnation: %v, %v; want the same task and attempt", again, err)
	}
	word := &vigilv1.WorkRequest{Speaker: me, Task: task.GetId(), Attempt: 1}
	started, err := work.StartTask(within(t), word)
	if err != nil || started.GetState() != vigilv1.TaskState_IN_PROGRESS {
		t.Fatalf("start: %v, %v", started, err)
	}
	done, err := work.CompleteTask(within(t), &vigilv1.CompleteTaskRequest{Speaker: me, Task: task.GetId(),
		Attempt: 1, Result: "all done"})
	if err != nil || done.GetState() != vigilv1.TaskState_COMPLETED {
		t.Fatalf("complete: %v, %v", done, err)
	}
	got, err := w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task.GetId()})
	if err != nil || got.GetResult() != "all done" || got.GetText() != "secret work" ||
		got.GetHolder() != "demo/builder" {
		t.Fatalf("get: %v, %v", got, err)
	}
	list, err := w.fleet(0).ListTasks(within(t), &vigilv1.ListTasksRequest{Room: "demo"})
	if err != nil || len(list.GetTasks()) != 1 || list.GetTasks()[0].GetText() != "" ||
		list.GetTasks()[0].GetResult() != "" {
		t.Fatalf("list shows text or result: %v, %v", list, err)
	}
	if _, err := work.Leave(within(t), &vigilv1.LeaveRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
}

func TestSupersededIsRefused(t *testing.T) { // law L6
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.task(0, "demo", "builder", "first")
	old := w.join("demo/builder")
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: old}); err != nil {
		t.Fatal(err)
	}
	w.join("demo/builder")
	_, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: old})
	if codeOf(err) != "superseded" {
		t.Fatalf("claim of an old incarnation: %v, want superseded", err)
	}
}

func TestWriteIDMakesRepeatingSafe(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	s, err := w.work(0).OpenSession(within(t), &vigilv1.OpenSessionRequest{Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	req := &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "once",
		Id: &vigilv1.WriteId{Session: s.GetSession(), Seq: 1}}
	first, err := w.fleet(0).CreateTask(within(t), req)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.fleet(0).CreateTask(within(t), req)
	if err != nil || second.GetId() != first.GetId() {
		t.Fatalf("repeated write made task %v (%v), want %d", second, err, first.GetId())
	}
	for range 2 {
		if _, err := w.work(0).CloseSession(within(t),
			&vigilv1.CloseSessionRequest{Session: s.GetSession()}); err != nil {
			t.Fatalf("close session: %v", err)
		}
	}
	_, err = w.fleet(0).CreateTask(within(t), req)
	if codeOf(err) != "unknown_session" {
		t.Fatalf("write in a closed session: %v, want unknown_session", err)
	}
}

func TestConflictBringsTheRevision(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	task := w.task(0, "demo", "builder", "first")
	_, err := w.fleet(0).CancelTask(within(t), &vigilv1.CancelTaskRequest{Task: task.GetId(),
		IfRev: task.GetRev() + 100})
	if p := fault.Of(err); p.Code != "conflict" || p.Rev != task.GetRev() {
		t.Fatalf("got %v with rev %d, want conflict with %d", err, p.Rev, task.GetRev())
	}
}

func TestBatchAnswersEachWrite(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 2)
	me := w.join("demo/builder")
	r, err := w.work(0).Batch(within(t), &vigilv1.BatchRequest{Writes: []*vigilv1.Write{
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder",
			Title: "a", Text: "text a"}}},
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "No Such",
			Role: "builder", Title: "b"}}},
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "nowhere", Role: "builder",
			Title: "c"}}},
		{Op: &vigilv1.Write_Claim{Claim: &vigilv1.ClaimRequest{Speaker: me}}},
		{},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range r.GetResults() {
		got = append(got, x.GetError().GetCode())
	}
	if want := "|invalid|not_found||invalid"; strings.Join(got, "|") != want {
		t.Fatalf("codes %q, want %q", strings.Join(got, "|"), want)
	}
	if r.GetResults()[3].GetClaimed().GetText() != "text a" {
		t.Fatalf("claim in a batch answered %v", r.GetResults()[3])
	}
}

func TestBeatRenewsAndTellsExceptions(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	agent, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: me.GetAgent()})
	if err != nil {
		t.Fatal(err)
	}
	id := agent.GetAgent().GetId()
	r, err := w.work(0).Beat(within(t), &vigilv1.BeatRequest{Agents: []uint32{id, id + 7},
		Incarnations: []uint64{me.GetIncarnation(), 1}, Kinds: []uint32{fsm.BeatLease, fsm.BeatLease}})
	if err != nil || r.GetRenewed() != 1 || len(r.GetExceptions()) != 1 ||
		r.GetExceptions()[0].GetVerdict() != "unknown" {
		t.Fatalf("beat: %v, %v", r, err)
	}
	w.advance(2 * 60 * 1e9)
	r, err = w.work(0).Beat(within(t), &vigilv1.BeatRequest{Agents: []uint32{id},
		Incarnations: []uint64{me.GetIncarnation()}, Kinds: []uint32{fsm.BeatLease}})
	if err != nil || len(r.GetExceptions()) != 1 || r.GetExceptions()[0].GetVerdict() != "rejoin" {
		t.Fatalf("beat after the lease: %v, %v; want rejoin", r, err)
	}
}

func TestListsArePaged(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 7)
	w.room("other", "tester", 3)
	for range 5 {
		w.task(0, "demo", "builder", "x")
		w.task(0, "other", "tester", "y")
	}
	var ids []uint64
	for after := uint64(0); ; {
		page, err := w.fleet(0).ListTasks(within(t), &vigilv1.ListTasksRequest{Room: "other", After: after, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.GetTasks() {
			ids = append(ids, task.GetId())
		}
		if after = page.GetNext(); after == 0 {
			break
		}
	}
	if len(ids) != 5 {
		t.Fatalf("paged through tasks %v, want 5 of them", ids)
	}
	back, err := w.fleet(0).ListTasks(within(t), &vigilv1.ListTasksRequest{NewestFirst: true, Limit: 3})
	if err != nil || len(back.GetTasks()) != 3 || back.GetTasks()[0].GetId() != 10 || back.GetNext() != 8 {
		t.Fatalf("newest first: %v, %v", back, err)
	}
	names := map[string]bool{}
	for after := ""; ; {
		page, err := w.fleet(0).ListAgents(within(t), &vigilv1.ListAgentsRequest{After: after, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.GetAgents() {
			names[a.GetName()] = true
		}
		if after = page.GetNext(); after == "" {
			break
		}
	}
	if len(names) != 10 {
		t.Fatalf("paged through agents %v, want 10", names)
	}
	rooms, err := w.fleet(0).ListRooms(within(t), &vigilv1.ListRoomsRequest{Limit: 1})
	if err != nil || len(rooms.GetRooms()) != 1 || rooms.GetNext() != "demo" {
		t.Fatalf("rooms: %v, %v", rooms, err)
	}
	if _, err = w.fleet(0).ListTasks(within(t), &vigilv1.ListTasksRequest{Limit: 1001}); codeOf(err) != "invalid" {
		t.Fatalf("limit 1001: %v, want invalid", err)
	}
}

func TestHostRegistersAndReports(t *testing.T) {
	w := start(t, 1)
	_, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "builder", Runner: "sh", StopGrace: durationpb.New(1e9)}}})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1", Boot: "b1",
		Runners: []string{"sh"}})
	if err != nil || reg.GetHost() == 0 || reg.GetTtl().AsDuration() <= 0 {
		t.Fatalf("register: %v, %v", reg, err)
	}
	agent := w.order(t, "demo/builder", noun.HostID(reg.GetHost()))
	acc, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: reg.GetHost(), Boot: "b1",
		Agent: agent.GetId(), Incarnation: agent.GetIncarnationRaw()})
	if err != nil || acc.GetTtl().AsDuration() <= 0 {
		t.Fatalf("accept: %v, %v", acc, err)
	}
	if _, err := w.host(0).ReportStarted(within(t), &vigilv1.ReportStartedRequest{Host: reg.GetHost(),
		Agent: agent.GetId(), Incarnation: agent.GetIncarnationRaw(), Pid: 42}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // idempotent by incarnation
		if _, err := w.host(0).ReportExit(within(t), &vigilv1.ReportExitRequest{Host: reg.GetHost(),
			Agent:       agent.GetId(),
			Incarnation: agent.GetIncarnationRaw(), Code: 3, Tail: "boom"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	x := got.GetAgent().GetLastExit()
	if x.GetKind() != "crash" || x.GetCode() != 3 || x.GetTail() != "boom" || x.GetHost() != "h1" {
		t.Fatalf("last exit: %v", x)
	}
	if len(got.GetEvents()) == 0 || len(got.GetHosts()) != 1 || got.GetRole().GetRunner() != "sh" {
		t.Fatalf("explanation lacks events, hosts or role: %v", got)
	}
}

// order opens a start order as a duty would.
func (w *world) order(t *testing.T, name string, host noun.HostID) *vigilv1.Agent {
	t.Helper()
	var cmd fsm.OrderStart
	w.nodes[0].Read(func(st *fsm.View) {
		a := st.AgentByName(name)
		cmd = fsm.OrderStart{Agent: a.ID, Inc: st.NextInc(a), Host: host}
	})
	if err := w.do(cmd); err != nil {
		t.Fatal(err)
	}
	got, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: name})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetAgent()
}

func TestStatusAndSettings(t *testing.T) {
	w := start(t, 1)
	st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
	if err != nil || st.GetServer() != "s1" || st.GetLeader() != "s1" || len(st.GetServers()) != 1 ||
		st.GetIndex() == 0 {
		t.Fatalf("status: %v, %v", st, err)
	}
	set, err := w.cluster(0).GetSettings(within(t), &vigilv1.GetSettingsRequest{})
	if err != nil || len(set.GetValues()) == 0 {
		t.Fatalf("settings: %v, %v", set, err)
	}
	if _, err := w.cluster(0).PutSettings(within(t),
		&vigilv1.PutSettingsRequest{Values: map[string]string{"no_such": "1"}}); codeOf(err) != "invalid" {
		t.Fatalf("unknown setting: %v, want invalid", err)
	}
	var name string
	for n := range set.GetValues() {
		if strings.Contains(n, "ack") {
			name = n
		}
	}
	set, err = w.cluster(0).PutSettings(within(t), &vigilv1.PutSettingsRequest{Values: map[string]string{name: "3m"}})
	if err != nil || !strings.HasPrefix(set.GetValues()[name], "3m") {
		t.Fatalf("put %s: %v, %v", name, set.GetValues(), err)
	}
}
