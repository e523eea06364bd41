package rpc

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
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// clusterService serves questions about the servers themselves.
type clusterService struct {
	vigilv1.UnimplementedClusterServer
	*base.Core
	members Members
	backups Backups
	saves   *door.Places  // of backups that are being sent
	id      func() string // of the cluster
	version string
	// identities tells that this server asks whoever calls who they are.
	identities bool
	health     Health // may be nil
	// watchdog gives the counts of this server's conversation watchdog.
	watchdog func() *vigilv1.WatchdogStats
}

// Status sums up the cluster as the answering server sees it.
func (c *clusterService) Status(ctx context.Context, r *vigilv1.StatusRequest) (*vigilv1.StatusResponse, error) {
	var k form.Checks
	if k.OptionalName("room", r.GetRoom()); k.Err != nil {
		return nil, k.Err
	}
	l := c.Reader.Leader()
	resp := base.Read(c.Core, func(st *fsm.View) *vigilv1.StatusResponse {
		n := st.Counts()
		out := &vigilv1.StatusResponse{
			Index: st.LastIndex(), Clock: durationpb.New(time.Duration(st.Clock())), Epoch: st.Epoch(),
			Rooms: n.Rooms, Agents: n.Agents, AgentsLive: n.Live, Hosts: n.Hosts, HostsReady: n.HostsReady,
			AgentsWanted: st.Wanted(), AgentsRunning: n.Processes[noun.ProcRunning],
			Tasks: map[string]uint64{}, LastEvent: st.LastEvent(), Term: l.Term, HostStates: map[string]uint32{},
		}
		if paused, by, why, at := st.Pause(); paused {
			out.Paused, out.PauseBy, out.PauseWhy, out.PauseAt = true, by, why, form.Wall(at)
			out.PauseEndsIn = form.Until(st.Clock(), st.PauseEnd().At)
		}
		if b := st.Brake(); b.Set != 0 {
			out.Brake = b.Why
		}
		for h := range st.Hosts() {
			out.HostStates[h.Status().String()]++
			out.Warnings = append(out.Warnings, hostTrouble(st, h)...)
		}
		if n := len(out.Warnings) - hostWarnings; n > 0 {
			out.Warnings = append(out.Warnings[:hostWarnings],
				fmt.Sprintf("%d more hosts are in trouble; `vigil host list` shows them.", n))
		}
		e := st.EscalationCounts()
		out.EscalationsOpen, out.EscalationsUnacknowledged = uint32(e.Open), uint32(e.Alone)
		if e.Alone > 0 {
			out.Warnings = append(out.Warnings,
				fmt.Sprintf("Escalations that wait for a human: %d; `vigil escalation list` shows them.", e.Alone))
		}
		if n.Parked > 0 {
			out.Warnings = append(out.Warnings,
				fmt.Sprintf("Agents that are parked after failures or for a usage limit: %d; "+
					"`vigil agent list` tells why and until when.", n.Parked))
		}
		out.Warnings = append(out.Warnings, budgetWarnings(st)...)
		out.Warnings = append(out.Warnings, c.openWarnings(st)...)
		if missing := int(out.AgentsWanted) - int(out.AgentsRunning); missing > 0 {
			out.Warnings = append(out.Warnings,
				fmt.Sprintf("Agents that should run and do not: %d of %d; `vigil agent list` tells why.",
					missing, out.AgentsWanted))
		}
		out.Unserved, out.UnservedMore = unserved(st, r.GetRoom())
		for s := noun.TaskQueued; s <= noun.TaskQuarantined; s++ {
			out.Tasks[s.String()] = n.Tasks[s]
		}
		return out
	})
	resp.ClusterId, resp.Server, resp.Version = c.id(), c.Self, c.version
	resp.Leader, resp.LeaderAddr = l.ID, l.APIAddr
	resp.Waiters = uint64(c.Park.TaskFigures().Parked)
	servers, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	resp.Servers = servers
	if l.ID == "" {
		resp.Leaderless = leaderlessText(servers)
	}
	resp.Warnings = slices.Concat(c.warnings(servers), c.forlorn(servers), resp.Warnings)
	return resp, nil
}

// unservedShown is how many roles without an agent a status names.
const unservedShown = 100

// unserved lists the roles with waiting tasks and no agent, of one room or of all.
func unserved(st *fsm.View, room string) (out []*vigilv1.UnservedRole, more uint32) {
	list, n := st.Unserved(room, unservedShown)
	for _, u := range list {
		r := st.Role(u.Role)
		out = append(out, &vigilv1.UnservedRole{Room: st.RoomByID(r.Room).Name, Role: r.Spec.Name, Waiting: u.Waiting,
			Since: durationpb.New(u.Since), Why: u.Why.Text, WhyCode: u.Why.Code})
	}
	return out, uint32(n)
}

// hostWarnings is how many hosts a status warns of by name.
const hostWarnings = 10

// hostTrouble says what a human should know of a host: nothing, or one sentence.
func hostTrouble(st *fsm.View, h *noun.Host) []string {
	switch {
	case h.State == noun.HostSuspect && h.SuspectWhy != "":
		return []string{fmt.Sprintf("Host %s gets no starts: %s.", h.Name, h.SuspectWhy)}
	case h.State == noun.HostLost && st.HostLoad(h.ID).Running > 0:
		return []string{fmt.Sprintf("Host %s is lost and may still run %s; they move when their "+
			"fences end, or at once with `vigil host confirm-dead %s`.",
			h.Name, noun.Plural(st.HostLoad(h.ID).Running, "agent"), h.Name)}
	case h.Pressure != "":
		return []string{fmt.Sprintf("Host %s gets no starts: %s.", h.Name, h.Pressure)}
	}
	return nil
}

// forlorn warns of hosts that know no majority of the voters: when the others are taken
// away, they find none of those that are left, and their agents freeze.
func (c *clusterService) forlorn(servers []*vigilv1.Server) (out []string) {
	var voters []string
	for _, s := range servers {
		if s.GetVoter() && s.GetApiAddr() != "" {
			voters = append(voters, s.GetApiAddr())
		}
	}
	c.Reader.Read(func(st *fsm.View) {
		for h := range st.Hosts() {
			if h.State == noun.HostLeft || len(h.Servers) == 0 {
				continue
			}
			known := knowsOf(h, voters)
			if 2*known <= len(voters) && len(out) < hostWarnings {
				out = append(out,
					fmt.Sprintf("Host %s knows %d of %d servers: without those it finds no other. Name "+
						"them under servers in its agentd's configuration.",
						h.Name, known, len(voters)))
			}
		}
	})
	return out
}

func (c *clusterService) warnings(servers []*vigilv1.Server) (out []string) {
	if c.health != nil {
		out = append(out, c.health.Warnings()...)
	}
	for _, s := range servers {
		if s.GetDiverged() {
			out = append(out,
				fmt.Sprintf("The state of server %s differs from the majority's; it serves nothing. Rebuild its data.", s.GetId()))
		}
		if s.GetVersion() != "" && s.GetVersion() != c.version {
			out = append(out, fmt.Sprintf("Server %s runs version %s, this one %s; finish the upgrade.",
				s.GetId(), s.GetVersion(), c.version))
		}
	}
	return out
}

// servers joins what the replication knows with what servers have said of themselves.
func (c *clusterService) servers(ctx context.Context) ([]*vigilv1.Server, error) {
	var members []Member
	if c.members != nil {
		var err error
		if members, err = c.members.List(ctx); err != nil {
			return nil, fmt.Errorf("list servers: %w", err)
		}
	}
	leader := c.Reader.Leader().ID
	byID := map[string]*vigilv1.Server{}
	for _, m := range members {
		byID[m.ID] = &vigilv1.Server{Id: m.ID, RaftAddr: m.RaftAddr, Voter: m.Voter, Health: m.Health}
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

// GetSettings shows all settings with their meaning.
func (c *clusterService) GetSettings(context.Context, *vigilv1.GetSettingsRequest) (*vigilv1.Settings, error) {
	return c.settings(), nil
}

func (c *clusterService) settings() *vigilv1.Settings {
	return base.Read(c.Core, func(st *fsm.View) *vigilv1.Settings {
		out := &vigilv1.Settings{Values: map[string]string{}, Defaults: map[string]string{},
			Help: map[string]string{}, Rev: st.SettingsRev()}
		for _, i := range st.Settings().Info() {
			out.Values[i.Name], out.Defaults[i.Name] = i.Value, i.Default
			out.Help[i.Name] = i.Help + " (" + i.Range + ")"
		}
		return out
	})
}

// PutSettings changes settings by name, all or none.
func (c *clusterService) PutSettings(ctx context.Context, r *vigilv1.PutSettingsRequest) (*vigilv1.Settings, error) {
	return base.Idempotent(ctx, c.Core, r, putSettingsCmd, func(*noun.Outcome) *vigilv1.Settings { return c.settings() })
}

// AnnounceServer records what a server says of itself.
func (c *clusterService) AnnounceServer(
	ctx context.Context, r *vigilv1.AnnounceServerRequest,
) (*vigilv1.AnnounceServerResponse, error) {
	return base.Idempotent(ctx, c.Core, r, announceServerCmd, func(*noun.Outcome) *vigilv1.AnnounceServerResponse {
		return &vigilv1.AnnounceServerResponse{}
	})
}

// ReportHash records a server's hash of the state at a mark.
func (c *clusterService) ReportHash(
	ctx context.Context, r *vigilv1.ReportHashRequest,
) (*vigilv1.ReportHashResponse, error) {
	return base.Idempotent(ctx, c.Core, r, reportHashCmd, func(*noun.Outcome) *vigilv1.ReportHashResponse {
		return &vigilv1.ReportHashResponse{}
	})
}

// ReportViews records what a server hears of hosts.
func (c *clusterService) ReportViews(
	ctx context.Context, r *vigilv1.ReportViewsRequest,
) (*vigilv1.ReportViewsResponse, error) {
	return base.Idempotent(ctx, c.Core, r, reportViewsCmd, func(*noun.Outcome) *vigilv1.ReportViewsResponse {
		return &vigilv1.ReportViewsResponse{}
	})
}

// ListServers lists the servers of the cluster.
func (c *clusterService) ListServers(
	ctx context.Context, _ *vigilv1.ListServersRequest,
) (*vigilv1.ListServersResponse, error) {
	servers, err := c.servers(ctx)
	if err != nil {
		return nil, err
	}
	return &vigilv1.ListServersResponse{Servers: servers}, nil
}

func (c *clusterService) membership() (Members, error) {
	if c.members == nil {
		return nil, fault.New(code.Unimplemented, "This server runs alone and has no membership to change.")
	}
	return c.members, nil
}

// AddServer takes a running, empty server into the cluster.
func (c *clusterService) AddServer(
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
	if err := m.Add(ctx, r.GetId(), r.GetRaftAddr()); err != nil {
		return nil, fmt.Errorf("add server %s: %w", r.GetId(), err)
	}
	return &vigilv1.AddServerResponse{}, nil
}

// RemoveServer takes a server out of the cluster and forgets what it said of itself.
func (c *clusterService) RemoveServer(
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
	if !slices.ContainsFunc(list, func(s Member) bool { return s.ID == r.GetServer() }) {
		return nil, fault.NotFound("%s", noun.AbsentServer(r.GetServer()))
	}
	if c.Reader.Leader().Self && !r.GetForce() {
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

// TransferLeadership gives the leadership to another server.
func (c *clusterService) TransferLeadership(
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
func (c *clusterService) newLeader(ctx context.Context) string {
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

// openWarnings says that nobody has to say who they are here, and which servers other machines can reach.
func (c *clusterService) openWarnings(st *fsm.View) []string {
	if c.identities {
		return nil
	}
	var open []string
	for _, s := range st.Servers() {
		if s.APIAddr != "" && !door.Loopback(s.APIAddr) || !door.Loopback(s.RaftAddr) {
			open = append(open, s.ID)
		}
	}
	text := "Insecure: these servers have no identities, and whoever reaches them controls the fleet. That is for " +
		"trials on one machine; `vigil server init` founds a cluster with identities."
	if len(open) > 0 {
		text += " Other machines can reach " + strings.Join(open, ", ") + "."
	}
	return []string{text}
}
