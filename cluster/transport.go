package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// contact is what this server, while it leads, knows of another from the answers
// to its heartbeats.
type contact struct {
	at   time.Time
	last uint64 // index of the other's last log entry
}

// watchedTransport notes the answers to heartbeats, which raft does not show.
type watchedTransport struct {
	raft.Transport
	mu    sync.Mutex
	peers map[raft.ServerID]contact
}

func newWatchedTransport(t raft.Transport) *watchedTransport {
	return &watchedTransport{Transport: t, peers: map[raft.ServerID]contact{}}
}

// contactOf gives the last sign of life of a peer; zero when there was none.
func (t *watchedTransport) contactOf(id string) contact {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.peers[raft.ServerID(id)]
}

func (t *watchedTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress,
	args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	err := t.Transport.AppendEntries(id, target, args, resp)
	if err == nil {
		t.mu.Lock()
		t.peers[id] = contact{at: time.Now(), last: resp.LastLog}
		t.mu.Unlock()
	}
	return err
}

// RequestPreVote is needed besides the embedded interface: raft looks for it.
func (t *watchedTransport) RequestPreVote(id raft.ServerID, target raft.ServerAddress,
	args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	p, ok := t.Transport.(raft.WithPreVote)
	if !ok {
		return errors.New("transport has no pre-vote")
	}
	return p.RequestPreVote(id, target, args, resp)
}

// Close is looked for by raft, too.
func (t *watchedTransport) Close() error {
	if c, ok := t.Transport.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}

// greeting opens every connection between servers, followed by the cluster's id:
// a server of another cluster, or one that speaks another version of the
// protocol, is turned away before raft hears a word.
const greeting = "vigil-raft/1"

// streamLayer is TCP with a greeting, for raft's network transport.
type streamLayer struct {
	net.Listener
	advertise string
	cluster   func() string      // "" while unknown
	learn     func(string) error // called with the id that a peer greets with
	reject    func(from, greeting string, err error)
}

func (s *streamLayer) Addr() net.Addr { return namedAddr(s.advertise) }

// namedAddr is an address as configured: it may hold a host name.
type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }

func (s *streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	id := s.cluster()
	if id == "" {
		return nil, errors.New("this server does not know its cluster yet")
	}
	c, err := net.DialTimeout("tcp", string(address), timeout)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "%s %s\n", greeting, id); err != nil {
		c.Close()
		return nil, fmt.Errorf("greet %s: %w", address, err)
	}
	return c, nil
}

func (s *streamLayer) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &greetedConn{Conn: c, in: bufio.NewReaderSize(c, 512), layer: s}, nil
}

// greetedConn checks the greeting when it is first read from, in the goroutine
// that serves the connection.
type greetedConn struct {
	net.Conn
	in     *bufio.Reader // until it is empty
	layer  *streamLayer
	passed bool
}

func (c *greetedConn) Read(p []byte) (int, error) {
	if !c.passed {
		if err := c.check(); err != nil {
			return 0, err
		}
		c.passed = true
	}
	if c.in != nil {
		if c.in.Buffered() > 0 {
			return c.in.Read(p)
		}
		c.in = nil
	}
	return c.Conn.Read(p)
}

func (c *greetedConn) check() error {
	if err := c.Conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			return err // somebody tried the port
		}
		err = fmt.Errorf("no greeting: %w", err)
		c.layer.reject(c.RemoteAddr().String(), "", err)
		return err
	}
	word, id, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	if word != greeting {
		err = fmt.Errorf("peer does not speak %s", greeting)
	} else {
		err = c.layer.learn(id)
	}
	if err != nil {
		c.layer.reject(c.RemoteAddr().String(), string(line), err)
		return err
	}
	return c.Conn.SetReadDeadline(time.Time{})
}
