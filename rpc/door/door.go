package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/web"
)

// MaxMessage is the largest message in bytes. What a call may bring is often far less: see
// code.MaxRequest.
const MaxMessage = code.MaxMessage

// Door is the port of one server. Open it, register services with GRPC, Ready it,
// then Run it once. Safe for concurrent use.
type Door struct {
	*core
	cfg     Config
	forward *forwarder
	figures *metrics

	split    *splitter
	grpc     *grpc.Server
	services *registrar // of grpc
	http     *http.Server
	front    *web.Front        // the page
	inner    *bufconn.Listener // the gateway's way to the gRPC server
	conn     *grpc.ClientConn
	endBase  context.CancelFunc
}

// core is what all parts of a door share.
type core struct {
	self    string // id of this server
	reader  Reader
	health  Health // may be nil
	log     hclog.Logger
	methods map[string]*method
	peers   *peers
	stints  *stints
	alone   *alone
	reach   *reach
	guard   *guard        // nil: a server without identities
	stop    chan struct{} // closed when the server begins to stop
}

// sound is the error with which a server whose state differs from the majority's
// refuses to answer from it.
func (c *core) sound() error {
	if c.health == nil {
		return nil
	}
	if err := c.health.Ready(); errors.Is(err, noun.ErrDiverged) {
		return err
	}
	return nil
}

// Open prepares a door; nothing is accepted before Run. Close it when it is not run.
func Open(cfg Config) (*Door, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	m := newMetrics()
	methods, err := newMethods(m)
	if err != nil {
		return nil, err
	}
	base, endBase := context.WithCancel(context.Background())
	c := &core{self: cfg.ServerID, reader: cfg.Reader, health: cfg.Health, log: cfg.Log, methods: methods,
		peers: &peers{dial: cfg.Dial, tls: cfg.PeerTLS}, stints: newStints(base, cfg.Reader), stop: make(chan struct{})}
	c.alone = newAlone(func() Leader { return c.stints.current().leader }, func() (empty bool) {
		cfg.Reader.Read(func(st *fsm.View) { empty = st.LastIndex() == 0 })
		return empty
	})
	c.reach = newReach(cfg.ServerID, cfg.Reader, c.peers)
	d := &Door{core: c, cfg: cfg, forward: &forwarder{core: c, sent: m.forwarded}, figures: m, endBase: endBase,
		split: newSplitter(cfg.Listener, kept{maxConns, maxHTTPConns, maxConnsFrom, maxHTTPFrom}),
		inner: bufconn.Listen(1 << 16)}
	d.split.tls = c.openGuard(&cfg)
	o := &observer{c}
	d.grpc = newGRPC(o, d.forward, cfg.age())
	carrier := &carrier{core: c, methods: map[string]carried{}, around: around(o, d.forward)}
	d.services = &registrar{to: d.grpc, observer: o, carrier: carrier}
	vigilv1.RegisterCallsServer(d.services, carrier)
	grpc_health_v1.RegisterHealthServer(d.services, &healthService{core: c})
	if err := d.openGateway(base); err != nil {
		endBase()
		return nil, err
	}
	return d, nil
}

// openGuard gives what makes TLS out of connections; nil on a server without identities.
func (c *core) openGuard(cfg *Config) *handshakes {
	if cfg.TLS == nil {
		return nil
	}
	c.guard = &guard{self: cfg.ServerID, identify: cfg.Identify, reader: cfg.Reader, denials: newDenials(cfg.Denials),
		quotas: newQuotas(),
		leader: func() Leader { return c.stints.current().leader }}
	return newHandshakes(cfg.TLS, cfg.Identify)
}

// GRPC takes the services, before Run.
func (d *Door) GRPC() grpc.ServiceRegistrar { return d.services }

// Collectors are the figures of the door's calls.
func (d *Door) Collectors() []prometheus.Collector {
	all := []prometheus.Collector{d.figures.calls, d.figures.seconds, d.figures.forwarded}
	if d.guard != nil {
		all = append(all, d.guard.denials.count, d.guard.quotas.limited)
	}
	return all
}

// Close gives back what a door holds that is never run.
func (d *Door) Close() {
	d.endBase()
	_ = d.conn.Close() // it was never used
	if d.cfg.Private != nil {
		_ = d.cfg.Private.Close()
	}
}

// newGRPC makes the gRPC server. Its options were chosen by measurement: see
// BenchmarkUnary.
func newGRPC(o *observer, f *forwarder, age time.Duration) *grpc.Server {
	shown := credentials.TransportCredentials(insecure.NewCredentials())
	if o.guard != nil {
		shown = handshaken{}
	}
	return grpc.NewServer(
		grpc.Creds(shown),
		grpc.UnaryInterceptor(around(o, f)),
		grpc.StreamInterceptor(o.stream),
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage), grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeader), grpc.ConnectionTimeout(sniffLimit),
		grpc.WaitForHandlers(true),
		// Kept stacks: a fifth less work for each call. A parked Wait occupies one;
		// when all are taken, calls get goroutines of their own again.
		grpc.NumStreamWorkers(1024),
		// As fast as the default of 32 KiB, which 30,000 connections would pay for.
		grpc.ReadBufferSize(8<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 15 * time.Second,
			MaxConnectionAge: age}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}),
	)
}

// openGateway connects the HTTP side to the gRPC side inside this process.
func (d *Door) openGateway(ctx context.Context) error {
	conn, err := grpc.NewClient("passthrough:///self",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context,
			_ string) (net.Conn, error) {
			return d.inner.DialContext(ctx)
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
	)
	if err != nil {
		return fmt.Errorf("connect gateway: %w", err)
	}
	g, err := newGateway(ctx, conn)
	if err != nil {
		return err
	}
	d.conn = conn
	d.http, err = d.newHTTP(g)
	return err
}

// Look notes who leads; call it after every entry. It does not block.
func (d *Door) Look() { d.stints.current() }

// Stopping is closed when the server begins to stop.
func (d *Door) Stopping() <-chan struct{} { return d.stop }

// Leader tells where a call goes that only the leader serves: "" is here. The error is
// for a server that took this one for the leader, and for callers while nobody leads.
func (d *Door) Leader(ctx context.Context) (addr string, err error) {
	st := d.stints.current()
	switch {
	case st.leader.Self:
		return "", nil
	case st.leader.APIAddr == "":
		return "", &fault.Error{Code: code.NoLeader}
	case IsForwarded(ctx):
		return "", d.forward.elsewhere(st)
	}
	return st.leader.APIAddr, nil
}

// Peer gives a connection to the API of another server; it may still be dialling.
func (d *Door) Peer(addr string) (grpc.ClientConnInterface, error) { return d.peers.conn(addr) }

// Run serves until ctx ends, then lets calls in flight end for StopGrace. It returns
// nil after a stop that was asked for; nothing of the door is alive then.
func (d *Door) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return part("accept", d.split.run()) })
	g.Go(func() error { return part("serve grpc", d.grpc.Serve(d.split.grpc)) })
	g.Go(func() error { return part("serve gateway", d.grpc.Serve(d.inner)) })
	g.Go(func() error { return part("serve http", d.http.Serve(d.split.http)) })
	if d.cfg.Private != nil {
		g.Go(func() error { return part("serve owner", d.grpc.Serve(private{d.cfg.Private, d.self})) })
	}
	g.Go(func() error { d.alone.run(ctx); return nil })
	g.Go(func() error { d.reach.run(ctx); return nil })
	g.Go(func() error {
		<-ctx.Done()
		d.shutdown()
		return nil
	})
	return g.Wait()
}

// part forgives the errors that say that a part was stopped.
func part(name string, err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) ||
		errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// shutdown stops accepting, ends parked calls and streams, and lets the rest end.
func (d *Door) shutdown() {
	close(d.stop)
	if err := d.split.close(); err != nil && !errors.Is(err, net.ErrClosed) {
		d.log.Warn("close listener failed", "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.StopGrace)
	defer cancel()
	if err := d.http.Shutdown(ctx); err != nil {
		_ = d.http.Close() // ends what was not ready in time
	}
	_ = d.conn.Close() // the gateway's; its calls have ended
	force := context.AfterFunc(ctx, d.grpc.Stop)
	d.grpc.GracefulStop()
	force()
	d.peers.close()
	d.endBase()
}
