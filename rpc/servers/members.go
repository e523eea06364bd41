package servers

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// servers joins what the replication knows with what servers have said of themselves.
func (c *Service) servers(ctx context.Context) ([]*vigilv1.Server, error) {
	var members []Member
	if c.Members != nil {
		var err error
		if members, err = c.Members.List(ctx); err != nil {
			return nil, fmt.Errorf("list servers: %w", err)
		}
	}
	leader := c.Reader.Leader().ID
	byID := map[string]*vigilv1.Server{}
	for _, m := range members {
		byID[m.ID] = &vigilv1.Server{Id: m.ID, RaftAddr: m.RaftAddr, Voter: m.Voter, Standby: m.Standby,
			Health: m.Health}
		if m.Silent > 0 {
			byID[m.ID].Silent = durationpb.New(m.Silent)
		}
	}
	c.Reader.Read(func(st *fsm.View) {
		for _, s := range st.Servers() {
			to := byID[s.ID]
			if to == nil {
				if members != nil {
					continue // left; its record goes with the next removal
				}
				to = &vigilv1.Server{Id: s.ID, RaftAddr: s.RaftAddr, Voter: true}
				byID[s.ID] = to
			}
			to.ApiAddr, to.Version, to.Features, to.GossipAddr = s.APIAddr, s.Version, s.Features, s.GossipAddr
			to.Zone = s.Zone
			to.Diverged = slices.Contains(st.Diverged(), s.ID)
		}
	})
	out := make([]*vigilv1.Server, 0, len(byID))
	for id, s := range byID {
		s.Leader = id == leader
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *vigilv1.Server) int { return strings.Compare(a.GetId(), b.GetId()) })
	return out, nil
}

// ListServers lists the servers of the cluster.
func (c *Service) ListServers(
	ctx context.Context, r *vigilv1.ListServersRequest,
) (*vigilv1.ListServersResponse, error) {
	servers, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	if r.GetFigures() && c.Members != nil {
		said := c.Members.Figures(ctx)
		for _, s := range servers {
			s.Figures = said[s.GetId()]
		}
	}
	return &vigilv1.ListServersResponse{Servers: servers}, nil
}

func (c *Service) membership() (Members, error) {
	if c.Members == nil {
		return nil, fault.New(code.Unimplemented, "This server runs alone and has no membership to change.")
	}
	return c.Members, nil
}

// AddServer takes a running, empty server into the cluster.
func (c *Service) AddServer(
	ctx context.Context, r *vigilv1.AddServerRequest,
) (*vigilv1.AddServerResponse, error) {
	var k form.Checks
	k.Name("id", r.GetId())
	k.Line("raft_addr", r.GetRaftAddr(), form.MaxKVValue)
	k.Present("raft_addr", r.GetRaftAddr(), "give the new server's raft address, host:port")
	if k.Err != nil {
		return nil, k.Err
	}
	m, err := c.membership()
	if err != nil {
		return nil, err
	}
	if _, port, err := net.SplitHostPort(r.GetRaftAddr()); err != nil || port == "" || port == "0" {
		return nil, fault.Invalid("raft_addr %s is not of the form host:port; give the address that the "+
			"new server shows as --raft-addr.", fault.Quote(r.GetRaftAddr()))
	}
	if err := c.Note(ctx); err != nil {
		return nil, err
	}
	if err := m.Add(ctx, r.GetId(), r.GetRaftAddr(), r.GetStandby()); err != nil {
		return nil, fmt.Errorf("add server %s: %w", r.GetId(), err)
	}
	return &vigilv1.AddServerResponse{}, nil
}

// RemoveServer takes a server out of the cluster and forgets what it said of itself.
func (c *Service) RemoveServer(
	ctx context.Context, r *vigilv1.RemoveServerRequest,
) (*vigilv1.RemoveServerResponse, error) {
	var k form.Checks
	if k.Name("server", r.GetServer()); k.Err != nil {
		return nil, k.Err
	}
	m, err := c.membership()
	if err != nil {
		return nil, err
	}
	list, err := m.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	member := slices.ContainsFunc(list, func(s Member) bool { return s.ID == r.GetServer() })
	if !member && !c.leftOver(r.GetServer()) {
		return nil, fault.NotFound("%s", noun.AbsentServer(r.GetServer()))
	}
	if member && c.Reader.Leader().Self && !r.GetForce() {
		if err := c.awaitFollowers(ctx, r.GetServer()); err != nil {
			return nil, err
		}
	}
	if err := c.Note(ctx); err != nil {
		return nil, err
	}
	if err := m.Remove(ctx, r.GetServer(), r.GetForce()); err != nil {
		return nil, fmt.Errorf("remove server %s: %w", r.GetServer(), err)
	}
	return &vigilv1.RemoveServerResponse{}, nil
}

// leftOver tells whether a server that is no member is known all the same: its removal was interrupted, or it never
// got its vote. To remove it ends its identity.
func (c *Service) leftOver(id string) (is bool) {
	c.Reader.Read(func(st *fsm.View) {
		_, announced := st.Member(id)
		k := st.Credential(noun.ServerIdentity, id)
		is = announced || k != nil && k.Gone == 0
	})
	return is
}

// PromoteServer gives a standby its vote.
func (c *Service) PromoteServer(
	ctx context.Context, r *vigilv1.PromoteServerRequest,
) (*vigilv1.PromoteServerResponse, error) {
	if err := c.vote(ctx, r.GetServer(), true, false); err != nil {
		return nil, err
	}
	return &vigilv1.PromoteServerResponse{}, nil
}

// DemoteServer makes a voter a standby.
func (c *Service) DemoteServer(
	ctx context.Context, r *vigilv1.DemoteServerRequest,
) (*vigilv1.DemoteServerResponse, error) {
	if err := c.vote(ctx, r.GetServer(), false, r.GetForce()); err != nil {
		return nil, err
	}
	return &vigilv1.DemoteServerResponse{}, nil
}

func (c *Service) vote(ctx context.Context, server string, vote, force bool) error {
	var k form.Checks
	if k.Name("server", server); k.Err != nil {
		return k.Err
	}
	m, err := c.membership()
	if err != nil {
		return err
	}
	if err := c.Note(ctx); err != nil {
		return err
	}
	if err := m.Vote(ctx, server, vote, force); err != nil {
		return fmt.Errorf("change the vote of server %s: %w", server, err)
	}
	return nil
}

// TransferLeadership gives the leadership to another server.
func (c *Service) TransferLeadership(
	ctx context.Context, r *vigilv1.TransferLeadershipRequest,
) (*vigilv1.TransferLeadershipResponse, error) {
	var k form.Checks
	if k.OptionalName("to", r.GetTo()); k.Err != nil {
		return nil, k.Err
	}
	m, err := c.membership()
	if err != nil {
		return nil, err
	}
	if err := c.Note(ctx); err != nil {
		return nil, err
	}
	if err := m.Transfer(ctx, r.GetTo()); err != nil {
		return nil, fmt.Errorf("transfer leadership: %w", err)
	}
	return &vigilv1.TransferLeadershipResponse{Leader: c.newLeader(ctx)}, nil
}

// newLeader waits a moment until this server has heard who leads now; empty when it
// has not.
func (c *Service) newLeader(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if id := c.Reader.Leader().ID; id != "" && id != c.Self {
			return id
		}
		select {
		case <-ctx.Done():
			return c.Reader.Leader().ID
		case <-tick.C:
		}
	}
}
