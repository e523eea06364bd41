package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/fsm"
)

// supervisor is the service manager that has started this process and waits for words of it, as
// sd_notify(3) tells: that it is ready, that it works, that it stops. Nil: there is none.
type supervisor struct {
	socket string
	within time.Duration // it wants to hear within this time that the process works; 0: it does not ask
	log    hclog.Logger
}

// supervised takes what the service manager has put into the environment out of it, so that no agent
// inherits the way to speak for this process. nil: nobody waits.
func supervised(log hclog.Logger) *supervisor {
	socket, usec, pid := os.Getenv("NOTIFY_SOCKET"), os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID")
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // the name is sound
	}
	if socket == "" {
		return nil
	}
	s := &supervisor{socket: socket, log: log}
	if n, err := strconv.ParseInt(usec, 10, 64); err == nil && n > 0 &&
		(pid == "" || pid == strconv.Itoa(os.Getpid())) {
		s.within = time.Duration(n) * time.Microsecond
	}
	return s
}

// tell sends one message. That nobody takes it changes nothing for this process.
func (s *supervisor) tell(message string) {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(message))
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		s.log.Warn("the service manager does not listen", "error", err)
	}
}

// run tells that the process is ready once works first gives no error, then again and again that it
// works as long as that holds, and at the end of ctx that it stops. It asks works three times in the
// time that the manager gives, and says nothing while the answer is not there or is an error: then
// the manager ends the process when that time is over.
func (s *supervisor) run(ctx context.Context, works func(context.Context) error) {
	if s == nil {
		return
	}
	every := time.Second
	for said := ""; ; {
		err := works(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && said != "" && said != err.Error():
			s.log.Error("not working: the service manager is not told that all is well", "error", err)
			said = err.Error()
		case err == nil && said == "":
			s.tell("READY=1\nWATCHDOG=1")
			every, said = max(s.within/3, time.Second), "ready"
		case err == nil && s.within > 0:
			s.tell("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			s.tell("STOPPING=1")
			return
		case <-time.After(every):
		}
	}
}

// progress finds that log entries are committed and none of them is applied any more.
type progress struct {
	read    func() (committed, applied uint64)
	applied uint64
	behind  bool
}

// check gives an error when there was something to apply at the last check and nothing of it was applied since.
func (p *progress) check() error {
	committed, applied := p.read()
	stuck := p.behind && applied == p.applied
	p.applied, p.behind = applied, committed > applied
	if stuck {
		return fmt.Errorf("entries up to %d are committed, and nothing after %d was applied since the last look",
			committed, applied)
	}
	return nil
}

// works gives an error, or no answer, when the server does not apply what is committed, or when
// what it has applied cannot be read. That there is no leader is no error: a restart elects none.
func (s *server) works() func(context.Context) error {
	p := &progress{read: func() (committed, applied uint64) {
		stats := s.replica.Stats()
		return stats.CommitIndex, stats.AppliedIndex
	}}
	return func(context.Context) error {
		s.replica.Read(func(*fsm.View) {}) // the writer of the state holds its lock while it applies
		return p.check()
	}
}
