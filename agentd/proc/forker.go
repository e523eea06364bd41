package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrStopped says that the forker does not run (any more); nothing was started.
var ErrStopped = errors.New("forker is stopped")

// Forker starts trees. All forks happen on one thread; see the package comment.
type Forker struct {
	// Confine has nothing that is forked gain a right that its account does not have, by no program
	// and never: see Confined. It is set before Run, if at all.
	Confine bool

	requests chan func(null *os.File)
	stopped  chan struct{}
	scans    *Scanner
	loose    error // why nothing can be confined; of the thread of Run
}

// NewForker gives a forker that works while Run does.
func NewForker(scans *Scanner) *Forker {
	return &Forker{requests: make(chan func(*os.File)), stopped: make(chan struct{}), scans: scans}
}

// Run forks for Start until ctx ends. Every leader that still lives then gets
// SIGKILL from the kernel (Linux). Call it once.
func (f *Forker) Run(ctx context.Context) {
	defer close(f.stopped)
	// Never unlocked: the thread ends with this goroutine, and the death signal of
	// what it forked depends on it.
	runtime.LockOSThread()
	if f.Confine {
		f.loose = confine()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err == nil {
		defer null.Close()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-f.requests:
			r(null)
		}
	}
}

// do runs fn on the thread that forks, unless that is not confined as it should be.
func (f *Forker) do(fn func(null *os.File)) (loose error) {
	done := make(chan struct{})
	work := func(null *os.File) {
		defer close(done)
		if f.loose != nil {
			loose = fmt.Errorf("take rights away: %w", f.loose)
			return
		}
		fn(null)
	}
	select {
	case f.requests <- work:
	case <-f.stopped:
		return ErrStopped
	}
	<-done
	return loose
}

// Start starts the leader of a tree and returns once its program has been
// executed. An error means that nothing runs. It returns ErrStopped when Run has
// ended.
func (f *Forker) Start(spec Spec) (*Tree, error) {
	var a forkAnswer
	if err := f.do(func(null *os.File) { a = fork(spec, null) }); err != nil {
		return nil, err
	}
	if a.err != nil {
		return nil, a.err
	}
	t := newTree(spec, a.pid, f.scans)
	go t.watch(a.output, spec.Output)
	return t, nil
}

// Launch starts cmd as a process of the tree of spec: with its account, its control
// group, a session of its own, and its death tied to this process. cmd brings the
// rest, the mark in its environment too. The caller waits for it.
func (f *Forker) Launch(spec Spec, cmd *exec.Cmd) error {
	var err error
	stopped := f.do(func(*os.File) {
		spec.PTY = false
		cmd.SysProcAttr = attributes(spec)
		var leave func()
		if leave, err = spec.Cgroup.enter(cmd.SysProcAttr); err == nil {
			err = cmd.Start()
		}
		leave()
		if err != nil {
			return
		}
		if err = setLimits(cmd.Process.Pid, spec.Limits); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return errors.Join(stopped, err)
}

// Hold makes a tree of what Launch has started. Its leader is a descendant that
// its holder, the launched process, waits for; wait returns when the leader has ended,
// having ended the holder. PID, Stop and Exit are about the leader. Its limits are those
// of the holder, which it was forked by.
//
// Who names the leader may be the agent itself, so this process does nothing to it
// that its mark does not allow, and one that lives without the mark is refused.
func (f *Forker) Hold(spec Spec, leader, holder int, wait func() Exit) (*Tree, error) {
	if !carries(leader, spec.Mark) && runs(leader) {
		return nil, fmt.Errorf("hold %s: process %d is not its own: it does not carry the mark of the life",
			spec.Path, leader)
	}
	t := newTree(spec, leader, f.scans)
	t.holder = holder
	if spec.Reap {
		go awaitExit(holder, true)
	}
	go t.watchHeld(wait)
	return t, nil
}

type forkAnswer struct {
	pid    int
	output *os.File
	err    error
}

func fork(spec Spec, null *os.File) forkAnswer {
	if null == nil {
		return forkAnswer{err: errors.New(os.DevNull + " could not be opened")}
	}
	streams, err := openStreams(spec, null)
	if err != nil {
		return forkAnswer{err: err}
	}
	defer streams.closeTheirs()
	argv := append([]string{spec.Path}, spec.Args...)
	attr := &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Mark.In(spec.Env),
		Files: streams.theirs[:],
		Sys:   attributes(spec),
	}
	leave, err := spec.Cgroup.enter(attr.Sys)
	pid := 0
	if err == nil {
		pid, err = syscall.ForkExec(spec.Path, argv, attr)
	}
	leave()
	if err != nil {
		streams.output.Close()
		return forkAnswer{err: fmt.Errorf("start %s: %w", spec.Path, err)}
	}
	if err := setLimits(pid, spec.Limits); err != nil {
		// A program without the limits that the host's owner asked for must not run.
		_ = unix.Kill(-pid, unix.SIGKILL)
		streams.output.Close()
		_, _ = wait(pid)
		return forkAnswer{err: fmt.Errorf("limit %s: %w", spec.Path, err)}
	}
	return forkAnswer{pid: pid, output: streams.output}
}

// streams are the ends of what a leader reads and prints.
type streams struct {
	theirs [3]uintptr // its standard input, output and error
	close  int        // the descriptor behind the last two
	output *os.File   // where its output arrives
}

func (s *streams) closeTheirs() { unix.Close(s.close) }

func openStreams(spec Spec, null *os.File) (*streams, error) {
	if spec.PTY {
		master, slave, err := openTerminal(spec.Credential)
		if err != nil {
			return nil, fmt.Errorf("make terminal: %w", err)
		}
		fd := uintptr(slave)
		return &streams{theirs: [3]uintptr{fd, fd, fd}, close: slave, output: master}, nil
	}
	var fds [2]int
	if err := pipe(fds[:]); err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	// The write end stays blocking: it is the agent's standard output. The read end
	// does not, so that the runtime's poller can give up on it.
	_ = unix.SetNonblock(fds[0], true)
	out := uintptr(fds[1])
	return &streams{theirs: [3]uintptr{null.Fd(), out, out}, close: fds[1],
		output: os.NewFile(uintptr(fds[0]), "output")}, nil
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

// within waits for c, for d at most.
func within(c <-chan struct{}, d time.Duration) { pause(c, d) }

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
