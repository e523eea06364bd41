//go:build unix && !linux

package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Elsewhere than on Linux a tree is its process group: there are no marks to
// find, no signal at the death of the parent, and limits are refused.

func attributes(spec Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: spec.Credential}
}

func openTerminal(*syscall.Credential) (*os.File, int, error) {
	return nil, 0, errors.New("a terminal needs Linux")
}

func pipe(fds []int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds); err != nil {
		return err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return nil
}

// confine can take nothing away.
func confine() error { return nil }

// Confined just runs do: on this system there is nothing to take away.
func Confined(do func() error) error { return do() }

// KillAccount finds nothing: there is no list of processes to read.
func KillAccount(uint32) (int, error) { return 0, nil }

func setLimits(_ int, l Limits) error {
	if l != (Limits{}) {
		return errors.New("limits need Linux")
	}
	return nil
}

// awaitExit reaps pid: there is no waiting without it.
func awaitExit(pid int, _ bool) (exit Exit, reaped bool) {
	exit, _ = wait(pid)
	return exit, true
}

func reapAll() (left bool) { return true }

func marked() map[int][]Mark { return nil }

// Contain gives Weak: there are no marks to find.
func (s *Scanner) Contain(Mark, *syscall.Credential) (Containment, string) {
	return Weak, "only on Linux are processes found that leave their group"
}

func signalMarked(int, Mark, unix.Signal) bool { return false }

type deathbed struct{}

func kill(int, Mark) deathbed { return deathbed{} }

func (deathbed) empty() bool { return true }

func groupRuns(pgid int) bool { return !errors.Is(unix.Kill(-pgid, 0), unix.ESRCH) }

// memberOf gives the group itself while it has members.
func memberOf(pgid int, _ func(int) bool) int {
	if groupRuns(pgid) {
		return pgid
	}
	return 0
}

func belongs(pid, pgid int) bool { return pid == pgid && groupRuns(pgid) }

// carries: there are no marks to see, so all must be believed.
func carries(int, Mark) bool { return true }

func runs(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

func stopped(int, func(int) bool) bool { return true }

func runningOf(int) int { return 0 }

func groupOf(int) []int { return nil }

func bornAt(int) uint64 { return 0 }

func stat(int) (state byte, parent, group int) { return 0, 0, 0 }

func ancestors() map[int]bool { return map[int]bool{os.Getpid(): true} }
