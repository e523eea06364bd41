package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/life"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// works tells whether attempt 1 at the task goes on.
func (f *mcpFleet) works(task uint64) {
	f.t.Helper()
	if got := f.get(task); got.GetState() != vigilv1.TaskState_IN_PROGRESS || got.GetAttempt() != 1 {
		f.t.Errorf("the task is %v", got)
	}
}

// ends closes the standard input of a `vigil mcp` that has joined.
func (c *mcpClient) ends() {
	c.t.Helper()
	c.says("my_status", nil, "You are web/builder")
	_ = c.stdin.Close() // never fails
	if code := c.end(); code != 0 {
		c.t.Errorf("exit code %d: %s", code, c.log)
	}
}

// Who did not claim the task does not give it back, and who did not begin a life by hand does not end
// it: an AI tool runs another one, whose `vigil mcp` joins the same life and ends.
func TestMCPOfANestedToolLeavesTheLifeAlone(t *testing.T) {
	t.Parallel()
	t.Run("by hand", func(t *testing.T) {
		f := newMCPFleet(t, time.Minute)
		env := map[string]string{"VIGIL_ADDR": f.addr, "VIGIL_AGENT": "web/builder", "XDG_RUNTIME_DIR": t.TempDir()}
		first := connect(t, env)
		task := f.task("builder", "Build it", "")
		first.claims(task)
		first.says("start_task", nil)
		inc := f.agent("web/builder").GetIncarnation()
		connect(t, env).ends()
		f.works(task)
		if got := f.agent("web/builder"); got.GetIncarnation() != inc || got.GetParticipant() != "ACTIVE" {
			t.Errorf("the life of the first is now %v", got)
		}
		if code, _, errs := (terminalRun{env: env}).do(t, "task", "complete", "done"); code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
		// Nor while the first one waits: its place would be free for another terminal.
		connect(t, env).ends()
		if !f.present("web/builder") || len(first.lives()) != 1 {
			t.Errorf("in the room: %v, kept %v", f.present("web/builder"), first.lives())
		}
		_ = first.stdin.Close() // never fails
		if first.end(); f.present("web/builder") || len(first.lives()) != 0 {
			t.Errorf("in the room after its end: %v, kept %v", f.present("web/builder"), first.lives())
		}
	})
	t.Run("with the number of the life", func(t *testing.T) {
		f := newMCPFleet(t, time.Minute)
		w, err := client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "web/builder"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Detach)
		env := map[string]string{"VIGIL_ADDR": f.addr, "VIGIL_AGENT": "web/builder", "VIGIL_SPOOL": t.TempDir(),
			"VIGIL_INCARNATION": client.FormatIncarnation(w.Incarnation())}
		task := f.task("builder", "Build it", "")
		if code, _, errs := (terminalRun{env: env}).do(t, "wait-for-task", "--start"); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		held := filepath.Join(env["VIGIL_SPOOL"], life.HeldFile)
		noted := func() string {
			text, _, _ := strings.Cut(string(must(os.ReadFile(held))(t)), `"saved"`)
			return text
		}
		before := noted()
		connect(t, env).ends()
		f.works(task)
		if after := noted(); after != before {
			t.Errorf("%s became %s", before, after)
		}
		// A program that is run in between, and a second wait that nobody listens to, neither.
		if code, _, errs := (terminalRun{env: env}).do(t, "run", "--", "true"); code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
		(terminalRun{env: env, out: broken{}}).do(t, "wait-for-task")
		f.works(task)
		if code, _, errs := (terminalRun{env: env}).do(t, "task", "complete", "done"); code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
}

// broken is an output that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("nobody listens") }
