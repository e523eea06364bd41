package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Greeting opens every connection between servers that is for raft, followed by the cluster's id: a
// server of another cluster, or one that speaks another version of the protocol, is turned away
// before raft hears a word. It is the name of the protocol within TLS, too.
const Greeting = "vigil-raft/1"

const (
	openBound   = 5 * time.Second // for a handshake and the first line together
	lineBound   = 512             // bytes of the first line
	rpcBound    = 5 * time.Second // see raft.NetworkTransportConfig
	answerBound = 8 << 10         // bytes of an answer
	askBound    = time.Second     // for a question, its handshake and its answer
	revokedLook = time.Second     // how often revoked servers are looked for
	pooled      = 4               // connections to one server that are kept
)

// Identity is how this server proves who it is, and learns who another one is. Its methods may be
// called by any goroutine.
type Identity interface {
	// ServerConfig and ClientConfig are for the two ends of a handshake. They demand a certificate of
	// the other end and check that this cluster issued it. They are asked for once: a certificate that
	// is renewed comes by the functions in them. Protocol names and sessions are set by whoever asks.
	ServerConfig() *tls.Config
	ClientConfig() *tls.Config
	// PeerServer tells which server is at the other end, the generation of its credential, and what else
	// there is to know for Revoked, see Peer. An error: whoever it is, it is no server.
	PeerServer(cs *tls.ConnectionState) (id string, generation uint64, shown any, err error)
}

// Peer is a server as its certificate tells.
type Peer struct {
	ID         string
	Generation uint64 // of its credential
	Shown      any    // this package does not look at it
}

func (p *Peer) revoked() error {
	return fmt.Errorf("server %s is revoked: generation %d does not count any more", p.ID, p.Generation)
}

// Config of a Transport. All that it holds may be called by any goroutine.
type Config struct {
	ID        string // of this server
	Advertise string // host:port under which the others reach it
	Listener  net.Listener
	// Dial opens a connection; nil: by TCP.
	Dial     func(ctx context.Context, addr string) (net.Conn, error)
	Identity Identity // nil: everybody who reaches the port is believed

	Cluster func() string      // its id; empty while unknown
	Learn   func(string) error // is told the id that another server greets with; an error turns it away
	// Answer answers the question of a server; empty: it is no question. The server's id is empty
	// without an Identity.
	Answer func(from, line string) string
	// Revoked tells whether a server's credential is known not to count any more.
	Revoked func(Peer) bool
	// Reject is told of everybody who is turned away: what failed, who it was (its id, or the address
	// without the port), and why.
	Reject func(what, who string, err error)
	Logger hclog.Logger // of raft's transport
}

// Transport is raft's way to the other servers, and that of questions. Safe for concurrent use.
type Transport struct {
	*raft.NetworkTransport // what this server asks of others
	cfg                    Config
	server, client         *tls.Config // nil without an Identity
	sessions               sessions
	in                     chan raft.RPC
	beat                   atomic.Pointer[func(raft.RPC)] // nil: heartbeats go the way of all requests

	mu      sync.Mutex // guards what follows
	conns   map[*conn]bool
	opening opening
	over    bool
	ctx     context.Context // of what is being dialed
	close   func()          // ends ctx
}

// Listen takes connections of other servers until Close. The listener is the Transport's from now on.
func Listen(cfg Config) *Transport {
	t := &Transport{cfg: cfg, in: make(chan raft.RPC), conns: map[*conn]bool{},
		opening: opening{from: map[string]int{}}, sessions: sessions{of: map[string]tls.ClientSessionCache{}}}
	t.ctx, t.close = context.WithCancel(context.Background())
	if t.cfg.Dial == nil {
		t.cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	if cfg.Identity != nil {
		t.server = forServers(cfg.Identity.ServerConfig())
		t.client = forServers(cfg.Identity.ClientConfig())
		go t.watchRevoked()
	}
	t.NetworkTransport = networkTransport(&dialer{t}, cfg.Logger)
	go t.accept()
	return t
}

// forServers lets nothing but the protocol of servers come out of a handshake.
func forServers(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.MinVersion, c.NextProtos = tls.VersionTLS13, []string{Greeting}
	return c
}

func networkTransport(s raft.StreamLayer, log hclog.Logger) *raft.NetworkTransport {
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: s, MaxPool: pooled, Timeout: rpcBound, Logger: log, MsgpackUseNewTimeFormat: true,
	})
}

// Consumer gives what other servers ask of this one.
func (t *Transport) Consumer() <-chan raft.RPC { return t.in }

// SetHeartbeatHandler is told of heartbeats at once, beside Consumer.
func (t *Transport) SetHeartbeatHandler(fn func(raft.RPC)) { t.beat.Store(&fn) }

// Ended is closed by Close.
func (t *Transport) Ended() <-chan struct{} { return t.ctx.Done() }

// Close ends all connections, and those that are being opened: raft would wait for what is being sent
// on them, a snapshot to a server that hangs for instance, for minutes.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return nil
	}
	t.over = true
	conns := t.list()
	t.mu.Unlock()
	err := t.NetworkTransport.Close()
	t.close()
	for _, c := range conns {
		c.Close()
	}
	return errors.Join(err, t.cfg.Listener.Close())
}

// list is called with t.mu held.
func (t *Transport) list() []*conn {
	conns := make([]*conn, 0, len(t.conns))
	for c := range t.conns {
		conns = append(conns, c)
	}
	return conns
}

// watchRevoked ends the connections of servers that are revoked, until Close.
func (t *Transport) watchRevoked() {
	tick := time.NewTicker(revokedLook)
	defer tick.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-tick.C:
		}
		t.mu.Lock()
		conns := t.list()
		t.mu.Unlock()
		for _, c := range conns {
			if p := c.peer.Load(); p != nil && t.cfg.Revoked(*p) {
				t.cfg.Reject(atGeneration, p.ID, p.revoked())
				c.Close()
			}
		}
	}
}
