package serve

import (
	"context"
	"errors"
	"slices"
	"time"

	"vigil/cluster"
	"vigil/cmd/vigil/cli"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// Rhythm of what a server says of itself.
const (
	announceLook = 250 * time.Millisecond
	joinLimit    = 24 * time.Hour // for one try; the leader ends it when this server learns nothing for minutes
	joinAgain    = 2 * time.Second
	joinLook     = 100 * time.Millisecond // while the replication starts
)

// announce sees to it that the state knows this server's addresses and version, as long as it
// runs. It looks again and again: the log that a server reads when it comes back may hold an
// older life of it, which the cluster has forgotten further on.
func (s *server) announce(ctx context.Context) error {
	self := vigilv1.AnnounceServerRequest{Id: s.conf.ID, ApiAddr: s.conf.AdvertiseAddr, RaftAddr: s.conf.RaftAddr,
		Version:  cli.Version(),
		Features: cluster.FeatureLevel, GossipAddr: s.gossipAddr(), Zone: s.zone()}
	tick := time.NewTicker(announceLook)
	defer tick.Stop()
	for {
		if s.replica.Leader().ID != "" && s.member() && !s.announced() {
			self.Zone = s.zone() // it may come later than the rest
			// What fails is said again.
			if _, err := vigilv1.NewClusterClient(s.client).AnnounceServer(ctx, &self); err != nil && ctx.Err() == nil {
				s.log.Debug("server not announced", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// zone is what the cluster may be told: no server of a version before zones may read of one.
func (s *server) zone() (zone string) {
	s.replica.Read(func(st *fsm.View) {
		if st.Level() >= (fsm.SetStandby{}).NeedsLevel() {
			zone = s.conf.Zone
		}
	})
	return zone
}

// member tells whether this server is one of the cluster. One that is not, because it was not
// taken in yet or was removed, has nothing to say.
func (s *server) member() bool {
	return slices.ContainsFunc(s.replica.Servers(), func(m cluster.Server) bool { return m.Self })
}

// announced tells whether the state knows what this server says of itself.
func (s *server) announced() (known bool) {
	self := noun.Server{ID: s.conf.ID, APIAddr: s.conf.AdvertiseAddr, RaftAddr: s.conf.RaftAddr, Version: cli.Version(),
		Features: cluster.FeatureLevel, GossipAddr: s.gossipAddr(), Zone: s.zone()}
	s.replica.Read(func(st *fsm.View) {
		for _, srv := range st.Servers() {
			known = known || srv == self
		}
	})
	return known
}

// join asks the cluster to add this server, until it says that it has. What the
// server hears meanwhile does not tell: a cluster that knew it before it lost its
// data may speak to it before it has asked.
func (s *server) join(ctx context.Context) error {
	for !s.replica.Outside() {
		if list := s.replica.Servers(); len(list) > 0 { // the replication runs
			if !s.member() {
				s.log.Warn("this server was removed from its cluster; to take it in again, empty its data directory first")
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(joinLook):
		}
	}
	for {
		try, cancel := context.WithTimeout(ctx, joinLimit)
		_, err := vigilv1.NewClusterClient(s.others).AddServer(try,
			&vigilv1.AddServerRequest{Id: s.conf.ID, RaftAddr: s.conf.RaftAddr, Standby: s.conf.Standby})
		cancel()
		switch {
		case err == nil:
			s.log.Info("server has joined the cluster")
			return nil
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, client.ErrConflict), errors.Is(err, client.ErrInvalid):
			return err
		}
		s.log.Warn("not in the cluster yet, trying again", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(joinAgain):
		}
	}
}
