package wire

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// serve hands the requests of a connection to raft, until either end closes it.
func (t *Transport) serve(c *conn) {
	only := &single{conn: c, ready: make(chan struct{}), closed: make(chan struct{})}
	decoder := networkTransport(only, t.cfg.Logger)
	decoder.SetHeartbeatHandler(func(rpc raft.RPC) {
		beat := t.beat.Load()
		switch {
		case !c.genuine(&rpc):
		case beat != nil:
			(*beat)(rpc)
		default:
			c.hand(rpc)
		}
	})
	close(only.ready)
	defer decoder.Close() // it never fails
	for {
		select {
		case <-c.done:
			return
		case rpc := <-decoder.Consumer():
			if c.genuine(&rpc) {
				c.hand(rpc)
			}
		}
	}
}

func (c *conn) hand(rpc raft.RPC) {
	select {
	case c.layer.in <- rpc:
	case <-c.done:
	}
}

// genuine tells whether a request comes from whom it says. When it does not, the connection is closed.
func (c *conn) genuine(rpc *raft.RPC) bool {
	p := c.peer.Load()
	if p == nil { // without an Identity nobody can tell
		return true
	}
	said := ""
	if h, ok := rpc.Command.(raft.WithRPCHeader); ok {
		header := h.GetRPCHeader()
		said = string(header.ID)
	}
	if said == p.ID {
		return true
	}
	err := fmt.Errorf("server %s sends requests in the name of %q", p.ID, said)
	c.layer.cfg.Reject(atSender, p.ID, err)
	c.Close()
	rpc.Respond(nil, err) // nobody gets it, but the decoder waits for it
	return false
}

// single is a listener with one connection.
type single struct {
	conn   *conn
	ready  chan struct{} // closed once the decoder may have it
	closed chan struct{}
	once   sync.Once
	given  bool // belongs to the decoder's only goroutine that accepts
}

func (s *single) Accept() (net.Conn, error) {
	if !s.given {
		s.given = true
		<-s.ready
		return s.conn, nil
	}
	<-s.closed
	return nil, net.ErrClosed
}

func (s *single) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.conn.Close()
}

func (s *single) Addr() net.Addr { return namedAddr(s.conn.layer.cfg.Advertise) }

// Dial is never called: requests to other servers go through the Transport.
func (s *single) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	return nil, net.ErrClosed
}
