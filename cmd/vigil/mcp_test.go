package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

func TestMCPDescribesEveryTool(t *testing.T) {
	t.Parallel()
	s := newCanned(t)
	c := connect(t, map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder"})
	list := must(c.session.ListTools(t.Context(), nil))(t)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.Title == "" || tool.InputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s lacks a description, a title or a schema", tool.Name)
		}
	}
	instructions := c.session.InitializeResult().Instructions
	slices.Sort(names)
	want := []string{"ack_mail", "colleagues", "complete_task", "declare", "fail_task", "handoff_task", "inbox",
		"my_status", "progress", "read_mail", "remember", "send_mail", "start_task", "wait_for_task"}
	if !slices.Equal(names, want) {
		t.Errorf("the tools are %v, want %v", names, want)
	}
	for _, word := range []string{"wait_for_task", "start_task", "progress", "complete_task", "handoff_task",
		"fail_task", "declare", "read_mail", "ack_mail", "my_status", "STOP", "DROP THIS WORK"} {
		if !strings.Contains(instructions, word) {
			t.Errorf("the instructions do not speak of %s", word)
		}
	}
}

// Every tool but those of mail, with what the cluster knows afterwards.
func TestMCPToolsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	c := f.connect("web/builder")
	first := f.task("builder", "Build it", "all of it, and quietly")
	c.claims(first, "This task is yours now", "Task 1, attempt 1", "Title: Build it", "all of it, and quietly",
		"start_task")
	c.claims(first, "You hold this task already") // a model that has forgotten
	c.says("start_task", nil, "is started")
	c.says("progress", map[string]any{"note": "half of it"}, "still yours")
	if got := f.get(first); got.GetState() != vigilv1.TaskState_IN_PROGRESS || got.GetNote() != "half of it" {
		t.Errorf("the task is %v", got)
	}
	c.says("progress", map[string]any{"note": "more of it", "percent": 60, "expect_minutes": 40}, "still yours")
	if got := f.get(first); got.GetPercent() != 60 || got.GetExpectLeft() == nil ||
		got.GetExpectLeft().AsDuration() > 40*time.Minute || got.GetNote() != "more of it" {
		t.Errorf("the task is %v", got)
	}
	if task, _ := c.says("my_status", nil, "You hold task 1",
		"It should be done in ")["held"].(map[string]any); task["percent"] != 60.0 ||
		task["expected_in_minutes"] == nil {
		t.Errorf("my_status shows the task as %v", task)
	}

	c.says("declare", map[string]any{"state": "in_tool", "for_minutes": 20, "why": "the tests"}, "in_tool for 20m")
	if d := f.agent("web/builder").GetDeclaration(); d.GetWaiting() != "in_tool" || d.GetText() != "the tests" {
		t.Errorf("declared %v", d)
	}
	c.says("declare",
		map[string]any{"state": "needs_input", "until": time.Now().Add(time.Hour).Format(time.RFC3339)},
		"needs_input for")
	c.says("declare", map[string]any{"state": "busy"}, "It excuses no silence")
	c.says("declare", map[string]any{"state": "degraded", "why": "slow"}, "Noted: degraded")
	if d := f.agent("web/builder").GetDeclaration(); d.GetStatus() != "degraded" || d.GetWaiting() != "none" {
		t.Errorf("declared %v", d)
	}
	c.says("declare", map[string]any{"state": "healthy"}, "Noted: healthy", "What you declared before is over")
	c.says("remember", map[string]any{"value": "conversation 7"}, "Kept")
	if n := f.agent("web/builder").GetResumeBytes(); n != uint32(len("conversation 7")) {
		t.Errorf("%d bytes are kept", n)
	}
	c.says("my_status", nil, "You are web/builder", "You hold task 1, which is in progress", "all of it, and quietly")
	c.says("colleagues", nil, "3 agents of room web", "web/builder (you): active", "task 1",
		"web/reviewer: disconnected")
	c.says("colleagues", map[string]any{"role": "web/reviewer"}, "1 agent of room web")

	next := c.says("handoff_task", map[string]any{"role": "reviewer", "title": "Review it",
		"text": "look closely", "result": "built", "priority": 3}, "Task 1 is completed; task 2 follows it")
	got := f.get(2)
	if fmt.Sprint(next["next_task"]) != "2" || got.GetRole() != "reviewer" || got.GetTitle() != "Review it" ||
		got.GetText() != "look closely" || got.GetPriority() != 3 {
		t.Errorf("%v was handed off as %v", next, got)
	}
	if got = f.get(first); got.GetState() != vigilv1.TaskState_COMPLETED || got.GetResult() != "built" {
		t.Errorf("the task is %v", got)
	}
	second := f.task("builder", "Again", "")
	c.says("wait_for_task", map[string]any{"start": true}, "It is started")
	c.says("complete_task", map[string]any{"result": "done"}, "Task 3 is completed")
	if got = f.get(second); got.GetState() != vigilv1.TaskState_COMPLETED || got.GetResult() != "done" {
		t.Errorf("the task is %v", got)
	}
	third := f.task("builder", "Hopeless", "")
	c.claims(third)
	c.says("fail_task", map[string]any{"reason": "it was down", "retryable": true}, "given up")
	c.claims(third, "attempt 2", "An earlier attempt at it did not finish")
	c.says("fail_task", map[string]any{"reason": "it cannot be done"}, "given up")
	if got = f.get(third); got.GetState() != vigilv1.TaskState_FAILED || got.GetResult() != "it cannot be done" {
		t.Errorf("the task is %v", got)
	}
	c.says("wait_for_task", map[string]any{"seconds": 1}, "Nothing to do yet", "Call wait_for_task again")
	for _, secret := range []string{"quietly", "half of it", "conversation 7", "look closely", "it was down",
		"Build it", "the tests"} {
		if strings.Contains(c.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

func TestMCPRefusesWrongInputWithAReason(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	c := f.connect("web/builder")
	task := f.task("builder", "Build it", "")
	for _, tool := range []string{"start_task", "progress", "complete_task", "handoff_task", "fail_task"} {
		args := map[string]map[string]any{"progress": {"note": "x"}, "complete_task": {"result": "x"},
			"fail_task": {"reason": "x"}, "handoff_task": {"role": "reviewer", "title": "x"}}
		c.refuses(tool, args[tool], "No task is held", "wait_for_task")
	}
	c.claims(task)
	c.says("start_task", nil)
	rev := f.get(task).GetRev()
	long := strings.Repeat("ü", 200<<10) // fewer characters than may be, and too many bytes
	for _, tc := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"progress", nil, "note"},
		{"progress", map[string]any{"note": 7}, "string"},
		{"progress", map[string]any{"note": "x", "per_cent": 5}, "per_cent"},
		{"progress", map[string]any{"note": "x", "percent": 101}, "100"},
		{"progress", map[string]any{"note": "x", "expect_minutes": 0}, "expect_minutes"},
		{"progress", map[string]any{"note": strings.Repeat("x", 5000)}, "4096"},
		{"complete_task", map[string]any{"result": long}, "Nothing was changed"},
		{"wait_for_task", map[string]any{"seconds": 0}, "seconds"},
		{"wait_for_task", map[string]any{"seconds": 3601}, "seconds"},
		{"wait_for_task", map[string]any{"seconds": 1.5}, "seconds"},
		{"declare", map[string]any{"state": "asleep"}, "asleep"},
		{"declare", map[string]any{"state": "sleeping", "for_minutes": 0}, "for_minutes"},
		{"declare", map[string]any{"state": "sleeping", "for_minutes": 5, "until": "15:00"}, "not both"},
		{"declare", map[string]any{"state": "sleeping", "until": "teatime"}, "write a time like 15:00"},
		{"declare", map[string]any{"state": "sleeping", "until": "2020-01-01T00:00:00Z"}, "already"},
		{"declare", map[string]any{"state": "sleeping", "for_minutes": 6 * 24 * 60}, "Nothing was changed"},
		{"declare", map[string]any{"state": "healthy", "for_minutes": 5}, "healthy has no end"},
		{"handoff_task", map[string]any{"role": "shop/reviewer", "title": "x"}, "no role of your room web"},
		{"handoff_task", map[string]any{"role": "painter", "title": "x"}, "Nothing was changed"},
		{"handoff_task", map[string]any{"role": "reviewer"}, "title"},
		{"remember", map[string]any{"value": strings.Repeat("x", agent.MaxResume+1)}, fmt.Sprint(agent.MaxResume)},
		{"send_mail", map[string]any{"to": "web/reviewer"}, "Nothing was changed"},
		{"send_mail", map[string]any{"body": "x"}, "Nothing was changed"},
		{"send_mail", map[string]any{"to": "web/painter", "body": "x"}, "Nothing was changed"},
		{"send_mail", map[string]any{"to": "web/reviewer", "body": "x", "only_if_running": true},
			"Nothing was changed"},
		{"send_mail", map[string]any{"to": "web/reviewer", "body": "x", "priority": "huge"}, "huge"},
		{"send_mail", map[string]any{"reply_to": 77, "body": "x"}, "Nothing was changed"},
		{"read_mail", map[string]any{"mail": 77}, "Nothing was changed"},
		{"read_mail", map[string]any{"mail": 1, "seconds": 1}, "not both"},
		{"ack_mail", map[string]any{"mails": []int{}}, "mails"},
		{"ack_mail", map[string]any{"mails": []int{77}}, "Nothing was changed"},
		{"my_status", map[string]any{"of": "web/reviewer"}, "of"},
	} {
		c.refuses(tc.tool, tc.args, tc.want)
	}
	if got := f.get(task); got.GetRev() != rev || got.GetState() != vigilv1.TaskState_IN_PROGRESS {
		t.Errorf("the task was changed by mistakes: %v", got)
	}
	if list := must(f.fleet.ListTasks(f.ctx(), &vigilv1.ListTasksRequest{Room: "web"}))(t); len(list.GetTasks()) != 1 {
		t.Errorf("there are %d tasks", len(list.GetTasks()))
	}
	if r := <-c.begin("make_coffee", nil); r.err == nil {
		t.Error("a tool that does not exist was called")
	}
	for args, want := range map[string]string{"": "it is not known which agent speaks",
		"--agent web": "room/role", "--agent web/builder --wait 2h": "between 1s and 1h",
		"--agent web/builder --wait 0s": "between 1s and 1h", "--agent web/builder now": "takes no arguments"} {
		code, out, errs := terminalRun{env: map[string]string{"XDG_RUNTIME_DIR": t.TempDir()}}.do(t,
			append([]string{"mcp"}, strings.Fields(args)...)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("vigil mcp %s: exit code %d, %q, %q", args, code, out, errs)
		}
	}
}
