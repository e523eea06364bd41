package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxQueued is how many bytes of a log may wait for whoever reads it.
	maxQueued = 1 << 20
	// lastLimit is how long the last lines are awaited.
	lastLimit = time.Second
)

// Queue passes a log on for a process that must not wait for whoever reads it: a terminal may be stopped, a pipe may be
// full, a disk may hang, and meanwhile beats are sent and a cluster is led (law L10). What is beyond maxQueued is
// left out, and said once the rest was read. It is safe for concurrent use.
type Queue struct {
	to   io.Writer
	done chan struct{} // closed when nothing is written any more

	mu      sync.Mutex
	changed sync.Cond
	lines   [][]byte
	bytes   int             // of lines
	leftOut int             // lines; from the first one on all are, until the rest was read
	tell    func(lines int) // says that so many lines were left out
	ending  bool
}

func newQueue(to io.Writer) *Queue {
	q := &Queue{to: to, done: make(chan struct{})}
	q.changed.L = &q.mu
	q.tell = func(lines int) {
		fmt.Fprintf(q, "vigil: %d lines were left out, which nobody had read in time\n", lines)
	}
	go q.run()
	return q
}

// Write takes whole lines, mostly one. It never waits and never fails.
func (q *Queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.leftOut > 0 || q.bytes+len(p) > maxQueued {
		q.leftOut += max(1, bytes.Count(p, []byte("\n")))
	} else {
		q.lines = append(q.lines, bytes.Clone(p))
		q.bytes += len(p)
	}
	q.changed.Signal()
	return len(p), nil
}

// Tell has another function say how many lines were left out, in the form of the log. It may write to the queue.
func (q *Queue) Tell(tell func(lines int)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tell = tell
}

func (q *Queue) run() {
	defer close(q.done)
	for {
		line := q.next()
		if line == nil {
			return
		}
		_, _ = q.to.Write(line) // there is nowhere to complain
	}
}

// next waits for what is to be written; nil: it was the last.
func (q *Queue) next() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.lines) == 0 {
		switch lines, tell := q.leftOut, q.tell; {
		case lines > 0:
			q.leftOut = 0
			q.mu.Unlock()
			tell(lines)
			q.mu.Lock()
		case q.ending:
			return nil
		default:
			q.changed.Wait()
		}
	}
	line := q.lines[0]
	q.lines[0], q.lines = nil, q.lines[1:]
	q.bytes -= len(line)
	return line
}

// end waits until all is written, for lastLimit at most.
func (q *Queue) end() {
	q.mu.Lock()
	q.ending = true
	q.changed.Signal()
	q.mu.Unlock()
	timer := time.NewTimer(lastLimit)
	defer timer.Stop()
	select {
	case <-q.done:
	case <-timer.C:
	}
}

// QueueErr has whatever goes to a.Err from now on wait in a Queue, for commands that run for long.
func (a *App) QueueErr() {
	a.queue = newQueue(a.Err)
	a.Err = a.queue
}

// EndErr waits a moment until that was written. It is called once, at the end of the program.
func (a *App) EndErr() {
	if a.queue != nil {
		a.queue.end()
	}
}
