package linktest

import (
	"net"
	"sync"
	"time"
)

// Lagged is a connection over a slow line: what is written arrives a while later, in either direction. Safe for one
// reader and one writer at a time, and for Close.
type Lagged struct {
	net.Conn
	way     time.Duration
	out, in chan parcel
	rest    []byte // of what was read
	end     error  // of what was read
	gone    chan struct{}
	once    sync.Once
}

type parcel struct {
	due  time.Time
	data []byte
	err  error
}

// Lag makes a connection one over a line whose way takes that long; goroutines carry what is under way until Close.
func Lag(c net.Conn, way time.Duration) *Lagged {
	l := &Lagged{Conn: c, way: way, out: make(chan parcel, 1<<10), in: make(chan parcel, 1<<10), gone: make(chan struct{})}
	go l.send()
	go l.receive()
	return l
}

// Trip is how long the way there and back takes.
func (l *Lagged) Trip() time.Duration { return 2 * l.way }

// Write takes what will be sent.
func (l *Lagged) Write(b []byte) (int, error) {
	select {
	case l.out <- parcel{due: time.Now().Add(l.way), data: append([]byte(nil), b...)}:
		return len(b), nil
	case <-l.gone:
		return 0, net.ErrClosed
	}
}

// Read waits for what has arrived.
func (l *Lagged) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.end != nil {
			return 0, l.end
		}
		select {
		case p := <-l.in:
			if !l.wait(p.due) {
				return 0, net.ErrClosed
			}
			l.rest, l.end = p.data, p.err
		case <-l.gone:
			return 0, net.ErrClosed
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close ends it at once.
func (l *Lagged) Close() error {
	l.once.Do(func() { close(l.gone) })
	return l.Conn.Close()
}

func (l *Lagged) send() {
	for {
		select {
		case p := <-l.out:
			if !l.wait(p.due) {
				return
			}
			if _, err := l.Conn.Write(p.data); err != nil {
				return
			}
		case <-l.gone:
			return
		}
	}
}

func (l *Lagged) receive() {
	for {
		b := make([]byte, 4096)
		n, err := l.Conn.Read(b)
		select {
		case l.in <- parcel{time.Now().Add(l.way), b[:n], err}:
		case <-l.gone:
			return
		}
		if err != nil {
			return
		}
	}
}

// wait waits until then; false: it was closed first.
func (l *Lagged) wait(until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.gone:
		return false
	}
}
