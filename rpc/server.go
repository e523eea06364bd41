package rpc

import (
	"context"
	_ "embed" // for the OpenAPI document
	"fmt"
	"net"
	"time"

	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/desk"
	"vigil/rpc/door"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/hosts"
	"vigil/rpc/park"
	"vigil/rpc/servers"
	"vigil/rpc/vouch"
)

//go:embed gen/openapi/vigil.openapi.json
var openAPI []byte

// Server serves the API of one vigil server. Open it, then Run it once.
type Server struct {
	cfg       Config
	door      *door.Door
	park      *park.Engine
	hosts     *hosts.Streams
	desk      *hosts.Desk
	news      *desk.Service
	watches   door.Places
	followers door.Places
	saves     door.Places
	delegates *park.Quota
	trust     *vouch.Service
	next      *hosts.NextLives
	undo      func() // takes the metrics back
}

// Open prepares a server; nothing is accepted before Run. It subscribes to the
// Reader, so it must come before the replica runs.
func Open(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open rpc: %w", err)
	}
	d, err := door.Open(door.Config{RoomFile: cfg.RoomFile, Listener: cfg.Listener,
		ServerID: cfg.ServerID, Version: cfg.Version, ClusterID: cfg.ClusterID, Reader: cfg.Reader,
		Health: cfg.Health, Log: cfg.Log,
		StopGrace: cfg.StopGrace, Dial: cfg.Dial, ConnAge: cfg.ConnAge,
		TLS: cfg.TLS, PeerTLS: cfg.PeerTLS, Identify: cfg.Identify, Private: cfg.Private, Denials: cfg.Denials,
		Gatherer: cfg.Gatherer, Hosts: cfg.Hosts, BasePath: cfg.BasePath, OpenAPI: openAPI})
	if err != nil {
		return nil, fmt.Errorf("open rpc: %w", err)
	}
	s := &Server{cfg: cfg, door: d, park: park.Open(cfg.Reader, d.Stopping()), hosts: hosts.NewStreams(), undo: func() {},
		next:    hosts.NewNextLives(cfg.Reader),
		watches: door.Places{Most: maxWatches}, followers: door.Places{Most: desk.MaxFollowers},
		saves:     door.Places{Most: servers.MaxSaves},
		delegates: &park.Quota{Most: maxDelegates, MostOfRole: maxRoleDelegates}}
	c := base.NewCore(cfg.ServerID, cfg.Writer, cfg.Reader, d, s.park, cfg.Keys)
	d.ReadHere(func(ctx context.Context) error {
		_, err := c.CatchUp(ctx)
		return err
	})
	s.services(c)
	if cfg.Registerer != nil {
		all := append(d.Collectors(), newCollector(c, cfg.Version, &s.watches, s.hosts, s.next), s.news)
		if s.undo, err = register(cfg.Registerer, all...); err != nil {
			d.Close()
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	cfg.Reader.Subscribe(s.applied)
	cfg.Writer.Match(matchers{s.park.Matches, s.next})
	return s, nil
}

func (s *Server) services(c *base.Core) {
	s.desk = hosts.NewDesk(c, s.hosts)
	r, watchdog := s.door.GRPC(), watchdogForm(s.cfg.Watchdog)
	vigilv1.RegisterFleetServer(r, &fleet{Core: c, Desk: s.desk, watches: &s.watches, watchdog: watchdog})
	vigilv1.RegisterWorkServer(r, &work{Core: c, delegates: s.delegates, traced: s.cfg.Traced, cluster: s.cfg.ClusterID})
	vigilv1.RegisterHostAgentServer(r, hosts.NewService(c, s.hosts, s.cfg.ClusterID, s.cfg.Traced))
	vigilv1.RegisterMailboxServer(r, &mailbox{Core: c})
	vigilv1.RegisterEscalationsServer(r, &escalations{Core: c})
	vigilv1.RegisterOverseersServer(r, &overseers{Core: c})
	s.trust = &vouch.Service{Core: c, Signer: s.cfg.Signer}
	vigilv1.RegisterTrustServer(r, s.trust)
	s.news = desk.NewService(c, &s.followers)
	vigilv1.RegisterDeskServer(r, s.news)
	vigilv1.RegisterClusterServer(r, &servers.Service{Core: c, Members: s.cfg.Members, Backups: s.cfg.Backups,
		Saves: &s.saves, ClusterID: s.cfg.ClusterID, Version: s.cfg.Version, Identities: s.cfg.TLS != nil,
		Health: s.cfg.Health, Watchdog: watchdog, Notifiers: s.cfg.Notifiers, Diagnosis: s.cfg.Diagnosis})
}

// applied is called after every entry, outside the replica's lock. Nothing here blocks.
func (s *Server) applied(e noun.Effects) {
	s.door.Look()
	s.park.Applied(e)
	s.news.Applied()
}

// Addr is the address that is listened on.
func (s *Server) Addr() net.Addr { return s.cfg.Listener.Addr() }

// StreamSilence tells how long a host has said nothing on its stream; false when it
// holds no stream to this server. Safe for concurrent use.
func (s *Server) StreamSilence(host noun.HostID) (time.Duration, bool) { return s.hosts.Silence(host) }

// GossipTaken tells whether every host that holds a stream to this server has the keys of that revision
// of the ring. Safe for concurrent use.
func (s *Server) GossipTaken(rev uint64) bool { return s.hosts.Taken(rev) }

// Prod does at the terminal of one life what a rung of the ladder is: a nudge is typed, the
// Enter or the interrupt key is pressed. The error says why nobody can have noticed; it comes within
// half a minute. Safe for concurrent use.
func (s *Server) Prod(ctx context.Context, agent string, inc noun.Incarnation, rung noun.Rung) error {
	return s.desk.Prod(ctx, agent, inc, rung)
}

// Heard is when a call of another server or of a host last came in; zero: never.
func (s *Server) Heard() time.Time { return s.door.Heard() }

// Reached is when the API of that server last answered this one. One that was tried and
// never answered counts as if it had when this server was started; zero: it was not tried.
func (s *Server) Reached(id string) time.Time { return s.door.Reached(id) }

// Run serves until ctx ends, then lets calls in flight end for StopGrace. It returns
// nil after a stop that was asked for; nothing of the server is alive then.
func (s *Server) Run(ctx context.Context) error {
	defer s.undo()
	return s.door.Run(ctx)
}
