package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// away lets no call get an answer any more, or again.
func (s *cannedServer) away(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err = nil; is {
		s.err = refusal(codes.Unavailable, "no_leader", "No leader.")
	}
}

// unheard runs a command that gets no answer, and wants these words of it.
func unheard(t *testing.T, env map[string]string, says string, args ...string) {
	t.Helper()
	code, out, errs := terminalRun{env: env}.do(t, append([]string{"--timeout", "300ms"}, args...)...)
	if code != cli.ExitNoLeader && code != cli.ExitTimeout || out != "" || !strings.Contains(errs, says) {
		t.Errorf("%v: exit code %d, %q, %q, want %q", args, code, out, errs, says)
	}
}

// attempt2 is a managed life that holds attempt 2 of task 41.
func attempt2(t *testing.T) (*cannedServer, map[string]string) {
	t.Helper()
	s := newCanned(t)
	s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, State: vigilv1.TaskState_IN_PROGRESS, Title: "Build"}, true
	s.agent = &vigilv1.GetAgentResponse{Task: s.task, Agent: &vigilv1.Agent{Task: 41, IncarnationRaw: 9}}
	return s, map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder", "VIGIL_INCARNATION": "9",
		"VIGIL_TOKEN": "secret", "VIGIL_SPOOL": t.TempDir(), "XDG_RUNTIME_DIR": t.TempDir()}
}

// A script that runs a tool for a task says its answer as the result. Where the tool has given the task up, which no
// server has heard, that is said, and no result.
func TestAFailureThatNobodyHasHeardIsNoResult(t *testing.T) {
	const kept = "it is kept that attempt 2 of task 41 is given up: "
	for name, tt := range map[string]struct{ fail, then []string }{
		"complete": {[]string{"--retryable", "--after", "1h"}, []string{"complete", "--unless-ended", "I cannot"}},
		"fail": {[]string{"--retryable", "--after", "1h"},
			[]string{"fail", "--unless-ended", "it said nothing"}},
		"with the next task": {[]string{"--next"}, []string{"complete", "--unless-ended", "I cannot"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, env := attempt2(t)
			if code, _, errs := (terminalRun{env: env}).do(t, "wait-for-task"); code != 0 {
				t.Fatal(errs)
			}
			s.away(true)
			unheard(t, env, kept, append([]string{"task", "fail", "no compiler"}, tt.fail...)...)
			info, err := os.Stat(filepath.Join(env["VIGIL_SPOOL"], ".held"))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("kept in %v, %v", info, err)
			}
			then := append(append([]string{"task"}, tt.then...), "--task", "41", "--attempt", "2")
			unheard(t, env, "", then...)
			if files, _ := filepath.Glob(filepath.Join(env["VIGIL_SPOOL"], "*.json")); len(files) > 0 {
				t.Errorf("left as a result: %v", files)
			}
			s.away(false)
			code, out, errs := terminalRun{env: env}.do(t, then...)
			if code != 0 || out != "task 41 is failed\n" || tt.then[0] == "complete" && !strings.Contains(errs, "no compiler") {
				t.Errorf("exit code %d, %q, %q", code, out, errs)
			}
			got, retry := lastAsked[*vigilv1.WorkRequest](t, s), tt.fail[0] == "--retryable"
			if got.GetTask() != 41 || got.GetAttempt() != 2 || got.GetText() != "no compiler" ||
				got.GetRetryable() != retry || (got.GetAfter().AsDuration() == time.Hour) != retry ||
				got.GetSpeaker().GetToken() != "secret" || len(s.said) != 1 {
				t.Errorf("it says %v, of %q", got, s.said)
			}
			if code, out, errs := (terminalRun{env: env}).do(t, then...); code != 0 || len(s.said) != 1 ||
				!strings.Contains(out, "nothing was changed") {
				t.Errorf("once more: exit code %d, %q, %q, of %q", code, out, errs, s.said)
			}
		})
	}
}

// So it is when the tool has said it by MCP.
func TestAFailureOfMCPThatNobodyHasHeardIsNoResult(t *testing.T) {
	s, env := attempt2(t)
	if code, _, errs := (terminalRun{env: env}).do(t, "wait-for-task"); code != 0 {
		t.Fatal(errs)
	}
	run := maps.Clone(env)
	run["VIGIL_TASK"], run["VIGIL_ATTEMPT"] = "41", "2"
	c := connect(t, run, "--timeout", "1s")
	r := <-c.begin("start_task", nil)
	// it has joined when this machine has found the time
	for end := time.Now().Add(mcpPatience); r.failed && time.Now().Before(end); {
		r = <-c.begin("start_task", nil)
	}
	r.holds(t, "start_task", "Task 41 is started")
	s.away(true)
	c.refuses("fail_task", map[string]any{"reason": "no compiler"}, "No server has answered")
	s.away(false)
	_ = c.stdin.Close() // never fails
	c.end()
	code, out, errs := terminalRun{env: env}.do(t, "task", "complete", "--unless-ended", "I cannot")
	if code != 0 || out != "task 41 is failed\n" || len(s.said) != 2 ||
		!strings.HasPrefix(s.said[1], "fail no compiler ") {
		t.Errorf("exit code %d, %q, %q; the server heard %q", code, out, errs, s.said)
	}
}

// A failure that was heard, but whose answer was lost, has ended the attempt; so has whoever took it away since. What
// the life says on purpose counts, and so does what it does after it has got the attempt anew.
func TestAfterAFailureWithoutAnAnswer(t *testing.T) {
	const same = "task 1: this life has ended the attempt already, nothing was changed\n"
	hear := func(r *vigilv1.WorkRequest) func(*mcpFleet, map[string]string) {
		return func(f *mcpFleet, _ map[string]string) {
			r.Task, r.Attempt, r.Text = 1, 1, "no compiler"
			r.Speaker = &vigilv1.Speaker{Agent: "web/builder", Incarnation: f.agent("web/builder").GetIncarnationRaw()}
			must(f.work.FailTask(f.ctx(), r))(f.t)
		}
	}
	for name, tt := range map[string]struct {
		then   func(*mcpFleet, map[string]string)
		says   string
		state  vigilv1.TaskState
		result string
	}{
		"heard": {hear(&vigilv1.WorkRequest{}), "task 1 is failed", vigilv1.TaskState_FAILED, "no compiler"},
		"heard, to be tried again": {hear(&vigilv1.WorkRequest{Retryable: true, After: durationpb.New(time.Hour)}), same,
			vigilv1.TaskState_QUEUED, ""},
		"canceled": {func(f *mcpFleet, _ map[string]string) {
			must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: 1, By: "ann"}))(f.t)
		}, same, vigilv1.TaskState_CANCELED, ""},
		"completed on purpose": {func(f *mcpFleet, env map[string]string) {
			f.in(env, 0, "task 1 is completed", "task", "complete", "found one")
		}, same, vigilv1.TaskState_COMPLETED, "found one"},
		"handed out anew": {func(f *mcpFleet, env map[string]string) {
			f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
		}, "task 1 is completed", vigilv1.TaskState_COMPLETED, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newMCPFleet(t, time.Minute)
			env := f.managed()
			f.task("builder", "First", "")
			f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
			nowhere := maps.Clone(env)
			nowhere["VIGIL_ADDR"] = freeAddr(t)
			retry := []string{}
			if tt.state == vigilv1.TaskState_QUEUED {
				retry = []string{"--retryable", "--after", "1h"}
			}
			unheard(t, nowhere, "it is kept", append([]string{"task", "fail", "no compiler"}, retry...)...)
			tt.then(f, env)
			of := []string{"--task", "1", "--attempt", "1"}
			f.in(env, 0, tt.says, append([]string{"task", "complete", "--unless-ended", "done"}, of...)...)
			f.in(env, 0, same, append([]string{"task", "complete", "--unless-ended", "late"}, of...)...)
			if x := f.get(1); x.GetState() != tt.state || x.GetResult() != tt.result || len(x.GetLateResults()) > 0 {
				t.Errorf("the task is %v", x)
			}
			f.task("builder", "Second", "")
			f.in(env, 0, "task 2, attempt 1", "wait-for-task")
		})
	}
}
