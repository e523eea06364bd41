package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"vigil/cmd/vigil/term"
)

// Patience with children.
const (
	childGrace  = 15 * time.Second       // between being told to end and SIGKILL
	childUseful = 2 * time.Second        // one that ends sooner was started in vain
	childHeld   = 250 * time.Millisecond // between looks whether one may run again
)

// child is one process of ours: it is started, and started again when it ends,
// until run does. Its methods may be called by any goroutine.
type child struct {
	name  string // for people
	exe   string
	args  []string
	log   string         // file that gets its output
	stop  syscall.Signal // ends it
	again time.Duration  // before it is started again
	hold  func() string  // why it must not run now, "": it may; nil: it always may
	say   func(format string, args ...any)

	mu     sync.Mutex
	cmd    *exec.Cmd // nil: not running
	frozen bool
}

// run keeps the process alive until ctx ends, then stops it and waits for its end.
// A process that cannot even begin is an error.
func (c *child) run(ctx context.Context) error {
	// The death signal follows the thread that forks; it lives as long as we do.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for useful, first := false, true; c.allowed(ctx); first = false {
		began := time.Now()
		if err := c.start(); err != nil {
			return err
		}
		if !first {
			c.say("%s runs again (pid %d)", c.name, c.pid())
		}
		err := c.wait(ctx)
		if ctx.Err() != nil {
			return nil
		}
		var exit *exec.ExitError
		shot := errors.As(err, &exit) && !exit.Exited() // by somebody who plays with it
		if useful = useful || shot || time.Since(began) >= childUseful; !useful {
			return fmt.Errorf("start %s: it ended at once (%s): %s", c.name, ending(err), c.lastWords())
		}
		if why := c.held(); why != "" {
			c.say("%s has ended (%s): %s", c.name, ending(err), why)
			continue
		}
		c.say("%s has ended (%s) and is started again in %s", c.name, ending(err), term.Short(c.again))
		select {
		case <-ctx.Done():
		case <-time.After(c.again):
		}
	}
	return nil
}

// held says why the process must not run now; "" when it may.
func (c *child) held() string {
	if c.hold == nil {
		return ""
	}
	return c.hold()
}

// allowed waits until the process may run; false: ctx has ended.
func (c *child) allowed(ctx context.Context) bool {
	for ctx.Err() == nil && c.held() != "" {
		select {
		case <-ctx.Done():
		case <-time.After(childHeld):
		}
	}
	return ctx.Err() == nil
}

func (c *child) start() error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	defer log.Close()
	cmd := exec.Command(c.exe, c.args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, ownGroup()
	// What is said to this command must not reach them: they have their own words.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "VIGIL_") })
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	c.mu.Lock()
	c.cmd, c.frozen = cmd, false
	c.mu.Unlock()
	if c.held() != "" { // since a moment ago: whoever said so may not have seen this process
		c.signal(syscall.SIGKILL)
	}
	return nil
}

// wait returns the process's end; when ctx ends first it asks the process to end,
// and after childGrace makes it.
func (c *child) wait(ctx context.Context) error {
	done := make(chan error, 1)
	cmd := c.cmd
	go func() { done <- cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		c.signal(c.stop)
		c.thaw() // a frozen process hears nothing
		select {
		case err = <-done:
		case <-time.After(childGrace):
			c.say("%s does not end and is killed", c.name)
			c.signal(syscall.SIGKILL)
			err = <-done
		}
	}
	c.mu.Lock()
	c.cmd = nil
	c.mu.Unlock()
	return err
}

// pid is that of the running process, 0 when there is none.
func (c *child) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

// signal tells whether there was a process to signal.
func (c *child) signal(sig syscall.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cmd != nil && c.cmd.Process.Signal(sig) == nil
}

// freeze stops the process in its tracks; thaw lets it go on.
func (c *child) freeze() bool {
	ok := c.signal(syscall.SIGSTOP)
	c.mu.Lock()
	c.frozen = ok
	c.mu.Unlock()
	return ok
}

func (c *child) thaw() {
	c.signal(syscall.SIGCONT)
	c.mu.Lock()
	c.frozen = false
	c.mu.Unlock()
}

// well tells whether the process runs and is not frozen.
func (c *child) well() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cmd != nil && !c.frozen
}

// lastWords is the last line of the log.
func (c *child) lastWords() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// ending says how a process has ended.
func ending(err error) string {
	var exit *exec.ExitError
	if err == nil {
		return "exit code 0"
	}
	if !errors.As(err, &exit) {
		return err.Error()
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", exit.ExitCode())
}
