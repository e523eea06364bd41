package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// crowd is a room "crowd" with two builders by hand, of which the second has a task.
func (f *mcpFleet) crowd() (second *client.Worker, task uint64) {
	f.t.Helper()
	must(f.fleet.ApplyRoom(f.ctx(),
		&vigilv1.ApplyRoomRequest{Room: "crowd", By: "test",
			Roles: []*vigilv1.RoleSpec{{Name: "builder", Replicas: 2}}}))(f.t)
	task = must(f.fleet.CreateTask(f.ctx(),
		&vigilv1.CreateTaskRequest{Room: "crowd", Role: "builder", Title: "Build", By: "ann"}))(f.t).GetId()
	second = must(client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "crowd/builder.2"}))(f.t)
	f.t.Cleanup(func() { _ = second.Leave(context.Background(), "the test ends") }) // the server ends too
	must(second.Wait(f.ctx()))(f.t)
	return second, task
}

// writeRoom writes a file of rooms.
func writeRoom(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// N27: apply prints what would start, end and change, and who is at work; what would end
// agents at work is asked on a terminal and refused elsewhere, unless it was said before.
func TestN27ApplyAsksBeforeItEndsAgentsAtWork(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	_, task := f.crowd()
	file := writeRoom(t, t.TempDir(), "room.yaml", "room: crowd\nroles:\n  - name: builder\n    replicas: 1\n")
	env := map[string]string{"VIGIL_ADDR": f.addr}
	unchanged := func(what string) {
		t.Helper()
		if g := f.agent("crowd/builder.2"); g.GetTask() != task || g.GetRetired() ||
			strings.Contains(g.GetWhy(), "fewer") {
			t.Fatalf("%s: the agent is %v", what, g)
		}
	}
	code, out, errs := terminalRun{env: env}.do(t, "apply", "-f", file, "--dry-run")
	if code != 0 || !strings.Contains(out, "replicas 2 -> 1") ||
		!strings.Contains(out, "crowd/builder.2 finishes task 1 first") ||
		!strings.Contains(out, "Nothing was changed.") {
		t.Errorf("dry run: exit code %d, %q, %q", code, out, errs)
	}
	unchanged("dry run")
	code, out, errs = terminalRun{env: env}.do(t, "apply", "-f", file, "--dry-run", "--now")
	if code != 0 || !strings.Contains(out, "1 ended (crowd/builder.2 is at work on task 1)") {
		t.Errorf("dry run of --now: exit code %d, %q, %q", code, out, errs)
	}
	code, out, errs = terminalRun{env: env}.do(t, "apply", "-f", file, "--now")
	if code != cli.ExitConflict || !strings.Contains(errs, "ends 1 agent at work") || !strings.Contains(errs, "--yes") {
		t.Errorf("--now without a terminal: exit code %d, %q, %q", code, out, errs)
	}
	unchanged("--now without a terminal")
	for _, no := range []string{"", "n\n", "yess\n"} {
		code, _, errs = terminalRun{env: env, in: no, attended: true}.do(t, "apply", "-f", file, "--now")
		if code != cli.ExitFailed || !strings.Contains(errs, "Go on? [y/N]") ||
			!strings.Contains(errs, "nothing was changed") {
			t.Errorf("--now and the answer %q: exit code %d, %q", no, code, errs)
		}
		unchanged("--now and the answer " + no)
	}
	// Those at work finish first: nobody has to be asked.
	if code, out, errs = (terminalRun{env: env}).do(t, "apply", "-f", file); code != 0 ||
		!strings.Contains(out, "room crowd applied") {
		t.Errorf("fewer replicas: exit code %d, %q, %q", code, out, errs)
	}
	if g := f.agent("crowd/builder.2"); g.GetTask() != task ||
		!strings.Contains(g.GetWhy(), "ends when its task is over") {
		t.Errorf("the agent is %v", g)
	}
	if code, out, errs = (terminalRun{env: env, in: "y\n", attended: true}).do(t, "apply", "-f", file,
		"--now"); code != 0 {
		t.Errorf("--now and yes: exit code %d, %q, %q", code, out, errs)
	}
	if got := f.get(task).GetState(); got != vigilv1.TaskState_PENDING {
		t.Errorf("the task is %v", got)
	}
}

// lateYes is a person who reads for a while, during which something happens, and then says yes.
type lateYes struct {
	meanwhile func()
	said      bool
}

func (l *lateYes) Read(p []byte) (int, error) {
	if l.said {
		return 0, io.EOF
	}
	l.said = true
	l.meanwhile()
	return copy(p, "y\n"), nil
}

// N27: what is confirmed is carried out, or nothing: who says yes to a plan has not said yes to what came after it.
func TestN27AnotherChangeThanTheOneConfirmedIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	_, task := f.crowd()
	builders := func(room string, replicas uint32) uint64 {
		t.Helper()
		return must(f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: room, By: "bob",
			Roles: []*vigilv1.RoleSpec{{Name: "builder", Replicas: replicas}}}))(t).GetRev()
	}
	builders("calm", 2)
	idle := must(client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "calm/builder.2"}))(t)
	t.Cleanup(func() { _ = idle.Leave(context.Background(), "the test ends") }) // the server ends too
	fewer := func(room string) string { return "room: " + room + "\nroles:\n  - name: builder\n    replicas: 1\n" }
	folder := func(rooms ...string) string {
		t.Helper()
		dir := t.TempDir()
		for _, room := range rooms {
			writeRoom(t, dir, room+".yaml", fewer(room))
		}
		return dir
	}
	web := t.TempDir()
	writeRoom(t, web, "web.yaml", "room: web\nroles: [{name: builder}, {name: reviewer}, {name: tester}]\n")
	writeRoom(t, web, "calm.yaml", "room: calm\nroles: [{name: builder, replicas: 2}]\n")
	var rev uint64
	for _, c := range []struct {
		name      string
		args      []string
		meanwhile func()
	}{
		{"a change of the room", []string{"apply", "--now", "-f", folder("crowd")}, func() { rev = builders("crowd", 3) }},
		{"deletion", []string{"room", "delete", "crowd"}, func() { rev = builders("crowd", 4) }},
		{"pruning", []string{"apply", "--prune", "-f", web}, func() { rev = builders("crowd", 5) }},
		{"a room that was to be created", []string{"apply", "--now", "-f", folder("crowd", "fresh")},
			func() { builders("fresh", 2) }},
		{"harm in a room that had none", []string{"apply", "--now", "-f", folder("calm", "crowd")}, func() {
			must(f.fleet.CreateTask(f.ctx(), &vigilv1.CreateTaskRequest{Room: "calm", Role: "builder", Title: "Build",
				By: "ann"}))(t)
			must(idle.Wait(f.ctx()))(t)
		}},
	} {
		code, _, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": f.addr}, attended: true,
			typed: &lateYes{meanwhile: c.meanwhile}}.do(t, c.args...)
		if code != cli.ExitConflict || !strings.Contains(errs, "Go on? [y/N]") ||
			!strings.Contains(errs, "give the command again") {
			t.Errorf("%s: exit code %d, %q", c.name, code, errs)
		}
		room := must(f.fleet.GetRoom(f.ctx(), &vigilv1.GetRoomRequest{Room: "crowd"}))(t)
		if room.GetRev() != rev || room.GetDeleting() || f.agent("crowd/builder.2").GetTask() != task {
			t.Fatalf("%s: the room is at revision %d, was %d; %v", c.name, room.GetRev(), rev, f.agent("crowd/builder.2"))
		}
	}
	if g := f.agent("calm/builder.2"); g.GetTask() == 0 || g.GetRetired() {
		t.Errorf("an agent that began to work after the plan has ended: %v", g)
	}
	fresh := must(f.fleet.GetRoom(f.ctx(), &vigilv1.GetRoomRequest{Room: "fresh"}))(t)
	if fresh.GetRoles()[0].GetSpec().GetReplicas() != 2 {
		t.Errorf("the room that somebody else has created is %v", fresh)
	}
}

// N27: deleting a room asks like apply does, and so does --prune, which deletes what a folder
// does not declare.
func TestN27DeletingRoomsAsks(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	_, task := f.crowd()
	env := map[string]string{"VIGIL_ADDR": f.addr}
	code, out, errs := terminalRun{env: env}.do(t, "room", "delete", "crowd", "--dry-run")
	if code != 0 || !strings.Contains(out, "room crowd is deleted") ||
		!strings.Contains(out, "1 ended, 1 task canceled (crowd/builder.2 is at work on task 1)") {
		t.Errorf("dry run: exit code %d, %q, %q", code, out, errs)
	}
	code, _, errs = terminalRun{env: env}.do(t, "room", "delete", "crowd")
	if code != cli.ExitConflict || !strings.Contains(errs, "ends 1 agent at work, cancels 1 task") {
		t.Errorf("without a terminal: exit code %d, %q", code, errs)
	}
	folder := t.TempDir()
	writeRoom(t, folder, "web.yaml", "room: web\nroles: [{name: builder}, {name: reviewer}, {name: tester}]\n")
	file := writeRoom(t, folder, "more.yml", "room: more\nroles: [{name: a}]\n")
	if code, _, errs = (terminalRun{env: env}).do(t, "apply", "-f", file, "--prune"); code != cli.ExitUsage ||
		!strings.Contains(errs, "folder") {
		t.Errorf("prune with a file: exit code %d, %q", code, errs)
	}
	code, out, errs = terminalRun{env: env}.do(t, "apply", "-f", folder, "--prune", "--dry-run")
	if code != 0 || !strings.Contains(out, "room more is created") ||
		!strings.Contains(out, "room crowd is deleted") || strings.Contains(out, "room web is deleted") {
		t.Errorf("dry run of prune: exit code %d, %q, %q", code, out, errs)
	}
	code, _, errs = terminalRun{env: env}.do(t, "apply", "-f", folder, "--prune")
	if code != cli.ExitConflict || !strings.Contains(errs, "deletes 1 room that nobody has declared") ||
		f.get(task).GetState() == vigilv1.TaskState_CANCELED {
		t.Errorf("prune without a terminal: exit code %d, %q", code, errs)
	}
	if _, err := f.fleet.GetRoom(f.ctx(), &vigilv1.GetRoomRequest{Room: "more"}); err == nil {
		t.Error("a room was created although the rest was refused")
	}
	code, out, errs = terminalRun{env: env}.do(t, "apply", "-f", folder, "--prune", "--yes")
	if code != 0 || !strings.Contains(out, "room more applied") || !strings.Contains(out, "room crowd is") {
		t.Errorf("prune: exit code %d, %q, %q", code, out, errs)
	}
	f.until("the room is gone", func() bool {
		_, err := f.fleet.GetRoom(f.ctx(), &vigilv1.GetRoomRequest{Room: "crowd"})
		return err != nil
	})
	// A room in which nothing happens is deleted without a question.
	if code, out, errs = (terminalRun{env: env}).do(t, "room", "delete", "more"); code != 0 ||
		!strings.Contains(out, "room more is deleted") {
		t.Errorf("idle room: exit code %d, %q, %q", code, out, errs)
	}
}

// N18: a room whose agents wait for work is not deleted without a question either.
func TestN18DeletingARoomWithAgentsAsks(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	must(f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: "calm", By: "test",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Replicas: 1}}}))(t)
	w := must(client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "calm/builder"}))(t)
	t.Cleanup(func() { _ = w.Leave(context.Background(), "the test ends") }) // the server ends too
	env := map[string]string{"VIGIL_ADDR": f.addr}
	code, out, errs := terminalRun{env: env}.do(t, "room", "delete", "calm")
	if code != cli.ExitConflict || !strings.Contains(errs, "this ends 1 agent, and there is no terminal to ask on") {
		t.Errorf("without a terminal: exit code %d, %q, %q", code, out, errs)
	}
	if _, err := f.fleet.GetRoom(f.ctx(), &vigilv1.GetRoomRequest{Room: "calm"}); err != nil {
		t.Errorf("the room has gone: %v", err)
	}
	code, _, errs = terminalRun{env: env, attended: true, in: "n\n"}.do(t, "room", "delete", "calm")
	if code != cli.ExitFailed || !strings.Contains(errs, "This ends 1 agent. Go on? [y/N]") {
		t.Errorf("answered with no: exit code %d, %q", code, errs)
	}
	if code, out, errs = (terminalRun{env: env}).do(t, "room", "delete", "calm", "--yes"); code != 0 {
		t.Errorf("--yes: exit code %d, %q, %q", code, out, errs)
	}
}

// N18: a room in which nobody lives is not deleted without a question while it has tasks.
func TestN18DeletingARoomWithTasksAsks(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	must(f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: "idle", By: "test",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Replicas: 1}}}))(t)
	task := must(f.fleet.CreateTask(f.ctx(), &vigilv1.CreateTaskRequest{Room: "idle", Role: "builder", Title: "Build",
		By: "ann"}))(t).GetId()
	env := map[string]string{"VIGIL_ADDR": f.addr}
	code, out, errs := terminalRun{env: env}.do(t, "room", "delete", "idle")
	if code != cli.ExitConflict || !strings.Contains(errs, "cancels 1 task") ||
		f.get(task).GetState() == vigilv1.TaskState_CANCELED {
		t.Errorf("without a terminal: exit code %d, %q, %q", code, out, errs)
	}
	if code, out, errs = (terminalRun{env: env}).do(t, "room", "delete", "idle", "--yes"); code != 0 {
		t.Errorf("--yes: exit code %d, %q, %q", code, out, errs)
	}
}

// A room of many agents takes many entries of the log; apply waits for the last one when asked, and says so.
func TestApplyWaitsForManyAgents(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	file := writeRoom(t, t.TempDir(), "room.yaml", "room: many\nroles:\n  - name: builder\n    replicas: 3000\n")
	code, out, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": f.addr}}.do(t, "apply", "-f", file, "--wait")
	if code != 0 || !strings.Contains(out, "all agents of 1 room are as they are declared") {
		t.Fatalf("exit code %d, %q, %q", code, out, errs)
	}
	room := must(f.fleet.GetRoom(f.ctx(), &vigilv1.GetRoomRequest{Room: "many"}))(t)
	if room.GetUnfinished() != 0 || room.GetRoles()[0].GetAgents() != 3000 {
		t.Errorf("%d of %d agents are unfinished", room.GetUnfinished(), room.GetRoles()[0].GetAgents())
	}
}
