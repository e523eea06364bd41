package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// maxMessage is the largest message: that of a Batch. Every field has a limit of its
// own, so other calls stay far below.
const maxMessage = 16 << 20

// Server serves the API of one vigil server. Open it, then Run it once.
type Server struct {
	cfg    Config
	log    hclog.Logger
	core   *core
	stints *stints
	gate   *gate
	waits  *waits
	mail   *mailWaits
	watch  *watchers
	hosts  *hosts
	relay  *logRelay
	saves  places

	split   *splitter
	grpc    *grpc.Server
	http    *http.Server
	inner   *bufconn.Listener // the gateway's way to the gRPC server
	conn    *grpc.ClientConn
	stop    chan struct{}
	undo    func() // takes the metrics back
	endBase context.CancelFunc
}

// Open prepares a server; nothing is accepted before Run. It subscribes to the
// Reader, so it must come before the replica runs.
func Open(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open rpc: %w", err)
	}
	s := &Server{cfg: cfg, log: cfg.Log, stop: make(chan struct{}), saves: places{most: maxSaves}, split: newSplitter(cfg.Listener, maxConns, maxHTTPConns),
		inner: bufconn.Listen(1 << 16)}
	s.core = &core{self: cfg.ServerID, writer: cfg.Writer, reader: cfg.Reader,
		peers: &peers{dial: cfg.Dial}, log: cfg.Log, health: cfg.Health, watchdog: cfg.Watchdog, stop: s.stop}
	base, endBase := context.WithCancel(context.Background())
	s.endBase = endBase
	s.stints = newStints(base, cfg.Reader)
	s.core.alone = newAlone(func() Leader { return s.stints.current().leader })
	s.core.reach = newReach(cfg.ServerID, cfg.Reader, s.core.peers)
	s.gate = &gate{reader: cfg.Reader}
	s.waits = newWaits(cfg.Reader, s.gate)
	s.mail = newMailWaits()
	s.watch = newWatchers()
	s.hosts = newHosts()

	m := newMetrics()
	methods, err := newMethods(m)
	if err != nil {
		endBase()
		return nil, fmt.Errorf("open rpc: %w", err)
	}
	fwd := &forwarder{core: s.core, stints: s.stints, methods: methods, gate: s.gate, sent: m.forwarded}
	s.grpc = newGRPC(&observer{s.core, methods}, fwd)
	s.services(fwd)
	if err := s.openGateway(base); err != nil {
		endBase()
		return nil, fmt.Errorf("open rpc: %w", err)
	}
	s.undo = func() {}
	if cfg.Registerer != nil {
		s.undo, err = register(cfg.Registerer, m.calls, m.seconds, m.forwarded, newCollector(s.core, s.waits, s.watch, s.hosts))
		if err != nil {
			endBase()
			_ = s.conn.Close() // it was never used
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	cfg.Reader.Subscribe(s.applied)
	return s, nil
}

// newGRPC makes the gRPC server. Its options were chosen by measurement: see
// BenchmarkUnary.
func newGRPC(o *observer, f *forwarder) *grpc.Server {
	return grpc.NewServer(
		grpc.ChainUnaryInterceptor(o.unary, f.unary),
		grpc.ChainStreamInterceptor(o.stream),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeader), grpc.ConnectionTimeout(sniffLimit),
		grpc.WaitForHandlers(true),
		// Kept stacks: a fifth less work for each call. A parked Wait occupies one;
		// when all are taken, calls get goroutines of their own again.
		grpc.NumStreamWorkers(1024),
		// As fast as the default of 32 KiB, which 30,000 connections would pay for.
		grpc.ReadBufferSize(8<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 15 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
}

func (s *Server) services(fwd *forwarder) {
	c := s.core
	s.relay = &logRelay{c, fwd, s.hosts}
	vigilv1.RegisterFleetServer(s.grpc, &fleet{core: c, fwd: fwd, watch: s.watch, logs: s.relay})
	vigilv1.RegisterWorkServer(s.grpc, &work{core: c, fwd: fwd, waits: s.waits, turns: newTurnstile(c.reader)})
	vigilv1.RegisterHostAgentServer(s.grpc, &hostAgent{core: c, fwd: fwd, hosts: s.hosts, cluster: s.cfg.ClusterID})
	vigilv1.RegisterMailboxServer(s.grpc, &mailbox{core: c, fwd: fwd, waits: s.mail})
	vigilv1.RegisterEscalationsServer(s.grpc, &escalations{core: c})
	vigilv1.RegisterOverseersServer(s.grpc, &overseers{core: c})
	grpc_health_v1.RegisterHealthServer(s.grpc, &healthService{core: c})
	vigilv1.RegisterClusterServer(s.grpc, &clusterService{core: c, fwd: fwd, waits: s.waits,
		members: s.cfg.Members, backups: s.cfg.Backups, saves: &s.saves,
		id: s.cfg.ClusterID, version: s.cfg.Version})
}

// openGateway connects the HTTP side to the gRPC side inside this process.
func (s *Server) openGateway(ctx context.Context) error {
	conn, err := grpc.NewClient("passthrough:///self",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.inner.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	)
	if err != nil {
		return fmt.Errorf("connect gateway: %w", err)
	}
	g, err := newGateway(ctx, conn)
	if err != nil {
		return err
	}
	s.conn, s.http = conn, s.newHTTP(g)
	return nil
}

// applied is called after every entry, outside the replica's lock. Nothing here blocks.
func (s *Server) applied(e noun.Effects) {
	s.gate.applied()
	s.stints.current()
	if e.Reset {
		s.waits.reset()
		s.mail.reset()
		s.hosts.reset()
	}
	s.waits.claimable(e.Claimable)
	s.mail.applied(e.Mail)
	s.hosts.applied(e.Hosts)
	s.watch.applied(e.LastEvent)
}

// Addr is the address that is listened on.
func (s *Server) Addr() net.Addr { return s.cfg.Listener.Addr() }

// StreamSilence tells how long a host has said nothing on its stream; false when it
// holds no stream to this server. Safe for concurrent use.
func (s *Server) StreamSilence(host noun.HostID) (time.Duration, bool) { return s.hosts.silence(host) }

// Run serves until ctx ends, then lets calls in flight end for StopGrace. It returns
// nil after a stop that was asked for; nothing of the server is alive then.
func (s *Server) Run(ctx context.Context) error {
	defer s.undo()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return part("accept", s.split.run()) })
	g.Go(func() error { return part("serve grpc", s.grpc.Serve(s.split.grpc)) })
	g.Go(func() error { return part("serve gateway", s.grpc.Serve(s.inner)) })
	g.Go(func() error { return part("serve http", s.http.Serve(s.split.http)) })
	g.Go(func() error { s.core.alone.run(ctx); return nil })
	g.Go(func() error { s.core.reach.run(ctx); return nil })
	g.Go(func() error {
		<-ctx.Done()
		s.shutdown()
		return nil
	})
	return g.Wait()
}

// part forgives the errors that say that a part was stopped.
func part(name string, err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// shutdown stops accepting, ends parked waits and streams, and lets the rest end.
func (s *Server) shutdown() {
	close(s.stop)
	if err := s.split.close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Warn("close listener failed", "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.StopGrace)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // ends what was not ready in time
	}
	_ = s.conn.Close() // the gateway's; its calls have ended
	force := context.AfterFunc(ctx, s.grpc.Stop)
	s.grpc.GracefulStop()
	force()
	s.core.peers.close()
	s.endBase()
}
