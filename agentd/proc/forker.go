package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrStopped says that the forker does not run (any more); nothing was started.
var ErrStopped = errors.New("forker is stopped")

// Forker starts trees. All forks happen on one thread; see the package comment.
type Forker struct {
	requests chan forkRequest
	stopped  chan struct{}
	scans    *Scanner
}

type forkRequest struct {
	spec   Spec
	answer chan forkAnswer // buffered
}

type forkAnswer struct {
	pid    int
	output *os.File
	err    error
}

// NewForker gives a forker that works while Run does.
func NewForker(scans *Scanner) *Forker {
	return &Forker{requests: make(chan forkRequest), stopped: make(chan struct{}), scans: scans}
}

// Run forks for Start until ctx ends. Every leader that still lives then gets
// SIGKILL from the kernel (Linux). Call it once.
func (f *Forker) Run(ctx context.Context) {
	defer close(f.stopped)
	// Never unlocked: the thread ends with this goroutine, and the death signal of
	// what it forked depends on it.
	runtime.LockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err == nil {
		defer null.Close()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-f.requests:
			if err != nil {
				r.answer <- forkAnswer{err: fmt.Errorf("open %s: %w", os.DevNull, err)}
				continue
			}
			r.answer <- fork(r.spec, null)
		}
	}
}

// Start starts the leader of a tree and returns once its program has been
// executed. An error means that nothing runs. It returns ErrStopped when Run has
// ended.
func (f *Forker) Start(spec Spec) (*Tree, error) {
	r := forkRequest{spec: spec, answer: make(chan forkAnswer, 1)}
	select {
	case f.requests <- r:
	case <-f.stopped:
		return nil, ErrStopped
	}
	a := <-r.answer
	if a.err != nil {
		return nil, a.err
	}
	t := newTree(spec.Mark, a.pid, f.scans)
	go t.watch(a.output, spec.Output)
	return t, nil
}

func fork(spec Spec, null *os.File) forkAnswer {
	var fds [2]int
	if err := pipe(fds[:]); err != nil {
		return forkAnswer{err: fmt.Errorf("make pipe: %w", err)}
	}
	// The write end stays blocking: it is the agent's standard output.
	defer unix.Close(fds[1])
	argv := append([]string{spec.Path}, spec.Args...)
	pid, err := syscall.ForkExec(spec.Path, argv, &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   append(append([]string{}, spec.Env...), spec.Mark.Env()...),
		Files: []uintptr{null.Fd(), uintptr(fds[1]), uintptr(fds[1])},
		Sys:   attributes(spec.Credential),
	})
	if err != nil {
		unix.Close(fds[0])
		return forkAnswer{err: fmt.Errorf("start %s: %w", spec.Path, err)}
	}
	if err := setLimits(pid, spec.Limits); err != nil {
		// A program without the limits that the host's owner asked for must not run.
		_ = unix.Kill(-pid, unix.SIGKILL)
		unix.Close(fds[0])
		_, _ = wait(pid)
		return forkAnswer{err: fmt.Errorf("limit %s: %w", spec.Path, err)}
	}
	// Non-blocking, so that the runtime's poller can give up on it.
	_ = unix.SetNonblock(fds[0], true)
	return forkAnswer{pid: pid, output: os.NewFile(uintptr(fds[0]), "output")}
}

// wait reaps pid.
func wait(pid int) (Exit, error) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return Exit{Code: -1}, fmt.Errorf("wait for process %d: %w", pid, err)
		case status.Signaled():
			return Exit{Code: -1, Signal: status.Signal().String()}, nil
		}
		return Exit{Code: status.ExitStatus()}, nil
	}
}

// pause waits for d or the end of stop; it tells whether d passed.
func pause(stop <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-stop:
		return false
	case <-t.C:
		return true
	}
}
