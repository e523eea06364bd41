package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"vigil/agentd/local"
)

const (
	maxLine = 64 << 10
	// sayLimit bounds a write to a daemon that does not read.
	sayLimit = time.Second
)

// door is the shim's end of the socket. Each daemon that connects hears the status
// at once and at every change. It is safe for concurrent use.
type door struct {
	listener *net.UnixListener
	requests chan request
	done     chan struct{} // closed by close

	mu       sync.Mutex
	terminal terminal // nil: there is none
	status   status
	conns    map[chan struct{}]struct{} // one token each when the status has changed
}

// openDoor listens in the current folder. It must be called before there is
// another thread that makes files: the umask is the process's.
func openDoor() (*door, error) {
	if err := os.Remove(SocketFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("clear socket: %w", err)
	}
	mask := unix.Umask(0o177)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: SocketFile, Net: "unix"})
	unix.Umask(mask)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	d := &door{listener: listener, requests: make(chan request), done: make(chan struct{}),
		status: status{Version: Version}, conns: map[chan struct{}]struct{}{}}
	go d.serve()
	return d, nil
}

func (d *door) serve() {
	for {
		conn, err := d.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, for instance: agents must not suffer for it.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if !local.Trusted(conn, os.Geteuid()) {
			conn.Close()
			continue
		}
		go d.hear(conn)
	}
}

// hear reads one daemon's requests until it hangs up.
func (d *door) hear(conn *net.UnixConn) {
	changed, gone := make(chan struct{}, 1), make(chan struct{})
	changed <- struct{}{}
	d.mu.Lock()
	d.conns[changed] = struct{}{}
	d.mu.Unlock()
	go d.say(conn, changed, gone)
	defer func() {
		close(gone)
		conn.Close()
		d.mu.Lock()
		delete(d.conns, changed)
		d.mu.Unlock()
	}()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			return // it is not one of ours
		}
		if r.Terminal != nil {
			if d.serveTerminal(conn, *r.Terminal) != nil {
				return
			}
			continue
		}
		select {
		case d.requests <- r:
		case <-d.done:
			return
		}
	}
}

func (d *door) say(conn *net.UnixConn, changed, gone <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-gone:
			return
		}
		d.mu.Lock()
		text, err := json.Marshal(d.status)
		d.mu.Unlock()
		if err == nil {
			_ = conn.SetWriteDeadline(time.Now().Add(sayLimit))
			_, err = conn.Write(append(text, '\n'))
		}
		if err != nil {
			conn.Close() // it connects again and hears all of it
			return
		}
	}
}

// heard tells whether a daemon is connected.
func (d *door) heard() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns) > 0
}

// tell changes the status.
func (d *door) tell(change func(*status)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.status
	if change(&d.status); d.status == before {
		return
	}
	for changed := range d.conns {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// close takes no more requests and removes the socket.
func (d *door) close() {
	close(d.done)
	d.listener.Close()
}
