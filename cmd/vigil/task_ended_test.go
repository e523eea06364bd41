package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// managed joins as web/builder and gives the environment of that life, as its supervisor would.
func (f *mcpFleet) managed() map[string]string {
	f.t.Helper()
	w, err := client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "web/builder"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(w.Detach)
	return map[string]string{"VIGIL_ADDR": f.addr, "VIGIL_AGENT": "web/builder", "VIGIL_SPOOL": f.t.TempDir(),
		"VIGIL_INCARNATION": client.FormatIncarnation(w.Incarnation())}
}

// in runs a command in an environment and wants this exit code, and these words of it.
func (f *mcpFleet) in(env map[string]string, code int, says string, args ...string) {
	f.t.Helper()
	got, out, errs := (terminalRun{env: env}).do(f.t, args...)
	if got != code || !strings.Contains(out+errs, says) {
		f.t.Errorf("%v: exit code %d, want %d; it says %q, want %q", args, got, code, out+errs, says)
	}
}

// A script that has claimed a task and runs a tool for it ends that one, whatever the tool has ended and claimed
// meanwhile; where the tool has ended it, nothing is changed.
func TestUnlessThisLifeHasEndedIt(t *testing.T) {
	for name, tool := range map[string]struct {
		ends  func(*mcpFleet, map[string]string)
		state vigilv1.TaskState
		next  bool // and has claimed the next one
	}{
		"completed by MCP": {func(f *mcpFleet, env map[string]string) {
			connect(f.t, env).says("complete_task", map[string]any{"result": "its own", "next": true}, "Here is the next")
		}, vigilv1.TaskState_COMPLETED, true},
		"given up by MCP": {func(f *mcpFleet, env map[string]string) {
			c := connect(f.t, env)
			c.says("fail_task", map[string]any{"reason": "no"}, "Task 1 is given up")
			c.ends() // it leaves the room; what it has ended stays noted
		}, vigilv1.TaskState_FAILED, false},
		"given back by a command": {func(f *mcpFleet, env map[string]string) {
			f.in(env, 0, "task 1 is", "task", "fail", "--retryable", "--after", "1h", "not now")
		}, vigilv1.TaskState_QUEUED, false},
		"given up by a command that took the next": {func(f *mcpFleet, env map[string]string) {
			f.in(env, 0, "task 2, attempt 1", "task", "fail", "--next", "no")
			connect(f.t, env).says("start_task", nil, "Task 2 is started") // notes more about this life
		}, vigilv1.TaskState_FAILED, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newMCPFleet(t, time.Minute)
			env := f.managed()
			f.task("builder", "First", "")
			f.task("builder", "Second", "")
			f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
			tool.ends(f, env)
			of := []string{"--task", "1", "--attempt", "1"}
			const kept = "task 1: this life has ended the attempt already, nothing was changed\n"
			f.in(env, 0, kept, append([]string{"task", "complete", "--unless-ended", "late"}, of...)...)
			f.in(env, 0, kept, append([]string{"task", "fail", "--unless-ended", "--retryable", "late"}, of...)...)
			if x := f.get(1); x.GetState() != tool.state || x.GetResult() == "late" || len(x.GetLateResults()) > 0 {
				t.Errorf("the first is %v", x)
			}
			if tool.next {
				if x := f.get(2); x.GetAttempt() != 1 || x.GetHolder() != "web/builder" || x.GetResult() != "" {
					t.Errorf("the second is %v", x)
				}
				f.in(env, 0, "task 2 is completed", "task", "complete", "--unless-ended", "done")
			}
			// Another attempt is another matter, and so is a life that has ended nothing.
			f.in(env, cli.ExitSuperseded, "", "task", "fail", "--unless-ended", "late", "--task", "1", "--attempt", "7")
		})
	}
}

// What was taken away is not what the life has ended.
func TestUnlessEndedTakesNothingAwayForAnEnd(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	env := f.managed()
	f.task("builder", "First", "")
	f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
	if _, err := f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: 1, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	of := []string{"--task", "1", "--attempt", "1"}
	for _, verb := range []string{"complete", "fail"} {
		f.in(env, cli.ExitSuperseded, "", append([]string{"task", verb, "--unless-ended", "late"}, of...)...)
		f.in(env, cli.ExitSuperseded, "", append([]string{"task", verb, "--unless-ended", "late"}, of...)...)
	}
}

// for1 is the environment in which `vigil task exec` runs a program for attempt 1 at task 1.
func for1(env map[string]string) map[string]string {
	env = maps.Clone(env)
	env["VIGIL_TASK"], env["VIGIL_ATTEMPT"] = "1", "1"
	return env
}

// What a program says that is run for a task is about that task, whatever its agent holds by then.
func TestWordsAreAboutTheTaskThatIsRun(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	env := f.managed()
	run := for1(env)
	for _, title := range []string{"First", "Second"} {
		f.task("builder", title, "")
	}
	f.in(env, 0, "task 1, attempt 1", "wait-for-task")
	f.in(run, 0, "task 1 is", "task", "start")
	f.in(run, 0, "task 1 is", "task", "progress", "half")
	f.in(run, 0, "task 2, attempt 1", "task", "fail", "--next", "no")
	// The agent holds task 2 now, by the word of who was run for task 1.
	const advice = "this is run for task 1, which web/builder has ended, and it holds task 2 now: say --task 2 "
	for _, words := range [][]string{{"start"}, {"progress", "on"}, {"complete", "1"}, {"fail", "1"},
		{"complete", "--next", "1"}, {"handoff", "reviewer", "1"}} {
		f.in(run, cli.ExitConflict, advice, append([]string{"task"}, words...)...)
	}
	f.in(run, 0, "", "task", "progress", "--best-effort", "on") // of a hook
	f.in(run, 0, "task 1: this life has ended", "task", "complete", "--unless-ended", "1")
	if x := f.get(2); x.GetState() != vigilv1.TaskState_ACKNOWLEDGED || x.GetNote() != "" {
		t.Errorf("the second is %v", x)
	}
	// Nor where nobody has noted that the first is over.
	elsewhere := maps.Clone(run)
	elsewhere["VIGIL_SPOOL"] = t.TempDir()
	f.in(elsewhere, cli.ExitSuperseded, "attempt 1 of task 1", "task", "complete", "1")
	// A flag names another one, and so does the environment of another life or of another agent.
	f.in(run, 0, "task 2 is", "task", "start", "--task", "2")
	for name, value := range map[string]string{"VIGIL_AGENT": "web/tester", "VIGIL_INCARNATION": "7"} {
		other := maps.Clone(run)
		other[name] = value
		f.in(other, 0, "task 2 is", "task", "progress", "on", "--agent", "web/builder",
			"--incarnation", env["VIGIL_INCARNATION"])
	}
	for name, value := range map[string]string{"VIGIL_TASK": "first", "VIGIL_ATTEMPT": "0"} {
		wrong := maps.Clone(run)
		wrong[name] = value
		f.in(wrong, cli.ExitUsage, name+" is \""+value+"\", and must be the number of", "task", "progress", "on")
		f.in(wrong, 0, "task 2 is", "task", "progress", "on", "--task", "2", "--attempt", "1")
	}
	f.in(env, 0, "task 2 is completed", "task", "complete", "2")
	if x := f.get(2); x.GetResult() != "2" || len(x.GetLateResults()) > 0 {
		t.Errorf("the second is %v", x)
	}
}

// `vigil mcp` of a tool that is run for a task serves that task alone.
func TestMCPInsideOfTaskExecServesOneTask(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	env := f.managed()
	for _, title := range []string{"First", "Second"} {
		f.task("builder", title, "")
	}
	f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
	c := connect(t, for1(env))
	says := c.session.InitializeResult().Instructions
	if !strings.Contains(says, "This session is for task 1 only") || strings.Contains(says, "wait_for_task") ||
		strings.Contains(says, "%!") || strings.Contains(says, "loop") {
		t.Errorf("the instructions are %s", says)
	}
	tools := must(c.session.ListTools(t.Context(), nil))(t).Tools
	for _, tool := range tools {
		text := string(must(json.Marshal(tool))(t))
		if strings.Contains(text, "wait_for_task") || strings.Contains(text, `"next"`) {
			t.Errorf("a tool is %s", text)
		}
	}
	if len(tools) != 13 {
		t.Errorf("%d tools are offered", len(tools))
	}
	if r := <-c.begin("wait_for_task", nil); r.err == nil || !strings.Contains(r.err.Error(), "complete_task") {
		t.Errorf("a wait says %q, %v", r.text, r.err)
	}
	c.says("my_status", nil, "You hold task 1", "First")
	c.says("progress", map[string]any{"note": "half"}, "task 1 is still yours")
	c.refuses("complete_task", map[string]any{"result": "x", "next": true}, `there is no argument "next"`)
	c.refuses("complete_task", map[string]any{"result": "x", "task": 2}, "you hold task 1, not task 2")
	c.says("complete_task", map[string]any{"result": "built"}, "Task 1 is completed",
		"This session is for task 1 only", "stop here")
	// Whoever has run the tool goes on with the next task; the tool has nothing to do with that.
	f.in(env, 0, "nothing was changed", "task", "complete", "--task", "1", "--attempt", "1", "--unless-ended", "late")
	f.in(env, 0, "task 2, attempt 1", "wait-for-task", "--start")
	for tool, args := range map[string]map[string]any{"complete_task": {"result": "x"}, "fail_task": {"reason": "x"},
		"handoff_task": {"role": "reviewer", "title": "x"}, "progress": {"note": "x"}, "start_task": nil} {
		c.refuses(tool, args, "No task is held", "This session is for task 1 only")
	}
	c.says("my_status", nil, "You hold no task", "This session is for task 1 only")
	_ = c.stdin.Close() // never fails
	if code := c.end(); code != 0 || !f.present("web/builder") {
		t.Errorf("exit code %d, in the room: %v", code, f.present("web/builder"))
	}
	f.in(env, 0, "task 2 is completed", "task", "complete", "2")
	if x := f.get(1); x.GetResult() != "built" || len(x.GetLateResults()) > 0 {
		t.Errorf("the first is %v", x)
	}

	wrong := for1(env)
	wrong["VIGIL_TASK"] = "first"
	f.in(wrong, cli.ExitUsage, `VIGIL_TASK is "first"`, "mcp")
	other := for1(env) // some clients pass on the name of what they do not have
	other["VIGIL_TASK"], other["VIGIL_ATTEMPT"] = "{env:VIGIL_TASK}", "$VIGIL_ATTEMPT"
	connect(t, other).says("my_status", nil, "You hold no task. Call wait_for_task")
}

// Its session may begin when its task was taken away, and is over when it is.
func TestMCPInsideOfTaskExecStopsWhenItsTaskIsTaken(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	env := f.managed()
	f.task("builder", "First", "")
	f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
	c := connect(t, for1(env))
	c.says("my_status", nil, "You hold task 1")
	must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: 1, By: "ann"}))(t)
	c.refuses("progress", map[string]any{"note": "x"}, "DROP THIS WORK", "This session is for task 1 only")
	c.ends()
	connect(t, for1(env)).refuses("progress", map[string]any{"note": "x"}, "No task is held",
		"This session is for task 1 only")
}
