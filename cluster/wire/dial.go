package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// place is where raft's transport is to go: it pools connections by address and gives its dialer nothing
// else, so the address says who has to be there.
func place(id raft.ServerID, addr raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(id) + "/" + addr
}

// RequestVote, and the others below, go to a server and not just to an address.
func (t *Transport) RequestVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	return t.NetworkTransport.RequestVote(id, place(id, addr), args, resp)
}

// RequestPreVote implements raft.WithPreVote.
func (t *Transport) RequestPreVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	return t.NetworkTransport.RequestPreVote(id, place(id, addr), args, resp)
}

// AppendEntries implements raft.Transport.
func (t *Transport) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	return t.NetworkTransport.AppendEntries(id, place(id, addr), args, resp)
}

// InstallSnapshot implements raft.Transport.
func (t *Transport) InstallSnapshot(id raft.ServerID, addr raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.NetworkTransport.InstallSnapshot(id, place(id, addr), args, resp, data)
}

// TimeoutNow implements raft.Transport.
func (t *Transport) TimeoutNow(id raft.ServerID, addr raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse) error {
	return t.NetworkTransport.TimeoutNow(id, place(id, addr), args, resp)
}

// dialer is the side of raft's transport that goes out. What comes in does not come by it.
type dialer struct{ t *Transport }

func (d *dialer) Accept() (net.Conn, error) { <-d.t.ctx.Done(); return nil, net.ErrClosed }
func (d *dialer) Close() error              { return nil }
func (d *dialer) Addr() net.Addr            { return namedAddr(d.t.cfg.Advertise) }

// namedAddr is an address as configured: it may hold a host name.
type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }

func (d *dialer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	cluster := d.t.cfg.Cluster()
	if cluster == "" {
		return nil, errors.New("this server does not know its cluster yet")
	}
	i := strings.LastIndex(string(address), "/")
	id, addr := string(address[:max(i, 0)]), string(address[i+1:])
	c, err := d.t.open(id, addr, timeout)
	if err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintf(c, "%s %s\n", Greeting, cluster); err == nil {
		err = c.bound(0)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("greet %s: %w", addr, err)
	}
	return c, nil
}

// open connects to a server within the time given, which is that of the connection then.
func (t *Transport) open(id, addr string, timeout time.Duration) (*conn, error) {
	end := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(t.ctx, end)
	defer cancel()
	raw, err := t.cfg.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := t.take(raw)
	if c == nil {
		return nil, net.ErrClosed
	}
	if err = c.bound(time.Until(end)); err == nil && t.client != nil {
		err = c.secureTo(id)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("connect to server %s: %w", id, err)
	}
	return c, nil
}

func (c *conn) secureTo(id string) error {
	if id == "" {
		return errors.New("it is not known who should be there")
	}
	conf, sessions := c.layer.client.Clone(), c.layer.sessions.with(id)
	conf.ClientSessionCache = sessions
	c.unheard = sessions.drop
	_, err := c.secure(tls.Client(c.raw, conf), id)
	if err != nil { // the session may stand for a certificate that the other end has replaced since
		sessions.drop()
	}
	return err
}

// sessions of TLS by the server that they are with: the name in a handshake is that of the
// cluster, and the library tells sessions apart by it.
type sessions struct {
	mu sync.Mutex
	of map[string]tls.ClientSessionCache
}

// most is of how many servers sessions are kept.
const most = 64

func (s *sessions) with(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.of[id]
	if kept == nil {
		if len(s.of) >= most {
			clear(s.of)
		}
		kept = tls.NewLRUClientSessionCache(1)
		s.of[id] = kept
	}
	return &session{ClientSessionCache: kept}
}

// session is the cache for one connection.
type session struct {
	tls.ClientSessionCache
	mu  sync.Mutex
	key string
}

func (s *session) Get(key string) (*tls.ClientSessionState, bool) {
	s.mu.Lock()
	s.key = key
	s.mu.Unlock()
	return s.ClientSessionCache.Get(key)
}

func (s *session) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Put(s.key, nil)
}

// Ask puts one question to a server. The error is io.EOF when it hung up without an answer.
func (t *Transport) Ask(id, addr, line string) (string, error) {
	c, err := t.open(id, addr, askBound)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	answer, err := readLine(c, answerBound)
	return strings.TrimSpace(answer), err
}
