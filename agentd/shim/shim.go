package shim

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// redial is the longest pause before a lost connection is made again.
	redial = time.Second
	// deafLimit is how long a shim may take to end after the grace before it is killed
	// itself, and its agent with it. Any machine that runs at all is faster.
	deafLimit = 30 * time.Second
	// recheck is how often the lock is looked at where processes cannot be held.
	recheck = 100 * time.Millisecond
)

// Shim is agentd's hold on a running shim. It is safe for concurrent use.
type Shim struct {
	folder  string
	started Started
	child   *os.Process   // to be reaped; nil: somebody else's
	handle  *handle       // nil: the lock tells when it is gone
	deaf    time.Duration // deafLimit, unless a test sets it

	gone chan struct{} // closed when the process is gone, or by Close
	left context.CancelFunc
	live context.Context // until Close

	mu     sync.Mutex
	ack    time.Duration
	stop   *stopRequest
	status status
	undead string        // why the shim itself is not gone though it was killed
	wake   chan struct{} // ack or stop have changed
	heard  chan struct{} // status or undead has changed
}

// newShim takes hold of a process. It does not talk to it yet.
func newShim(folder string, started Started, child *os.Process) *Shim {
	s := &Shim{folder: folder, started: started, child: child, gone: make(chan struct{}),
		wake: make(chan struct{}, 1), heard: make(chan struct{}, 1), deaf: deafLimit}
	s.live, s.left = context.WithCancel(context.Background())
	if h, err := openHandle(started.Shim, started.ShimStart); err == nil {
		s.handle = h
	}
	go s.await()
	return s
}

// PID is that of the agent's first process.
func (s *Shim) PID() int { return s.started.PID }

// Started is what the shim wrote down when it had started the program.
func (s *Shim) Started() Started { return s.started }

// Frozen tells whether the shim has said that its tree is frozen.
func (s *Shim) Frozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status.Frozen
}

// Acknowledge passes on that a fence beat sent at that time (CLOCK_BOOTTIME) found
// the life current. It never blocks; of several, the latest counts.
func (s *Shim) Acknowledge(sent time.Duration) {
	s.mu.Lock()
	s.ack = max(s.ack, sent)
	s.mu.Unlock()
	signalOne(s.wake)
}

// Stop ends the life on purpose: SIGTERM and, after grace, SIGKILL; 0 kills at
// once, and so does any grace for a frozen tree. The first reason stays, a shorter
// grace counts. It never blocks. A shim that is still there 30 s after the grace, and
// has not said that something cannot be killed, is killed together with its agent. One
// that outlives that for another 30 s is reported as stuck.
func (s *Shim) Stop(grace time.Duration, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stop == nil:
		s.stop = &stopRequest{Grace: grace, Reason: reason}
	case grace < s.stop.Grace:
		s.stop = &stopRequest{Grace: grace, Reason: s.stop.Reason}
	default:
		return
	}
	signalOne(s.wake)
	go s.insist(grace)
}

// insist kills a shim that does not end after the grace of a stop.
func (s *Shim) insist(grace time.Duration) {
	if s.goneWithin(grace + s.deaf) {
		return
	}
	s.mu.Lock()
	deaf := s.status.Stuck == ""
	s.mu.Unlock()
	if !deaf {
		return
	}
	s.kill()
	if s.goneWithin(s.deaf) {
		return
	}
	s.mu.Lock()
	s.undead = fmt.Sprintf("shim %d cannot be killed, perhaps because its disk hangs: the agent keeps "+
		"its slot until it is gone", s.started.Shim)
	s.mu.Unlock()
	signalOne(s.heard)
}

func (s *Shim) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.gone:
		return true
	case <-timer.C:
		return false
	}
}

// Wait returns how the life ended, once nothing of its tree is left and the shim is
// gone. A shim that left no record was killed; what carries the mark of the life is
// killed then. It calls stuck once when something outlives SIGKILL. After Close it
// returns the zero Exit, which says nothing. Call it once.
func (s *Shim) Wait(stuck func(reason string)) Exit {
	told := false
	for {
		select {
		case <-s.heard:
			s.mu.Lock()
			word := cmp.Or(s.status.Stuck, s.undead)
			s.mu.Unlock()
			if word != "" && !told {
				told = true
				stuck(word)
			}
			continue
		case <-s.gone:
		}
		break
	}
	if s.live.Err() != nil {
		return Exit{}
	}
	s.left()
	exit := Bury(s.folder, s.started.Mark, func(word string) {
		if !told {
			stuck(word)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if exit.Vanished && s.status.Exit != nil {
		return *s.status.Exit // its disk has no room for the record
	}
	if exit.Vanished && s.stop != nil {
		exit.Ordered, exit.Reason = true, s.stop.Reason+" ("+exit.Reason+")"
	}
	return exit
}

// Close lets go of a shim that goes on without this process.
func (s *Shim) Close() {
	s.left()
	if s.handle != nil {
		s.handle.close()
	}
}

// kill ends the shim itself; the kernel ends the agent then.
func (s *Shim) kill() {
	switch {
	case s.handle != nil:
		s.handle.kill()
	case s.child != nil:
		_ = s.child.Kill()
	}
}

// await closes gone. While it has a handle it costs no thread and no look.
func (s *Shim) await() {
	defer close(s.gone)
	if s.handle != nil {
		s.handle.wait()
		if s.live.Err() == nil {
			s.handle.close()
		}
	}
	if s.child != nil && s.live.Err() == nil {
		_, _ = s.child.Wait()
	}
	for s.live.Err() == nil {
		if held, err := locked(s.folder); err == nil && !held {
			return
		}
		s.sleep(recheck)
	}
}

// sleep waits for d, or less when this hold ends.
func (s *Shim) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.live.Done():
	case <-timer.C:
	}
}

// talk keeps a connection to the shim until it is gone or Close is called.
func (s *Shim) talk() {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, redial) {
		if conn, err := s.dial(); err == nil {
			if s.converse(conn) {
				pause = 10 * time.Millisecond
			}
		}
		select {
		case <-s.gone:
			return
		default:
		}
		if s.live.Err() != nil {
			return
		}
		s.sleep(pause)
	}
}

func (s *Shim) dial() (net.Conn, error) {
	folder, err := os.Open(s.folder)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	var d net.Dialer
	return d.DialContext(s.live, "unix", socketPath(s.folder, folder.Fd()))
}

// converse passes on what is to be said and notes what is heard, until the
// connection ends. It tells whether anything was heard.
func (s *Shim) converse(conn net.Conn) (useful bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			var now status
			if json.Unmarshal(lines.Bytes(), &now) != nil {
				return
			}
			useful = true
			s.mu.Lock()
			s.status = now
			s.mu.Unlock()
			signalOne(s.heard)
		}
	}()
	s.speak(conn, ended)
	conn.Close()
	<-ended
	return useful
}

func (s *Shim) speak(conn net.Conn, ended <-chan struct{}) {
	said := request{}
	for {
		s.mu.Lock()
		next := request{Stop: s.stop}
		if s.ack > said.Acknowledge {
			next.Acknowledge = s.ack
		}
		s.mu.Unlock()
		if next.Stop == said.Stop {
			next.Stop = nil
		}
		if next != (request{}) {
			text, err := json.Marshal(next)
			if err != nil {
				return
			}
			// A stopped shim does not read: this hold must still end with Close.
			_ = conn.SetWriteDeadline(time.Now().Add(sayLimit))
			if _, err := conn.Write(append(text, '\n')); err != nil {
				return
			}
			said.Acknowledge = max(said.Acknowledge, next.Acknowledge)
			if next.Stop != nil {
				said.Stop = next.Stop
			}
		}
		select {
		case <-s.wake:
		case <-ended:
			return
		case <-s.gone:
			return
		case <-s.live.Done():
			return
		}
	}
}

// signalOne leaves one token.
func signalOne(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
