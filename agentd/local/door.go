package local

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vigil/rpc/client"
)

const (
	// maxConns is how many connections of a life are served at once. Each costs two
	// buffers of 32 KiB.
	maxConns = 64
	// silentLimit is how long a new connection may say nothing.
	silentLimit = 10 * time.Second
	// maxPath is the longest path of a socket that any kernel takes, in bytes.
	maxPath = 103
)

// EnvSocket is the variable that tells an agent where the socket of its life is.
const EnvSocket = client.EnvSocket

// DoorConfig is what a Door needs.
type DoorConfig struct {
	Folder string // absolute; the socket is in it unless its path would be too long
	Name   string // of the socket
	Owner  int    // uid of the life
	Life   Life
	// Reach gives a new connection to agentd. It returns within seconds and may be called
	// by several goroutines at once.
	Reach func() (net.Conn, error)
}

// Door is the socket of one life, or its port for telemetry, served by its shim. It is safe for concurrent use.
type Door struct {
	config   DoorConfig
	path     string
	own      string // folder made for the socket; empty: none was
	listener net.Listener
	admits   func(net.Conn) bool
	slots    chan struct{}
	done     chan struct{} // closed by Close
	away     *awayServer
	work     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil: closed
}

// OpenDoor makes the socket and serves it until Close.
func OpenDoor(config DoorConfig) (*Door, error) {
	d := &Door{config: config, path: filepath.Join(config.Folder, config.Name), slots: make(chan struct{}, maxConns),
		done: make(chan struct{}), conns: map[net.Conn]struct{}{}, away: newAwayServer()}
	d.admits = func(conn net.Conn) bool {
		unix, ok := conn.(*net.UnixConn)
		return ok && Trusted(unix, config.Owner)
	}
	if err := d.listen(); err != nil {
		if d.own != "" {
			_ = os.Remove(d.own)
		}
		return nil, fmt.Errorf("open the socket of the life: %w", err)
	}
	d.work.Go(d.serve)
	return d, nil
}

// OpenPort opens a port of the loopback interface and serves it until Close. Anybody on the host may connect:
// what is passed on there must say who it is. Folder, Name and Owner mean nothing.
func OpenPort(config DoorConfig) (*Door, error) {
	d := &Door{config: config, slots: make(chan struct{}, maxConns), done: make(chan struct{}),
		conns: map[net.Conn]struct{}{}, away: newAwayServer(), admits: func(net.Conn) bool { return true }}
	var err error
	if d.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("open the port of the life: %w", err)
	}
	d.work.Go(d.serve)
	return d, nil
}

// Addr is where the door is: of a port 127.0.0.1:PORT.
func (d *Door) Addr() string { return d.listener.Addr().String() }

// listen makes the socket, which nobody but the life's account and root may use.
func (d *Door) listen() (err error) {
	if len(d.path) > maxPath {
		if d.own, err = os.MkdirTemp("", shortPrefix); err != nil {
			return err
		}
		if err = os.Chmod(d.own, 0o711); err != nil {
			return err
		}
		d.path = filepath.Join(d.own, "s")
	}
	if err = os.Remove(d.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// Who connects before the rights are set is judged all the same.
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.path, Net: "unix"})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	d.listener = listener
	err = os.Chmod(d.path, 0o600)
	if err == nil && d.config.Owner != os.Geteuid() {
		err = os.Chown(d.path, d.config.Owner, -1)
	}
	if err != nil {
		d.listener.Close()
		_ = os.Remove(d.path)
	}
	return err
}

// shortPrefix begins the name of a folder that is made for one socket.
const shortPrefix = "vigil-life-"

// Sweep removes the socket of a door that was not closed. path is what Path gave.
func Sweep(path string) {
	if path == "" {
		return
	}
	_ = os.Remove(path) // it was removed before, or nobody can use it
	if folder := filepath.Dir(path); len(filepath.Base(folder)) > len(shortPrefix) &&
		filepath.Base(folder)[:len(shortPrefix)] == shortPrefix {
		_ = os.Remove(folder)
	}
}

// Path is where the socket is; empty: it is a port.
func (d *Door) Path() string { return d.path }

// Close closes the socket and every connection, and removes the socket. It returns when
// nothing of the door is left.
func (d *Door) Close() {
	close(d.done)
	d.listener.Close()
	d.mu.Lock()
	conns := d.conns
	d.conns = nil
	d.mu.Unlock()
	for conn := range conns {
		conn.Close()
	}
	d.away.close()
	d.work.Wait()
	Sweep(d.path)
}

func (d *Door) serve() {
	for {
		// Those for whom there is no room wait in the kernel.
		select {
		case d.slots <- struct{}{}:
		case <-d.done:
			return
		}
		conn, err := d.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, for instance
			<-d.slots
			d.rest()
			continue
		case !d.admits(conn) || !d.enter(conn):
			conn.Close()
			<-d.slots
			continue
		}
		d.work.Go(func() {
			defer func() { <-d.slots }()
			defer d.leave(conn)
			d.pass(conn)
		})
	}
}

// rest pauses after an error that passes.
func (d *Door) rest() {
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.done:
	}
}

// enter notes a connection that Close must close; false when the door is closed.
func (d *Door) enter(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns == nil {
		return false
	}
	d.conns[conn] = struct{}{}
	return true
}

func (d *Door) leave(conn net.Conn) {
	conn.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, conn)
}

// pass serves one connection of the agent until either end has closed it.
func (d *Door) pass(conn net.Conn) {
	first := make([]byte, 1)
	if conn.SetReadDeadline(time.Now().Add(silentLimit)) != nil {
		return
	}
	if _, err := conn.Read(first); err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	agentd, err := d.config.Reach()
	if err != nil {
		d.away.serve(conn, first)
		return
	}
	defer d.leave(agentd)
	if !d.enter(agentd) {
		return
	}
	if greet(agentd, d.config.Life) != nil {
		d.away.serve(conn, first)
		return
	}
	if _, err := agentd.Write(first); err != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(agentd, conn) // either end may go at any moment
		if c, ok := agentd.(*net.UnixConn); ok {
			_ = c.CloseWrite()
		}
	})
	_, _ = io.Copy(conn, agentd)
	conn.Close()
	up.Wait()
}

// Listen opens a socket that only this account and root may use, in a folder whose path may
// be of any length. Whoever closes the listener removes the socket.
func Listen(folder, name string) (*net.UnixListener, error) {
	path := filepath.Join(folder, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: Through(folder, dir.Fd()) + "/" + name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the name goes through a descriptor that is closed by then
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Dial connects to a socket in a folder whose path may be of any length.
func Dial(path string) (net.Conn, error) {
	folder := filepath.Dir(path)
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var d net.Dialer
	d.Timeout = greetLimit
	return d.Dial("unix", Through(folder, dir.Fd())+"/"+filepath.Base(path))
}
