package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/backoff"
)

// quickBackoff finds a server that was restarted at once.
func quickBackoff() backoff.Config {
	return backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.2, Jitter: 0.1,
		MaxDelay: 100 * time.Millisecond}
}

// serverArgs are the arguments of `vigil server` for one of three.
func serverArgs(sv *server, all []*server, config string, debug bool) []string {
	args := []string{"server", "--insecure", "--config", config, "--id", sv.id, "--data-dir", sv.dir, "--addr", sv.api,
		"--raft-addr", sv.raft, "--log-level", "warn"}
	if sv == all[0] {
		args = append(args, "--found")
	} else {
		args = append(args, "--join", all[0].api)
	}
	if debug {
		args = append(args, "--debug")
	}
	return args
}

// process is one process that the benchmark has started.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // after done
}

// startProcess starts a program that ends with this one, whatever happens. Its
// output is appended to the file log.
func startProcess(log string, env []string, program string, args ...string) (*process, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	p := &process{cmd: exec.Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = ownGroup()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", strings.Join(args[:1], " "), err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ended gives why the process has ended; nil while it runs or when there is none.
func (p *process) ended() error {
	if p == nil {
		return nil
	}
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

// stop asks the process to end, and kills it when it has not within limit.
func (p *process) stop(limit time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
	}
}

// start starts the server's process.
func (sv *server) start() (err error) {
	if err = os.MkdirAll(sv.dir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	sv.proc, err = startProcess(sv.logFile(), nil, sv.program, sv.args...)
	return err
}

func (sv *server) logFile() string { return filepath.Join(filepath.Dir(sv.dir), sv.id+".log") }

// kill ends the server as a power failure would, as far as processes go.
func (sv *server) kill() {
	sv.proc.kill()
	sv.proc = nil
}

func (sv *server) stop() {
	if sv.proc != nil {
		sv.proc.kill() // its data is thrown away; nobody has to wait for a good-bye
		sv.proc = nil
	}
}

// lastWords gives the end of the logs of servers that have ended by themselves.
func (s *stand) lastWords() string {
	var b strings.Builder
	for _, sv := range s.servers {
		if sv.proc.ended() == nil {
			continue
		}
		text, err := os.ReadFile(sv.logFile())
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "; server %s: %s", sv.id, strings.Join(lines[max(0, len(lines)-3):], " | "))
	}
	return b.String()
}
