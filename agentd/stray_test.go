package agentd

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// startStray starts a test agent that no daemon owns.
func startStray(t *testing.T, socket string, env ...string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env, "TEST_AGENT=wait", "TEST_SOCKET="+socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }
