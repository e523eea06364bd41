//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	f := newFleet(t)
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
