package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// holding is an agent that was started by hand and holds task 41, and the server that it speaks to.
func holding(t *testing.T) (*cannedServer, *terminalRun, *[]string) {
	t.Helper()
	s, spawned := newCanned(t), &[]string{}
	s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, Title: "Build"}, true
	r := &terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr, "XDG_RUNTIME_DIR": t.TempDir()},
		spawn: func(args []string) error { *spawned = args; return nil }}
	if code, _, errs := r.do(t, "wait-for-task", "--agent", "web/builder"); code != 0 {
		t.Fatal(errs)
	}
	r.env["VIGIL_AGENT"] = "web/builder"
	return s, r, spawned
}

// The next task that comes with the end of one is printed as a wait prints it, kept, and its lease goes on.
func TestTaskNext(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"complete": {[]string{"complete", "--next", "done"}, "next done "},
		"fail":     {[]string{"fail", "--next", "broken"}, "next broken "},
		"hand off": {[]string{"handoff", "--next", "web/reviewer", "Review"}, "next reviewer "},
	} {
		s, r, spawned := holding(t)
		s.next = &vigilv1.Task{Id: 42, Attempt: 1, Title: "Test", Text: "all of it"}
		code, out, errs := r.do(t, append([]string{"task"}, tt.args...)...)
		if code != 0 || out != "task 42, attempt 1, for web/builder: Test\n\nall of it\n" ||
			!strings.HasPrefix(errs, "task 41 is completed\n") {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, errs)
		}
		if len(s.said) != 1 || !strings.HasPrefix(s.said[0], tt.says) {
			t.Errorf("%s: the server heard %q", name, s.said)
		}
		if got := strings.Join(*spawned, " "); !strings.Contains(got, "--task 42 --attempt 1") {
			t.Errorf("%s: started %q to beat", name, got)
		}
		b, err := os.ReadFile(filepath.Join(r.env["XDG_RUNTIME_DIR"], "vigil", "web%builder.json"))
		if err != nil || !strings.Contains(string(b), `"task":42`) {
			t.Errorf("%s: kept %s (%v)", name, b, err)
		}
	}
}

// Where no task came with it the command waits for one, as wait-for-task does.
func TestTaskNextWaits(t *testing.T) {
	s, r, _ := holding(t)
	s.task = &vigilv1.Task{Id: 43, Attempt: 1, Title: "Later"}
	code, out, errs := r.do(t, "task", "complete", "--next", "--json", "done")
	if code != 0 || !strings.Contains(out, `"id":"43"`) || strings.Contains(errs, "completed") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

// A task that came and cannot be printed is given back: nobody would work on it.
func TestTaskNextThatCannotBePrintedIsGivenBack(t *testing.T) {
	s, r, _ := holding(t)
	s.next, r.out = &vigilv1.Task{Id: 42, Attempt: 1}, closedPipe{}
	if code, _, _ := r.do(t, "task", "complete", "--next", "done"); code != cli.ExitFailed || len(s.left) != 1 {
		t.Errorf("exit code %d; left the room %d times, want once", code, len(s.left))
	}
}
