//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/agentd/runner"
)

// asFirst has this test binary become the first process of a container.
const asFirst = "as-first-process"

// beFirst becomes the program of args, with a list of processes of its own. It is the first process of its namespaces.
func beFirst(args []string) {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("proc", "/proc", "proc", 0, "")
	}
	if err == nil {
		err = syscall.Exec(args[0], args, os.Environ())
	}
	fmt.Println("no container:", err)
	os.Exit(1)
}

// contain starts the program as the first process of namespaces of its own: all that it has started is killed with it.
func contain(t *testing.T, name string, args ...string) *proc {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes a PID namespace")
	}
	cmd := exec.Command(os.Args[0], append([]string{asFirst, vigil(t)}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	p, err := run(t, name, cmd)
	if err != nil {
		t.Skipf("needs namespaces: %v", err)
	}
	return p
}

// A container that is stopped takes its agents with it, so they are ended as when a machine goes down: they get
// SIGTERM and their grace, their ends are told, and the host says good-bye.
func TestContainerThatIsStoppedEndsItsAgentsFirst(t *testing.T) {
	t.Parallel()
	f, anyone, write := oneServer(t)
	record := filepath.Join(f.dir, "record")
	script := write("agent.sh", fmt.Sprintf("trap 'echo asked to end >>%s; exit 0' TERM\necho up >>%s\n"+
		"while :; do sleep 1 & wait; done\n", record, record))
	h1 := contain(t, "h1", "agentd", "--config", write("h1.yaml", fmt.Sprintf(
		"servers: [%q]\ninsecure: true\ndata_dir: %q\nname: h1\nrunners:\n"+
			"- {name: careful, program: /bin/sh, args: [%q], user: %q}\n",
		f.api, filepath.Join(f.dir, "h1"), script, runner.SameUser())))
	f.until("anyone", "h1", anyone("host", "list")...)
	f.must("anyone", anyone("apply", "-f", write("room.yaml",
		"room: web\nroles: [{name: careful, runner: careful, replicas: 1, stop_grace: 10s}]\n"), "--yes")...)
	recorded := func(want string) {
		t.Helper()
		var text []byte
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if text, _ = os.ReadFile(record); string(text) == want {
				return
			}
		}
		t.Fatalf("the agent has recorded %q, want %q", text, want)
	}
	recorded("up\n")

	h1.signal(syscall.SIGTERM)
	if code := h1.end(); code != 0 {
		t.Errorf("the container ended with code %d", code)
	}
	recorded("up\nasked to end\n")
	f.until("anyone", "left", anyone("host", "list")...)
	f.until("anyone", "host is shutting down", anyone("agent", "show", "web/careful")...)
	if out := h1.out.String(); !strings.Contains(out, "host has left") {
		t.Error("the host did not say good-bye")
	}
}
