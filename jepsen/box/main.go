//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"vigil/jepsen/disk"
	"vigil/jepsen/stand/boxwords"
)

func main() {
	do := run
	if len(os.Args) > 1 && os.Args[1] == boxwords.DiskMode {
		do = func() error { return disk.Serve(os.Args[2:]) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "box:", err)
		os.Exit(1)
	}
}

func run() error {
	if os.Getpid() != 1 {
		return errors.New("it is not the first process of a namespace: package stand starts it")
	}
	// What is mounted here must not be seen outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	b := &box{out: json.NewEncoder(os.Stdout)}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	go func() {
		for range children {
			b.reap()
		}
	}()
	words := json.NewDecoder(os.Stdin)
	for {
		var ask boxwords.Ask
		if err := words.Decode(&ask); err != nil {
			if errors.Is(err, io.EOF) {
				return nil // the driver is gone: so is this machine
			}
			return fmt.Errorf("read: %w", err)
		}
		answer := b.obey(&ask)
		answer.N = ask.N
		b.say(answer)
	}
}

// box speaks to the driver.
type box struct {
	mu  sync.Mutex // also held while a child is started, so that its end is told later
	out *json.Encoder
	// stopped are the processes that were stopped before everything was.
	stopped map[int]bool
}

// say tells the driver something. When nobody listens the end of standard input
// ends this process.
func (b *box) say(w boxwords.Word) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.out.Encode(w)
}

// reap takes in whatever has ended: children, and orphans of this namespace.
func (b *box) reap() {
	for {
		var status unix.WaitStatus
		b.mu.Lock()
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		b.mu.Unlock()
		if err != nil || pid <= 0 {
			return
		}
		b.say(boxwords.Word{Ended: pid, Code: status.ExitStatus(), Signal: int(status.Signal())})
	}
}

func (b *box) obey(ask *boxwords.Ask) (w boxwords.Word) {
	var err error
	switch ask.Do {
	case boxwords.Start:
		w.PID, err = b.start(ask)
	case boxwords.Signal:
		err = unix.Kill(ask.PID, unix.Signal(ask.Signal))
	case boxwords.KillAll:
		err = unix.Kill(-1, unix.SIGKILL)
	case boxwords.StopAll:
		err = b.stopAll()
	case boxwords.ContinueAll:
		err = b.continueAll()
	case boxwords.List:
		w.Processes, err = processes()
	default:
		err = fmt.Errorf("unknown word %q", ask.Do)
	}
	if err != nil {
		w.Error = err.Error()
	}
	return w
}

// start starts a program with its output appended to a file.
func (b *box) start(ask *boxwords.Ask) (int, error) {
	log, err := os.OpenFile(ask.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	pid, err := syscall.ForkExec(ask.Path, append([]string{ask.Path}, ask.Args...), &syscall.ProcAttr{
		Env: append(os.Environ(), ask.Env...), Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", ask.Path, err)
	}
	return pid, nil
}

// stopAll stops everything on this machine but this process, in one step.
func (b *box) stopAll() error {
	list, err := processes()
	if err != nil {
		return err
	}
	b.stopped = map[int]bool{}
	for _, p := range list {
		if p.State == "T" {
			b.stopped[p.PID] = true
		}
	}
	return unix.Kill(-1, unix.SIGSTOP)
}

// continueAll undoes stopAll. What was stopped before stays so: a shim may have
// frozen its agent with a signal.
func (b *box) continueAll() error {
	if len(b.stopped) == 0 {
		return unix.Kill(-1, unix.SIGCONT)
	}
	list, err := processes()
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.PID == 1 || b.stopped[p.PID] {
			continue
		}
		if err := unix.Kill(p.PID, unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("continue process %d: %w", p.PID, err)
		}
	}
	return nil
}
