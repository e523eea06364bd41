package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"vigil/agentd/results"
	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// wordsOfAgents is every command that speaks as an agent.
var wordsOfAgents = []string{
	"wait-for-task", "beat", "task start", "task progress going", "task complete done", "task fail broken",
	"task handoff reviewer next", "declare healthy", "declare needs-input what", "remember value", "patrol report",
	"handoff -s routine -m note", "mail read", "mail ack 1",
}

// N1: in a terminal that is no agent nothing speaks for one, whatever lives were begun under
// the same home, and hooks that are installed for the user do nothing at all.
func TestN01TerminalThatIsNoAgentSpeaksForNone(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]struct {
		env  map[string]string
		args []string
	}{
		"beside a life by hand": {nil, []string{"--agent", "web/builder"}},
		"beside a managed life": {map[string]string{"VIGIL_AGENT": "web/builder", "VIGIL_INCARNATION": "9",
			"VIGIL_TOKEN": "secret"}, nil},
		"beside one that is named": {map[string]string{"VIGIL_AGENT": "web/builder"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, home := newCanned(t), t.TempDir()
			s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, Title: "Build"}, true
			env := map[string]string{"VIGIL_ADDR": s.addr, "HOME": home}
			own := map[string]string{"VIGIL_ADDR": s.addr, "HOME": home}
			for k, v := range agent.env {
				own[k] = v
			}
			r := terminalRun{env: own, spawn: func([]string) error { return nil }}
			if code, _, errs := r.do(t, append([]string{"wait-for-task"}, agent.args...)...); code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			s.asked = nil
			for _, line := range wordsOfAgents {
				args := strings.Fields(line)
				code, out, errs := terminalRun{env: env}.do(t, args...)
				if code != cli.ExitUsage || !strings.Contains(errs, "--agent room/role") || len(spoken(s)) > 0 {
					t.Errorf("%s: exit code %d, printed %q and %q, the server heard %v", line, code, out,
						errs, spoken(s))
				}
			}
			// A human's mail is a human's.
			if code, _, errs := (terminalRun{env: env}).do(t, "mail", "send", "web/reviewer",
				"hello"); code != 0 || len(spoken(s)) > 0 {
				t.Errorf("mail send: exit code %d, %s, the server heard %v", code, errs, spoken(s))
			}
			s.asked = nil
			eachSnippet(t, func(t *testing.T, snippets *snippets) {
				for _, list := range snippets.hooks {
					r := terminalRun{env: env, in: `{"session_id": "one", "thread-id": "two"}`}
					if code, out, errs := r.do(t, list[1:]...); code != 0 || out != "" || errs != "" ||
						len(s.asked) != 0 {
						t.Errorf("%q: exit code %d, printed %q and %q, asked %v", list, code, out, errs, s.asked)
					}
				}
			})
		})
	}
}

// spoken are the requests in which an agent spoke.
func spoken(s *cannedServer) (all []proto.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.asked {
		if by, ok := m.(interface{ GetSpeaker() *vigilv1.Speaker }); ok && by.GetSpeaker() != nil {
			all = append(all, m)
		}
	}
	return all
}

// N1: what a managed life claimed is kept with agentd, for that life alone; under the home of
// its user nothing tells of it, so that --agent does not make anybody that life.
func TestN01ManagedLivesAreNotKeptUnderTheHome(t *testing.T) {
	s, home, spool := newCanned(t), t.TempDir(), t.TempDir()
	s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, Title: "Build"}, true
	env := map[string]string{"VIGIL_ADDR": s.addr, "HOME": home, "VIGIL_AGENT": "web/builder", "VIGIL_INCARNATION": "9",
		"VIGIL_TOKEN": "secret", results.Env: spool}
	if code, _, errs := (terminalRun{env: env}).do(t, "wait-for-task"); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	_ = filepath.WalkDir(home, func(name string, d os.DirEntry, _ error) error {
		if !d.IsDir() {
			t.Errorf("%s is kept under the home", name)
		}
		return nil
	})
	code, _, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr, "HOME": home}}.do(t,
		"task", "complete", "done", "--agent", "web/builder")
	if code != cli.ExitUsage || !strings.Contains(errs, "no life of web/builder is known here") || len(s.said) != 0 {
		t.Errorf("another terminal: exit code %d, %q, the server heard %q", code, errs, s.said)
	}
	s.asked = nil
	// The life itself knows its claim without asking, also when nobody can be asked.
	if code, _, errs := (terminalRun{env: env}).do(t, "task", "complete", "done", "--agent",
		"web/builder"); code != 0 || len(s.said) != 1 || len(s.asked) != 1 {
		t.Errorf("the agent itself: exit code %d, %q, the server heard %q, was asked %v", code, errs, s.said, s.asked)
	}
}

// A laptop that has slept for longer than the lease: the life by hand stays known, so that what it has done still
// counts, and its next wait goes on with it.
func TestALifeByHandIsKeptWhenItsLeaseHasEnded(t *testing.T) {
	s, r, beats := holding(t)
	s.beaten = "rejoin"
	if code, out, errs := r.do(t, *beats...); code != cli.ExitSuperseded || out+errs != "" {
		t.Errorf("the process that beats: exit code %d, %q, %q", code, out, errs)
	}
	if code, out, errs := r.do(t, "task", "complete", "done"); code != 0 || out != "task 41 is completed\n" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	if got := lastAsked[*vigilv1.CompleteTaskRequest](t, s); got.GetSpeaker().GetIncarnation() != 5 ||
		got.GetTask() != 41 || got.GetAttempt() != 2 || len(s.said) != 1 {
		t.Errorf("the server heard %v, of %q", got, s.said)
	}
	s.task = &vigilv1.Task{Id: 42, Attempt: 1, Title: "Test"}
	if code, out, errs := r.do(t, "wait-for-task"); code != 0 || !strings.HasPrefix(out, "task 42, attempt 1, ") {
		t.Errorf("the next wait: exit code %d, %q, %q", code, out, errs)
	}
	if got := lastAsked[*vigilv1.JoinRequest](t, s).GetSpeaker(); got.GetIncarnation() != 5 {
		t.Errorf("%v joins again", got)
	}
	// A life that is over is forgotten.
	s.beaten = "superseded"
	if code, out, errs := r.do(t, *beats...); code != cli.ExitSuperseded || out+errs != "" {
		t.Errorf("the process that beats: exit code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := r.do(t, "task", "complete", "done"); code != cli.ExitUsage ||
		!strings.Contains(errs, "no life of web/builder is known here") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}
