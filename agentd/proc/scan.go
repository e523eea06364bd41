package proc

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Scanner lists the marked processes of this machine. One look at all processes
// serves everybody who asked before it began. It is safe for concurrent use.
type Scanner struct {
	mu      sync.Mutex
	next    *look // not begun
	looking bool
}

type look struct {
	done  chan struct{}
	found map[int][]Mark
}

// NewScanner gives a scanner.
func NewScanner() *Scanner { return &Scanner{} }

// Find gives the processes of one tree as they were at some moment after the
// call. Zombies are not among them.
func (s *Scanner) Find(mark Mark) []int {
	var pids []int
	for pid, marks := range s.look() {
		if slices.Contains(marks, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// FindHost gives all marked processes of a host, but for this process and its
// ancestors.
func (s *Scanner) FindHost(host string) map[int]Mark {
	own := ancestors()
	found := map[int]Mark{}
	for pid, marks := range s.look() {
		for _, m := range marks {
			if m.Host == host && !own[pid] {
				found[pid] = m
			}
		}
	}
	return found
}

// Kill sends SIGKILL to pid if it still carries the mark.
func (s *Scanner) Kill(pid int, mark Mark) { signalMarked(pid, mark, unix.SIGKILL) }

// look gives the result of a look at all processes that began after the call. The
// map is shared: it must not be changed.
func (s *Scanner) look() map[int][]Mark {
	s.mu.Lock()
	if s.next == nil {
		s.next = &look{done: make(chan struct{})}
	}
	mine := s.next
	if s.looking {
		s.mu.Unlock()
		<-mine.done
		return mine.found
	}
	// Whoever finds nobody looking does it, until nobody waits.
	s.looking = true
	for s.next != nil {
		l := s.next
		s.next = nil
		s.mu.Unlock()
		l.found = marked()
		close(l.done)
		s.mu.Lock()
	}
	s.looking = false
	s.mu.Unlock()
	return mine.found
}
