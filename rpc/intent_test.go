package rpc

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func (w *world) pause(scope string, pause bool) {
	w.t.Helper()
	_, err := w.fleet(0).SetPause(within(w.t), &vigilv1.SetPauseRequest{Scope: scope, Pause: new(pause),
		By: "ann", Reason: "quota"})
	if err != nil {
		w.t.Fatalf("pause %q %v: %v", scope, pause, err)
	}
}

// L9: a pause is seen by everybody who asks, with who said so and why.
func TestPausesAreShownWithWhoAndWhy(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	ask := func() (*vigilv1.StatusResponse, *vigilv1.Room, *vigilv1.Agent) {
		t.Helper()
		st, err := w.cluster(1).Status(within(t), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		room, err := w.fleet(1).GetRoom(within(t), &vigilv1.GetRoomRequest{Room: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.fleet(1).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
		if err != nil {
			t.Fatal(err)
		}
		return st, room, got.GetAgent()
	}
	w.pause("", true)
	if st, room, a := ask(); !st.GetPaused() || st.GetPauseBy() != "ann" || st.GetPauseWhy() != "quota" ||
		st.GetPauseAt() == nil || room.GetPaused() ||
		a.GetPaused() || a.GetWhyCode() != "all_paused" || !strings.Contains(a.GetWhy(), "ann") {
		t.Fatalf("all paused: %v, %v, %v", st, room, a)
	}
	w.pause("", false)
	w.pause("demo", true)
	if st, room, a := ask(); st.GetPaused() || st.GetPauseBy() != "" || !room.GetPaused() ||
		room.GetPauseBy() != "ann" || room.GetPauseWhy() != "quota" ||
		room.GetPauseAt() == nil || a.GetWhyCode() != "room_paused" {
		t.Fatalf("room paused: %v, %v, %v", st, room, a)
	}
	w.pause("demo", false)
	w.pause("demo/builder", true)
	if _, room, a := ask(); room.GetPaused() || !a.GetPaused() || a.GetDesired() != "paused" ||
		a.GetPauseBy() != "ann" || a.GetPauseWhy() != "quota" ||
		a.GetPauseAt() == nil || a.GetWhyCode() != "paused" {
		t.Fatalf("agent paused: %v, %v", room, a)
	}
	a, err := w.fleet(0).SetAgent(within(t), &vigilv1.SetAgentRequest{Agent: "demo/builder",
		Desired: "stopped", By: "bob", Reason: "noisy"})
	if err != nil || a.GetDesired() != "stopped" || a.GetIntentBy() != "bob" || a.GetIntentWhy() != "noisy" {
		t.Fatalf("stop of a paused agent: %v, %v", a, err)
	}
	if _, err := w.fleet(0).SetPause(within(t),
		&vigilv1.SetPauseRequest{Scope: "nowhere", Pause: new(true)}); codeOf(err) != "not_found" {
		t.Fatalf("pause of an unknown room: %v", err)
	}
}

// L9: who is paused is given no task, and does not keep one from the others.
func TestWaitOfAPausedAgentIsPassedOver(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 2)
	first, second := make(chan waited, 1), make(chan waited, 1)
	w.wait(within(t), 1, 0, w.join("demo/builder"), first)
	w.parkedAt(1, 1)
	w.pause("demo/builder", true)
	w.task(0, "demo", "builder", "one")
	if n := w.servers[1].park.TaskFigures().Woken; n != 0 {
		t.Fatalf("the waiter of a paused agent was woken %d times", n)
	}
	w.wait(within(t), 1, 1, w.join("demo/builder.2"), second)
	if r := <-second; r.err != nil || r.resp.GetTask().GetTitle() != "one" {
		t.Fatalf("the other agent's wait: %v, %v", r.resp, r.err)
	}
	w.task(0, "demo", "builder", "two")
	w.mu.Lock()
	claims := w.claims
	w.mu.Unlock()
	if claims != 1 {
		t.Fatalf("%d claims were written, want 1: a paused waiter goes round in circles", claims)
	}
	w.pause("demo/builder", false)
	if r := <-first; r.err != nil || r.resp.GetTask().GetTitle() != "two" {
		t.Fatalf("the wait after the pause: %v, %v", r.resp, r.err)
	}
}

// L9: while a room is paused its waiters stay parked; the end of the pause wakes them.
func TestWaitOfAPausedRoomIsWokenWhenItResumes(t *testing.T) {
	for _, scope := range []string{"demo", ""} {
		w := start(t, 2)
		w.room("demo", "builder", 1)
		w.pause(scope, true)
		got := make(chan waited, 1)
		me := w.join("demo/builder")
		w.wait(within(t), 1, 0, me, got)
		w.parkedAt(1, 1)
		task := w.task(0, "demo", "builder", "one")
		if n := w.servers[1].park.TaskFigures().Woken; n != 0 {
			t.Fatalf("scope %q: woken %d times while paused", scope, n)
		}
		_, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me, Task: task.GetId()})
		if p := fault.Of(err); p.Code != "stopped" || !strings.Contains(p.Text, "ann") {
			t.Fatalf("scope %q: claim of a named task: %v, want stopped and who", scope, err)
		}
		w.pause(scope, false)
		if r := <-got; r.err != nil || r.resp.GetTask().GetId() != task.GetId() {
			t.Fatalf("scope %q: %v, %v", scope, r.resp, r.err)
		}
	}
}

// L9: whoever asks for a deleted room is told who deleted it.
func TestDeletedRoomNamesWhoDeletedIt(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	if _, err := w.fleet(0).DeleteRoom(within(t), &vigilv1.DeleteRoomRequest{Room: "demo", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	_, room := w.fleet(0).GetRoom(within(t), &vigilv1.GetRoomRequest{Room: "demo"})
	_, agent := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	_, list := w.fleet(0).ListAgents(within(t), &vigilv1.ListAgentsRequest{Room: "demo"})
	_, tasks := w.fleet(0).ListTasks(within(t), &vigilv1.ListTasksRequest{Room: "demo"})
	_, create := w.fleet(0).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x"})
	for what, err := range map[string]error{"room": room, "agent": agent, "agents": list, "tasks": tasks,
		"new task": create} {
		if p := fault.Of(err); p.Code != "not_found" || !strings.Contains(p.Text, "deleted by ann") {
			t.Errorf("%s: %v, want not_found and who deleted the room", what, err)
		}
	}
	w.room("demo", "builder", 1)
	if _, err := w.fleet(0).GetAgent(within(t),
		&vigilv1.GetAgentRequest{Agent: "demo/gone"}); strings.Contains(err.Error(), "deleted") {
		t.Errorf("an unknown agent of a room that was made anew: %v", err)
	}
}

func TestUnparkUnquarantineAndBrakeAreReached(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	if a, err := w.fleet(1).UnparkAgent(within(t), &vigilv1.UnparkAgentRequest{Agent: "demo/builder",
		By: "ann"}); err != nil || a.GetName() != "demo/builder" {
		t.Fatalf("unpark: %v, %v", a, err)
	}
	if _, err := w.fleet(1).UnparkAgent(within(t),
		&vigilv1.UnparkAgentRequest{Agent: "demo/nobody"}); codeOf(err) != "not_found" {
		t.Fatalf("unpark of nobody: %v", err)
	}
	task := w.task(0, "demo", "builder", "x")
	_, err := w.fleet(1).UnquarantineTask(within(t), &vigilv1.UnquarantineTaskRequest{Task: task.GetId(), By: "ann"})
	if p := fault.Of(err); p.Code != "conflict" || !strings.Contains(p.Text, "QUARANTINED") {
		t.Fatalf("unquarantine of a pending task: %v", err)
	}
	if _, err := w.fleet(1).ReleaseBrake(within(t), &vigilv1.ReleaseBrakeRequest{By: "ann"}); err != nil {
		t.Fatalf("release of a brake that is not set: %v", err)
	}
}

func TestRoleCarriesItsLimits(t *testing.T) {
	w := start(t, 1)
	spec := &vigilv1.RoleSpec{Name: "builder", Desired: "paused", TurnLimit: durationpb.New(time.Hour),
		RunLimit: durationpb.New(24 * time.Hour), Runner: "sh"}
	room, err := w.fleet(0).ApplyRoom(within(t),
		&vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{spec}})
	if err != nil {
		t.Fatal(err)
	}
	got := room.GetRoles()[0].GetSpec()
	if got.GetDesired() != "paused" || got.GetTurnLimit().AsDuration() != time.Hour ||
		got.GetRunLimit().AsDuration() != 24*time.Hour {
		t.Fatalf("applied role: %v", got)
	}
	a, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil || a.GetAgent().GetDesired() != "paused" || a.GetAgent().GetWhyCode() != "paused" {
		t.Fatalf("agent of a role that is declared as paused: %v, %v", a, err)
	}
}
