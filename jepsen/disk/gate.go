//go:build linux

package disk

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// gate is where every call meets the faults of the moment.
type gate struct {
	mu      sync.Mutex
	faults  Faults
	changed chan struct{} // closed when they change

	refused, waiting atomic.Int64
}

func newGate() *gate { return &gate{changed: make(chan struct{})} }

func (g *gate) set(f Faults) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = f
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *gate) now() (Faults, chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.faults, g.changed
}

// Kinds of calls.
const (
	reading = iota
	writing
	syncing
)

// pass lets a call of a thread through, late or with an error.
func (g *gate) pass(call int, thread uint32) syscall.Errno {
	if errno := g.wait(call, thread); errno != 0 {
		return errno
	}
	f, _ := g.now()
	errno := syscall.Errno(0)
	switch call {
	case writing:
		errno = f.Refuse
	case syncing:
		errno = f.RefuseSync
	}
	if errno != 0 {
		g.refused.Add(1)
	}
	return errno
}

// wait holds a call up as long as the faults say.
func (g *gate) wait(call int, thread uint32) syscall.Errno {
	began, counted := time.Now(), false
	for {
		f, changed := g.now()
		late := f.Slow
		if call == syncing {
			late += f.Stall
		}
		left := late - time.Since(began)
		if call == syncing && f.Stall == Forever {
			left = time.Hour
		}
		if left <= 0 {
			return 0
		}
		if !counted {
			counted = true
			g.waiting.Add(1)
			defer g.waiting.Add(-1)
		}
		// The kernel tells of signals but not of which. Go's runtime sends itself signals
		// all the time: only a deadly one may break a call off.
		timer := time.NewTimer(min(left, 20*time.Millisecond))
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		if dying(thread) {
			return syscall.EINTR
		}
	}
}

// dying tells whether a thread has been killed, or its process is ending. The kernel
// ends neither before its calls are answered.
func dying(thread uint32) bool {
	if thread == 0 {
		return false // the kernel itself
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return true // gone
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err == nil && set&(1<<(syscall.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}
