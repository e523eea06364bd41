package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"vigil/cluster"
	"vigil/cluster/backup"
	"vigil/cluster/duty"
	"vigil/cluster/gossip"
	"vigil/cluster/hearing"
	"vigil/cluster/logstore"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/serve/disk"
	"vigil/fsm/noun"
	"vigil/rpc"
	"vigil/rpc/client"
	"vigil/rpc/door"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// handOverLimit bounds the search for another leader when this one stops.
const handOverLimit = 2 * time.Second

// server is one server: the replication, the API and the duties, wired together.
type server struct {
	conf    *conf.Server
	log     hclog.Logger
	replica *cluster.Replica
	api     *rpc.Server
	duty    *duty.Duty
	client  *client.Client // to this server's own API, which forwards to the leader
	others  *client.Client // to the cluster that is to be joined; nil: none

	gossip   *gossip.Gossip // nil: off
	hearing  *hearing.Hearing
	contacts *hearing.Contacts

	identity *identity   // nil: it serves in clear
	keys     *gossipKeys // nil: as well
	denials  *denialsLog // nil without an identity
	recent   *recentLog
	backups  *backup.Keeper // nil: it makes none
	traces   *tracing       // nil: none are made
	lacks    *troubles      // of notifiers
	manager  *supervisor    // nil: nobody waits for words of this process
}

// Open opens everything in the order in which mistakes are cheapest to
// find: configuration, addresses, data.
func Open(conf *conf.Server, logTo io.Writer) (*server, error) {
	self, err := openIdentity(conf)
	if err != nil {
		return nil, err
	}
	if err := conf.Check(); err != nil {
		return nil, err
	}
	repl := conf.ClusterConfig()
	if err := repl.Validate(); err != nil {
		return nil, cli.WrongUsage(err)
	}
	recent := &recentLog{}
	s := &server{conf: conf, identity: self, recent: recent, log: hclog.New(&hclog.LoggerOptions{
		Name: conf.ID, Level: hclog.LevelFromString(conf.LogLevel), Output: io.MultiWriter(logTo, recent),
		JSONFormat: conf.LogJSON,
	})}
	tellLeftOut(logTo, s.log)
	s.manager = supervised(s.log)
	s.lacks = &troubles{log: s.log, level: hclog.Error, all: map[string]string{}}
	listener, err := net.Listen("tcp", conf.Addr)
	if err != nil {
		return nil, cli.ExitWith(cli.ExitFailed,
			fmt.Errorf("listen for clients: %w: stop what uses the address, or give another with --addr", err))
	}
	if err := s.open(repl, listener); err != nil {
		s.close()
		_ = listener.Close() // it was never used
		return nil, disk.ServerError(err)
	}
	return s, nil
}

// tellLeftOut has a log whose output is a queue tell how much of it was left out.
func tellLeftOut(logTo io.Writer, log hclog.Logger) {
	if q, ok := logTo.(*cli.Queue); ok {
		q.Tell(func(lines int) {
			log.Error("a part of this log was left out: nobody had read it in time", "lines", lines)
		})
	}
}

// open opens all parts, each once those that it stands on are there.
func (s *server) open(repl cluster.Config, listener net.Listener) (err error) {
	registry := processFigures()
	var servers *tls.Config // how this server calls servers; nil: in clear
	if s.identity != nil {
		servers = s.identity.holder.Client(nil)
		repl.Identity, repl.Revoked = s.identity, revoked
	}
	if err = s.openClients(ownAddr(listener), servers); err != nil {
		return err
	}
	repl.Logger, repl.Metrics, repl.Report = s.log, registry, s.reportHash
	if err := cluster.RaftMetrics(registry); err != nil {
		return err
	}
	if s.conf.Found && !logstore.Used(repl.DataDir) {
		if err = cluster.Found(repl); err != nil {
			return err
		}
	}
	if s.replica, err = cluster.Open(repl); err != nil {
		return err
	}
	if s.gossip, err = s.conf.Gossip.Open(gossip.Server, s.conf.ID, "", s.log); err != nil {
		return err
	}
	if s.identity != nil {
		s.keys = openGossipKeys(s.identity.dir, s.log)
	}
	if err = s.openBackups(registry); err != nil {
		return err
	}
	if err = s.openAPI(registry, listener, servers); err != nil {
		return err
	}
	s.replica.SetReach(s.api)
	if s.conf.OTLP != "" {
		if s.traces, err = s.openTraces(registry); err != nil {
			return err
		}
	}
	if err = s.openHearing(registry); err != nil {
		return err
	}
	return s.openDuties(registry)
}

// processFigures is where the parts of a server or of agentd register their figures; those of the process are
// there.
func processFigures() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	// Of Go's memory the runtime's own words; the forty older names of the same stay out.
	memory := collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{
		Matcher: regexp.MustCompile(`^/memory/classes/(heap/objects|total):bytes$`)})
	registry.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled(), memory),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// openClients opens the clients to this server itself and to the cluster that it is to join.
func (s *server) openClients(own string, servers *tls.Config) (err error) {
	if s.client, err = client.Open(client.Config{Addrs: []string{own}, Name: "server " + s.conf.ID,
		TLS: servers}); err != nil {
		return err
	}
	if len(s.conf.Join) > 0 {
		if s.others, err = client.Open(client.Config{Addrs: s.conf.Join, Name: "server " + s.conf.ID,
			TLS: servers}); err != nil {
			return cli.WrongUsage(err)
		}
	}
	return nil
}

// openAPI opens what this server serves to everybody, with the identities of callers where it has one itself.
func (s *server) openAPI(registry *prometheus.Registry, listener net.Listener, servers *tls.Config) (err error) {
	api := rpc.Config{
		Listener: listener, ServerID: s.conf.ID, ClusterID: s.replica.Cluster, Version: cli.Version(),
		Writer: s.replica, Reader: reader{s.replica}, Members: members{s.replica}, Backups: backups{s.replica},
		Health: health{s.replica, s.conf.ID, s.lacks, s.backups}, Watchdog: s.watchdogStats,
		Notifiers: func() int { return s.duty.Notifiers() }, // it is open before anybody asks
		Log:       s.log.Named("rpc"), Registerer: registry, Gatherer: registry, Hosts: s.conf.HttpHosts(),
		BasePath: s.conf.BasePath,
		RoomFile: conf.RoomsJSON, Diagnosis: s.diagnose(registry), Traced: s.conf.OTLP != "",
	}
	if s.identity != nil {
		api.ConnAge = trust.Life / 24 // far below what is left of a certificate when it is renewed
		api.TLS, api.PeerTLS = s.identity.holder.Server(false, "h2", "http/1.1"), servers
		if err := s.identity.figures(registry); err != nil {
			return err
		}
		if web := openWebCert(s.conf, s.log); web != nil {
			s.identity.holder.SetWeb(web.Get)
			if err := web.figures(registry); err != nil {
				return err
			}
		}
		api.Identify = vouch.NewIdentities(s.identity.holder.Roots, reader{s.replica}, vouch.StandingOf)
		api.Signer, api.Keys, api.Private = s.identity, s.keys, s.listenForOwner()
		if s.denials, err = openDenials(s.conf.DataDir); err != nil {
			return err
		}
		api.Denials = s.denials
	}
	s.api, err = rpc.Open(api)
	return err
}

// openDuties opens what this server does while it leads.
func (s *server) openDuties(registry prometheus.Registerer) (err error) {
	notifiers, lacks := s.conf.Notifiers(s.replica)
	s.noteLacks(lacks)
	duties := duty.Config{Replica: s.replica,
		Unheard: func() map[string]bool { return s.contacts.Lost(time.Now()) }, Logger: s.log,
		Prod: s.api.Prod, Escalate: &duty.Escalate{Notifiers: notifiers, Cluster: s.replica.Cluster}}
	if s.keys != nil {
		duties.Keys = s.keys
	}
	if s.duty, err = duty.Open(duties); err != nil {
		return err
	}
	s.replica.Subscribe(s.duty.Wake)
	return registry.Register(dutyFigures{s.duty})
}

// close gives back what open took, when run is never called.
func (s *server) close() {
	cluster.DropRaftMetrics()
	if s.gossip != nil {
		s.gossip.Close()
	}
	if s.replica != nil {
		_ = s.replica.Close() // the error that brought us here matters more
	}
	if s.client != nil {
		_ = s.client.Close()
	}
	if s.others != nil {
		_ = s.others.Close()
	}
	if s.denials != nil {
		_ = s.denials.Close() // every line was written at once
	}
}

// ownAddr is where this process reaches its own listener.
func ownAddr(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", addr.Port)
	}
	return addr.String()
}

// Run serves until ctx ends, which is an orderly stop. When the replication fails
// it returns at once: what hangs on a dead disk cannot be waited for.
func (s *server) Run(ctx context.Context) error {
	defer cluster.DropRaftMetrics()
	s.limitMemory()
	s.greet()
	fatal := make(chan error, 1)
	replicaCtx, stopReplica := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReplica()
	replicaDone := make(chan struct{})
	go func() {
		defer close(replicaDone)
		if err := s.replica.Run(replicaCtx); err != nil {
			fatal <- err
		}
	}()
	rest := make(chan error, 1)
	restCtx, stopRest := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRest()
	go func() { rest <- s.runRest(restCtx) }()

	select {
	case err := <-fatal:
		return disk.ServerError(err)
	case err := <-rest: // before anybody asked for it
		stopReplica()
		<-replicaDone
		return disk.ServerError(errors.Join(errors.New("the server's API has stopped"), err))
	case <-ctx.Done():
	}
	if s.gossip != nil {
		s.gossip.Leave()
	}
	s.handOver(ctx)
	stopRest()
	err := <-rest
	stopReplica()
	<-replicaDone
	s.close()
	select {
	case e := <-fatal:
		err = errors.Join(err, e)
	default:
	}
	s.log.Info("server has stopped")
	return disk.ServerError(err)
}

// runRest runs everything but the replication.
func (s *server) runRest(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.api.Run(ctx) })
	g.Go(func() error {
		return s.replica.WhileLeader(ctx, func(ctx context.Context) error {
			s.contacts.Leads(time.Now())
			return s.duty.Run(ctx)
		})
	})
	g.Go(func() error { return s.announce(ctx) })
	if s.traces != nil {
		g.Go(func() error { return s.traces.run(ctx) })
	}
	if s.conf.Debug {
		g.Go(func() error { return s.serveProfiles(ctx) })
	}
	g.Go(func() error {
		s.manager.run(ctx, s.works())
		return nil
	})
	g.Go(func() error { return s.watchMemory(ctx) })
	g.Go(func() error { return s.listen(ctx) })
	if s.gossip != nil {
		g.Go(func() error { return s.gossip.Run(ctx) })
		g.Go(func() error { return s.introduce(ctx) })
	}
	if s.identity != nil {
		g.Go(func() error { return s.keepIdentity(ctx) })
		g.Go(func() error { return s.keepGossipKeys(ctx) })
	}
	if s.others != nil {
		g.Go(func() error { return s.join(ctx) })
	}
	if s.backups != nil {
		g.Go(func() error {
			s.keepBackups(ctx)
			return nil
		})
	}
	return g.Wait()
}

// greet says where the server listens, and what follows from it.
func (s *server) greet() {
	s.log.Info("server starts", "version", cli.Version(), "api", s.api.Addr().String(), "raft", s.conf.RaftAddr,
		"data", s.conf.DataDir)
	if s.identity == nil {
		s.log.Warn("insecure: this server has no identity, serves in clear, and believes whoever reaches it; " +
			"`vigil server init` founds a cluster with identities")
	}
	if len(s.conf.Join) == 0 && s.replica.Outside() {
		s.log.Warn("this server belongs to no cluster and waits to be added",
			"run", fmt.Sprintf("vigil server add %s %s --addr <server of the cluster>", s.conf.ID, s.conf.RaftAddr))
	}
	switch {
	case s.gossip == nil:
		s.log.Info("this server does not gossip: it hears hosts by their order streams only; gossip.bind turns it on")
	case s.keys == nil && s.conf.Gossip.KeyFile == "" && !door.Loopback(s.gossip.Addr()):
		s.log.Warn("gossip is not encrypted: whoever reaches it can make hosts look dead or alive",
			"address", s.gossip.Addr())
	}
}

// handOver gives leadership away while the API still serves and forwards, so that
// no client's write fails.
func (s *server) handOver(ctx context.Context) {
	if !s.replica.Leader().Self || len(s.replica.Servers()) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverLimit)
	defer cancel()
	if err := s.replica.Transfer(ctx, ""); err != nil && !errors.Is(err, noun.ErrNotLeader) {
		s.log.Warn("leadership was not handed over", "error", err)
		return
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for l := s.replica.Leader(); l.Self || l.ID == ""; l = s.replica.Leader() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
