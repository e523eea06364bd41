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

// greeting opens every connection between servers, followed by the cluster's id:
// a server of another cluster, or one that speaks another version of the
// protocol, is turned away before raft hears a word.
const greeting = "vigil-raft/1"

// A question opens a connection that is closed after the answer, one of the words below.
const (
	// Whether the other server's state knows the server whose id follows. It is what
	// earlier versions ask, and understand.
	question = "vigil-ask/1"
	// Whether the other server reaches the API of the one whose id follows; the answer
	// is a ReachWord.
	reachQuestion = "vigil-reach/1"
	// What a founder without data is to another: its id and its mark follow.
	markQuestion = "vigil-mark/1"
	// What a server is in the cluster that the other one leads: its id follows.
	seatQuestion = "vigil-seat/1"
)

const (
	wordKnown    = "known"    // it was a member before
	wordUnknown  = "unknown"  //
	wordNew      = "new"      // it was never heard before, with other data
	wordOutside  = "outside"  // it is no member
	wordLater    = "later"    // the other cannot tell yet
	wordVoter    = "voter"    //
	wordNonvoter = "nonvoter" // a member without a vote
)

// streamLayer is TCP with a greeting, for raft's network transport.
type streamLayer struct {
	net.Listener
	advertise string
	cluster   func() string            // "" while unknown
	learn     func(string) error       // called with the id that a peer greets with
	answer    func(line string) string // empty when it is no question
	reject    func(from, greeting string, err error)

	mu     sync.Mutex // guards what follows
	dialed map[*dialedConn]bool
	closed bool
}

// dialedConn is a connection that this server has opened.
type dialedConn struct {
	net.Conn
	layer *streamLayer
}

func (c *dialedConn) Close() error {
	c.layer.mu.Lock()
	delete(c.layer.dialed, c)
	c.layer.mu.Unlock()
	return c.Conn.Close()
}

// Close ends the connections that were opened, too: raft would wait for what is being sent on them,
// a snapshot to a server that hangs for instance, for minutes.
func (s *streamLayer) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.dialed {
		_ = c.Conn.Close() // whoever uses it sees the end
	}
	s.mu.Unlock()
	return s.Listener.Close()
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
	d := &dialedConn{c, s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	if s.dialed == nil {
		s.dialed = map[*dialedConn]bool{}
	}
	s.dialed[d] = true
	return d, nil
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
	text := strings.TrimSuffix(string(line), "\n")
	if answer := c.layer.answer(text); answer != "" {
		_, _ = fmt.Fprintln(c.Conn, answer) // whoever asked may be gone
		return io.EOF
	}
	word, id, _ := strings.Cut(text, " ")
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

// ask puts one question to another server. The error is io.EOF when it hung up without
// an answer.
func ask(addr, line string) (string, error) {
	const bound = time.Second
	c, err := net.DialTimeout("tcp", addr, bound)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(bound)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(io.LimitReader(c, 64)).ReadString('\n')
	return strings.TrimSpace(answer), err
}
