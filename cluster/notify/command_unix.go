//go:build unix

package notify

import (
	"os/exec"
	"syscall"
)

// alone gives a program a group of its own, which is killed as a whole.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
