package local

import (
	"net"
	"net/http"
	"sync"
	"time"

	"vigil/rpc/code"
)

// Limits of the server that says that agentd is away.
const (
	awayLimit  = 5 * time.Second // of one connection
	maxHeaders = 64 << 10        // bytes
	maxWindow  = 64 << 10        // bytes of a connection that have not been read
)

// awayServer answers every call with agentd_away and ends its connection, so that the next
// one finds agentd when that is back.
type awayServer struct {
	once   sync.Once
	server *http.Server
	conns  *handed
	served open
	done   chan struct{} // closed when the server has returned; nil: it was never begun
}

func newAwayServer() *awayServer { return &awayServer{conns: newHanded()} }

// begin starts the server with the first connection: a shim whose agentd stays has none.
func (a *awayServer) begin() {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	a.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			refuse(w, r, code.AgentdAway, code.Of(code.AgentdAway).Remedy)
		}),
		Protocols: protocols, MaxHeaderBytes: maxHeaders, ConnState: a.served.note,
		ReadTimeout: awayLimit, WriteTimeout: awayLimit, IdleTimeout: awayLimit,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 8, MaxReceiveBufferPerConnection: maxWindow,
			MaxReceiveBufferPerStream: maxWindow},
		ErrorLog: silent(),
	}
	a.done = make(chan struct{})
	go func() {
		defer close(a.done)
		_ = a.server.Serve(a.conns) // it ends with close
	}()
}

// serve answers what comes on a connection, whose beginning was read, and returns when it is
// closed.
func (a *awayServer) serve(conn net.Conn, first []byte) {
	a.once.Do(a.begin)
	c := &replayed{Conn: conn, first: first, closed: make(chan struct{})}
	// A connection that is kept open by its other end must go, too.
	timer := time.AfterFunc(2*awayLimit, func() { c.Close() })
	defer timer.Stop()
	if a.conns.give(c) {
		<-c.closed
	}
}

func (a *awayServer) close() {
	a.conns.Close()
	a.once.Do(func() {})
	if a.done != nil {
		_ = a.server.Close() // it has nothing to say any more
		<-a.done
		a.served.Wait()
	}
}

// open counts the connections that a server has not closed yet: it lingers on some of them after
// its own end.
type open struct{ sync.WaitGroup }

func (o *open) note(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		o.Add(1)
	case http.StateClosed, http.StateHijacked:
		o.Done()
	}
}

// replayed is a connection whose first bytes were read.
type replayed struct {
	net.Conn
	first  []byte
	once   sync.Once
	closed chan struct{}
}

func (c *replayed) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *replayed) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}

// handed is a listener whose connections somebody else accepts.
type handed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newHanded() *handed { return &handed{conns: make(chan net.Conn), done: make(chan struct{})} }

// give hands a connection over; after Close it gives false and closes it.
func (h *handed) give(conn net.Conn) bool {
	select {
	case h.conns <- conn:
		return true
	case <-h.done:
		conn.Close()
		return false
	}
}

// Accept implements net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements net.Listener.
func (h *handed) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }
