package workload

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"vigil/jepsen/history"
)

// dieWithUs has a process that is to be started end with the thread that starts it.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// clockShift is how far the clock of ledgers is from CLOCK_MONOTONIC, which Node.js shows, in nanoseconds.
func clockShift() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0 // cannot happen: the clock is older than Go
	}
	return history.Now() - ts.Nano()
}
