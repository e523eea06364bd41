package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// process is one server that was started, in a group of its own; on Linux it ends with this program,
// whatever happens.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // after done
}

// startProcess starts a program whose output is appended to the file log.
func startProcess(log, program string, args ...string) (*process, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	p := &process{cmd: exec.Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = ownGroup()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ended gives why the process has ended; nil while it runs.
func (p *process) ended() error {
	select {
	case <-p.done:
		if p.err == nil {
			return errors.New("with code 0")
		}
		return p.err
	default:
		return nil
	}
}

// kill ends the process at once and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

// lastWords gives the end of the log of a process that has ended by itself.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}
