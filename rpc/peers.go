package rpc

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// connsPerPeer share the load of forwarded calls: one HTTP/2 connection is written
// by one goroutine.
const connsPerPeer = 2

// peers keeps connections to other servers. They are dialled when first used and
// live until close. Safe for concurrent use.
type peers struct {
	dial   func(ctx context.Context, addr string) (net.Conn, error) // nil: TCP
	mu     sync.Mutex
	conns  map[string]*peerConns
	closed bool
}

// peerConns are the connections to one server.
type peerConns struct {
	conns [connsPerPeer]*grpc.ClientConn
	turn  atomic.Uint32
}

// conn gives a connection to a server's API address; it may still be dialling.
func (p *peers) conn(addr string) (*grpc.ClientConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("dial %s: this server is stopping", addr)
	}
	if p.conns == nil {
		p.conns = map[string]*peerConns{}
	}
	pr := p.conns[addr]
	if pr == nil {
		pr = &peerConns{}
		for i := range pr.conns {
			c, err := grpc.NewClient("passthrough:///"+addr, p.options()...)
			if err != nil {
				return nil, fmt.Errorf("dial %s: %w", addr, err)
			}
			pr.conns[i] = c
		}
		p.conns[addr] = pr
	}
	return pr.conns[pr.turn.Add(1)%connsPerPeer], nil
}

func (p *peers) options() []grpc.DialOption {
	list := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}
	if p.dial != nil {
		list = append(list, grpc.WithContextDialer(p.dial))
	}
	return list
}

// close ends all connections; calls in flight fail.
func (p *peers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, pr := range p.conns {
		for _, c := range pr.conns {
			if c != nil {
				_ = c.Close() // nothing is left to be done about a connection that is dropped
			}
		}
	}
}
