package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster/gossip"
	"vigil/cluster/hearing"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// Rhythm of what a server learns and says of hosts.
const (
	knowEvery   = 2 * time.Second // addresses for gossip are looked up so often
	reportLimit = 2 * time.Second // for one report
)

// openHearing prepares what this server hears of hosts, and of other servers.
func (s *server) openHearing(registry prometheus.Registerer) error {
	s.contacts = &hearing.Contacts{Servers: s.replica.Servers, Announced: s.announcedServers}
	if s.gossip == nil {
		s.hearing = hearing.New(s.conf.ID, s.api.StreamSilence, nil)
		return nil
	}
	s.hearing = hearing.New(s.conf.ID, s.api.StreamSilence,
		func(key, boot string) gossip.State { return s.gossip.Hears(gossip.Host, key, boot) })
	if err := registry.Register(s.gossip); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// announcedServers are the ids of the servers that the state knows.
func (s *server) announcedServers() (ids []string) {
	s.replica.Read(func(st *fsm.View) {
		for _, srv := range st.Servers() {
			ids = append(ids, srv.ID)
		}
	})
	return ids
}

// gossipAddr is where others reach this server's gossip; empty: nowhere.
func (s *server) gossipAddr() string {
	if s.gossip == nil {
		return ""
	}
	return s.gossip.Addr()
}

// neighbours lists the gossip addresses in the state: of all servers and hosts that are
// believed to be there, and of lost hosts. Members that can be reached are joined from either
// side, so that a partition heals whoever noticed it.
func neighbours(st *fsm.View) (addrs, lost []string) {
	for _, srv := range st.Servers() {
		addrs = append(addrs, srv.GossipAddr)
	}
	for h := range st.Hosts() {
		switch h.State {
		case noun.HostLeft:
		case noun.HostLost:
			lost = append(lost, h.GossipAddr)
		default:
			addrs = append(addrs, h.GossipAddr)
		}
	}
	return addrs, lost
}

// introduce keeps this server's gossip told of its cluster until ctx ends.
func (s *server) introduce(ctx context.Context) error {
	tick := time.NewTicker(knowEvery)
	defer tick.Stop()
	for {
		var addrs, lost []string
		s.replica.Read(func(st *fsm.View) { addrs, lost = neighbours(st) })
		s.gossip.Know(s.replica.Cluster(), addrs, lost)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// listen hears hosts and reports what has changed until ctx ends.
func (s *server) listen(ctx context.Context) error {
	tick := time.NewTicker(hearing.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		var views []noun.HostView
		s.replica.Read(func(st *fsm.View) { views = s.hearing.Listen(st, now) })
		if len(views) == 0 || s.replica.Leader().ID == "" {
			continue
		}
		err := s.reportViews(ctx, views)
		s.hearing.Reported(time.Now(), err == nil)
		if err != nil && ctx.Err() == nil {
			s.log.Debug("what is heard of hosts was not reported", "hosts", len(views), "error", err)
		}
	}
}

func (s *server) reportViews(ctx context.Context, views []noun.HostView) error {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	req := &vigilv1.ReportViewsRequest{Server: s.conf.ID}
	for _, v := range views {
		req.Views = append(req.Views, &vigilv1.HeardHost{Host: uint32(v.Host), Gossip: v.Gossip.String(),
			Stream: v.Stream.String()})
	}
	_, err := vigilv1.NewClusterClient(s.client).ReportViews(ctx, req)
	return err
}
