package door

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"vigil/rpc/fault"
	"vigil/rpc/link"
)

// connsPerPeer share the load of forwarded calls: one HTTP/2 connection is written
// by one goroutine.
const connsPerPeer = 2

// peerSilence is how long another server that owes an answer may say nothing before it is asked
// for a sign of life, and how long it then has to give one.
const peerSilence = 400 * time.Millisecond

// peers keeps connections to other servers. They are dialled when first used, live until close,
// and are replaced when they have died in silence. Safe for concurrent use.
type peers struct {
	dial    link.Dialer // nil: TCP
	tls     *tls.Config // nil: in clear
	watches sync.WaitGroup

	mu     sync.Mutex
	conns  map[string]*peerConns
	old    []*link.Conn // see retire
	closed bool
}

// peerConns are the connections to one server.
type peerConns struct {
	links [connsPerPeer]*link.Conn
	turn  int
}

// take takes the connections out; whoever does ends them, without the lock: that may take a moment.
func (pr *peerConns) take() (links []*link.Conn) {
	for i, k := range pr.links {
		if k != nil {
			links, pr.links[i] = append(links, k), nil
		}
	}
	return links
}

func end(links []*link.Conn) {
	for _, k := range links {
		k.Close()
	}
}

// peerLink is a connection to one other server; every call on it owes an answer.
type peerLink struct{ link *link.Conn }

// conn gives a connection to a server's API address; it may still be dialling.
func (p *peers) conn(addr string) (peerLink, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return peerLink{}, fmt.Errorf("dial %s: this server is stopping", addr)
	}
	if p.conns == nil {
		p.conns = map[string]*peerConns{}
	}
	pr := p.conns[addr]
	if pr == nil {
		pr = &peerConns{}
		p.conns[addr] = pr
	}
	pr.turn = (pr.turn + 1) % connsPerPeer
	k := pr.links[pr.turn]
	if k == nil {
		var err error
		if k, err = link.New(addr, peerSilence, p.dialer(), p.tls, p.options()...); err != nil {
			return peerLink{}, err
		}
		pr.links[pr.turn] = k
		p.watches.Go(func() { k.Watch(p.lost) })
	}
	return peerLink{k}, nil
}

// lost ends a link that died in silence and the others to the same server: they go the same way,
// and a call that is sent again should find a new one.
func (p *peers) lost(dead *link.Conn) {
	p.mu.Lock()
	links := p.conns[dead.Addr].take()
	p.mu.Unlock()
	end(links)
}

// retireAfter is the age from which a link may be too old to be known to another server: the
// certificate that it has shown was renewed since. Calls that are under way on one that is retired
// have as long again.
const retireAfter = time.Minute

// retire has new calls find a new link, which shows the newest certificate; false when this one is
// too young for that to help.
func (p *peers) retire(k *link.Conn) bool {
	if k.Age() < retireAfter {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	links := p.conns[k.Addr].take()
	p.old = append(p.old, links...)
	time.AfterFunc(retireAfter, func() {
		p.mu.Lock()
		p.old = slices.DeleteFunc(p.old, func(k *link.Conn) bool { return slices.Contains(links, k) })
		p.mu.Unlock()
		end(links)
	})
	return true
}

// peerDial is how long a server may take to accept a connection of another one.
const peerDial = 2 * time.Second

func (p *peers) dialer() link.Dialer {
	if p.dial != nil {
		return p.dial
	}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		return (&net.Dialer{Timeout: peerDial}).DialContext(ctx, "tcp", addr)
	}
}

func (p *peers) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6,
				Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: sniffLimit, // the handshake may wait behind those of thousands of hosts
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
	}
}

// Invoke sends a call and waits for its answer: at most some 2 peerSilence on a link that died.
// It is the interface of generated clients, as is NewStream.
func (p peerLink) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	defer p.link.Begin(false)()
	err := p.link.Invoke(ctx, method, args, reply, opts...)
	return p.heard(ctx, err)
}

// NewStream opens a stream; it owes signs of life until it ends.
func (p peerLink) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	end := p.link.Begin(false)
	s, err := p.link.NewStream(ctx, desc, method, opts...)
	if err != nil {
		end()
		return nil, p.heard(ctx, err)
	}
	context.AfterFunc(s.Context(), end) // it ends with the stream, however that happens
	return &peerStream{s, ctx, p}, nil
}

// heard notes an answer as a sign of life, and says which link died of silence.
func (p peerLink) heard(ctx context.Context, err error) error {
	switch {
	case err == nil || err == io.EOF || fault.Ours(err):
		p.link.Hear()
	case ctx.Err() == nil && p.link.Closed():
		return &silent{addr: p.link.Addr}
	}
	return err
}

// silent is the error of calls whose link ended since the other server did not answer.
type silent struct{ addr string }

func (e *silent) Error() string { return "server " + e.addr + " has stopped answering" }

// GRPCStatus is what gRPC makes of the error.
func (e *silent) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

// peerStream is a stream whose messages are signs of life.
type peerStream struct {
	grpc.ClientStream
	ctx context.Context // the caller's
	to  peerLink
}

func (s *peerStream) RecvMsg(m any) error { return s.to.heard(s.ctx, s.ClientStream.RecvMsg(m)) }

// close ends all connections; calls in flight fail.
func (p *peers) close() {
	p.mu.Lock()
	p.closed = true
	links := p.old
	for _, pr := range p.conns {
		links = append(links, pr.take()...)
	}
	p.mu.Unlock()
	end(links)
	p.watches.Wait()
}
