package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// probeLimit bounds each step of a probe.
const probeLimit = 5 * time.Second

// Probe tries, with a process of its own that carries mark and runs under an account (nil: this one), whether
// what leaves its group can be found, stopped and killed here: law L7 rests on it wherever a control
// group cannot be used. A container that runs root without the right to look at others (SYS_PTRACE) cannot. The
// error says what failed; nothing of the probe is left.
func (s *Scanner) Probe(mark Mark, c *syscall.Credential) error {
	sleep, err := exec.LookPath("/bin/sleep")
	if err != nil {
		sleep, err = exec.LookPath("sleep")
	}
	if err != nil {
		return fmt.Errorf("there is nothing to try with: %w", err)
	}
	cmd := exec.Command(sleep, "60")
	cmd.Env, cmd.Dir = []string{mark.Env()}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("a process of that account cannot be started: %w", err)
	}
	pid := cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	defer func() {
		_ = cmd.Process.Kill() // usually it is dead
		<-ended
	}()
	if !slices.Contains(s.Find(mark), pid) { // it has been executed
		return errors.New("its processes are not found by their mark (reading the environment of " +
			"another account needs SYS_PTRACE)")
	}
	if !signalMarked(pid, mark, unix.SIGSTOP) ||
		!within5(func() bool { state, _, _ := stat(pid); return state == 'T' }) {
		return errors.New("its processes are not stopped by a signal")
	}
	signalMarked(pid, mark, unix.SIGKILL)
	select {
	case <-ended:
		return nil
	case <-time.After(probeLimit):
		return errors.New("its processes are not killed by a signal")
	}
}

// within5 asks until the answer is yes, for probeLimit at most.
func within5(yes func() bool) bool {
	for end := time.Now().Add(probeLimit); !yes(); pause(nil, time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Contain measures what holds the processes of an account together here, and says why no more does.
func (s *Scanner) Contain(mark Mark, c *syscall.Credential) (Containment, string) {
	group, degraded := NewCgroup(fmt.Sprintf("vigil-probe-%d-%d", os.Getpid(), mark.Agent), Limits{})
	unified := group.unifies()
	if err := group.Remove(); err != nil {
		degraded = append(degraded, err.Error())
	}
	if unified && c != nil && c.Uid != 0 && int(c.Uid) != os.Geteuid() {
		return Sealed, ""
	}
	if err := s.Probe(mark, c); err != nil {
		degraded = append([]string{err.Error()}, degraded...)
		if !unified {
			return Weak, strings.Join(degraded, "; ")
		}
	}
	return Grouped, strings.Join(degraded, "; ")
}
