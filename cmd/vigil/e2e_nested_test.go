//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// nestedRunner claims by the command line, as the shipped runner of Codex does; the tool that it runs
// then starts `vigil mcp` in the same life, which ends with it.
const nestedRunner = `name: nested
program: sh
args:
  - -c
  - |
    vigil wait-for-task --start >task.txt || exit
    { until grep -q joined mcp.log; do sleep 0.1; done; } | vigil mcp 2>mcp.log || exit
    vigil run -- true || exit
    vigil task complete "$(cat mcp.log)"
`

// L6: what ends in a managed life and has not claimed its task gives nothing back: the attempt that
// works goes on, and its result counts.
func TestMCPThatEndsInAManagedLifeLeavesTheTaskWithIt(t *testing.T) {
	t.Parallel()
	setenv(t, "PATH", filepath.Dir(vigil(t))+":"+os.Getenv("PATH"))
	setenv(t, "HOME", t.TempDir())
	f := newFleet(t, alone)
	f.secondHost("nested", nestedRunner)
	f.apply("demo", "nested")
	id := f.create("demo/nested")
	first := f.await("the end of the work", func(e *vigilv1.Event) bool {
		return e.GetKind() == "task.completed" && e.GetTask() == id ||
			e.GetKind() == "agent.left" && e.GetAgent() == "demo/nested"
	})
	if first.GetKind() != "task.completed" {
		t.Fatalf("something ended first: %v", first)
	}
	task, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: id})
	if err != nil || task.GetAttempt() != 1 {
		t.Errorf("the task is %v, %v", task, err)
	}
}

// secondHost starts a host with one runner, whose agents share the account of the test.
func (f *testFleet) secondHost(name, declared string) {
	f.t.Helper()
	f.write("h2/runners.d/"+name+".yaml", owned(declared))
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\n",
		strings.Join(f.api, ", "), f.path("h2/data")))
	agentd := spawn(f.t, "h2", "agentd", "--config", f.path("h2/agentd.yaml"))
	f.t.Cleanup(func() { f.clear("h2/data", agentd) })
}

// hookedRunner has a tool with hooks, which are shells as those of AI tools: its program is a copy of
// the shell, so that it is none, and so is that of one of its hooks, as of one in Python. In its first life it
// runs another tool beneath it, in the next one after it.
const hookedRunner = `name: hooked
program: sh
args:
  - -c
  - |
    cp "$(command -v sh)" tool && cp tool script || exit
    said='sh -c "vigil remember --best-effort --field session_id -"'
    hook() { printf 'echo "{\\"session_id\\":\\"%s\\"}" | %s\n' "$1" "$said"; }
    { hook inner; echo 'sh -c "vigil declare healthy --best-effort --after in-tool"'
      echo 'sh -c "vigil task progress --best-effort inner"'; } >inner.sh
    echo 'vigil task progress --best-effort "$1"' >hook.sh
    { hook outer; echo './script hook.sh outer'
      echo 'vigil declare in-tool --for 20m'; echo './tool inner.sh'; echo :; } >outer.sh
    hook after >after.sh
    vigil wait-for-task --start >task.txt || exit
    if [ "$1" = fresh ]; then
      ./tool outer.sh || exit
      vigil task complete "$(vigil declare healthy --after in-tool)" || exit
    else
      ./tool inner.sh && ./tool after.sh || exit
      vigil task complete "$1" || exit
    fi
  - hooked
fresh_args: [fresh]
resume_args: ["${VIGIL_RESUME}"]
`

// What hooks of a tool say that the agent's tool has started is not the agent's word: the next life goes
// on with the agent's own conversation. A tool that follows another one in a life speaks for it.
func TestHooksOfANestedToolAreNotTheAgents(t *testing.T) {
	t.Parallel()
	setenv(t, "PATH", filepath.Dir(vigil(t))+":"+os.Getenv("PATH"))
	setenv(t, "HOME", t.TempDir())
	f := newFleet(t, alone)
	f.secondHost("hooked", hookedRunner)
	f.apply("demo", "hooked")
	first := f.create("demo/hooked")
	f.completed(first)
	task, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: first})
	if err != nil || task.GetResult() != "demo/hooked: healthy" || task.GetNote() != "outer" {
		t.Errorf("the tool call of the outer tool ended early, or the inner one has said progress: %v, %v", task, err)
	}
	for _, want := range []string{"outer", "after"} {
		if got := f.result(t, "hooked"); got != want {
			t.Errorf("a life went on with the conversation %q, want %q", got, want)
		}
	}
}

// What runs as an agent that it begins itself finds nothing of the task for which another agent runs it.
func TestNestedAgentHasNoTaskOfAnother(t *testing.T) {
	t.Parallel()
	c := newCrew(t, alone)
	c.role("nested", byHand(time.Minute, 1))
	cmd := exec.Command(vigil(t), "--addr", strings.Join(c.api, ","), "run", "--agent", "nested/a", "--",
		"sh", "-c", `echo "<$VIGIL_TASK$VIGIL_ATTEMPT$VIGIL_SPOOL> as $VIGIL_AGENT"`)
	cmd.Env = append(environ(t), "VIGIL_TASK=12", "VIGIL_ATTEMPT=1", "VIGIL_SPOOL="+t.TempDir())
	p := launch(t, "run", cmd)
	p.shows(regexp.MustCompile("<> as nested/a\n"))
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.out.tail())
	}
}
