package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Status sums up the cluster as the answering server sees it.
func (c *Service) Status(ctx context.Context, r *vigilv1.StatusRequest) (*vigilv1.StatusResponse, error) {
	var k form.Checks
	if k.OptionalName("room", r.GetRoom()); k.Err != nil {
		return nil, k.Err
	}
	l := c.Reader.Leader()
	resp := base.Read(c.Core, func(st *fsm.View) *vigilv1.StatusResponse { return c.sumUp(st, r.GetRoom(), l.Term) })
	resp.ClusterId, resp.Server, resp.Version = c.ClusterID(), c.Self, c.Version
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

// sumUp is what the state says, of one room or of all.
func (c *Service) sumUp(st *fsm.View, room string, term uint64) *vigilv1.StatusResponse {
	n := st.Counts()
	out := &vigilv1.StatusResponse{
		Index: st.LastIndex(), Clock: durationpb.New(time.Duration(st.Clock())), Epoch: st.Epoch(),
		Rooms: n.Rooms, Agents: n.Agents, AgentsLive: n.Live, Hosts: n.Hosts, HostsReady: n.HostsReady,
		AgentsWanted: st.Wanted(), AgentsRunning: n.Processes[noun.ProcRunning],
		Tasks: map[string]uint64{}, LastEvent: st.LastEvent(), Term: term, HostStates: map[string]uint32{},
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
	out.Warnings = append(out.Warnings, c.unannounced(st)...)
	out.Warnings = append(out.Warnings, untoldWarnings(st, room)...)
	out.Warnings = append(out.Warnings, c.openWarnings(st)...)
	out.Warnings = append(out.Warnings, tokenWarnings(st, noun.Wall(time.Now().UnixNano()))...)
	if missing := int(out.AgentsWanted) - int(out.AgentsRunning); missing > 0 {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("Agents that should run and do not: %d of %d; `vigil agent list` tells why.",
				missing, out.AgentsWanted))
	}
	out.Unserved, out.UnservedMore = unserved(st, room)
	for s := noun.TaskQueued; s <= noun.TaskQuarantined; s++ {
		out.Tasks[s.String()] = n.Tasks[s]
	}
	return out
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
func (c *Service) forlorn(servers []*vigilv1.Server) (out []string) {
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
					fmt.Sprintf("Host %s knows %d of %d servers: %s. Name them under servers in its agentd's configuration.",
						h.Name, known, len(voters), form.Forlorn))
			}
		}
	})
	return out
}

func (c *Service) warnings(servers []*vigilv1.Server) (out []string) {
	if c.Health != nil {
		out = append(out, c.Health.Warnings()...)
	}
	for _, s := range servers {
		if s.GetDiverged() {
			out = append(out,
				fmt.Sprintf("The state of server %s differs from the majority's; it serves nothing. Rebuild its data.", s.GetId()))
		}
		if s.GetVersion() != "" && s.GetVersion() != c.Version {
			out = append(out, fmt.Sprintf("Server %s runs version %s, this one %s; finish the upgrade.",
				s.GetId(), s.GetVersion(), c.Version))
		}
	}
	return out
}

// openWarnings says that nobody has to say who they are here, and which servers other machines can reach.
func (c *Service) openWarnings(st *fsm.View) []string {
	if c.Identities {
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

// tokenWarning is how long before its end people are told of an API token, when that is less than a quarter of
// what it was made for: a token for an hour is made to end soon.
const tokenWarning = 7 * 24 * time.Hour

// tokenWarnings says how many API tokens end soon: the programs that call with them are let in no more then.
// When one was used last is nowhere kept.
func tokenWarnings(st *fsm.View, now noun.Wall) []string {
	n, first := uint32(0), time.Duration(0)
	for k := range st.APITokens() {
		left := k.End.Sub(st.Clock())
		if whole := left + time.Duration(now-k.At); left > 0 && left < min(tokenWarning, whole/4) {
			if n++; first == 0 || left < first {
				first = left
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("API tokens that end soon: %d, the first in %s; "+
		"`vigil token list` shows them. "+
		"Make new ones with `vigil token create`, or who calls with them is let in no more.",
		n, first.Round(time.Minute))}
}

// warnedRooms is how many rooms a status names whose share of a budget is nearly used up.
const warnedRooms = 5

// untoldWarnings are sentences about budgets of roles that cannot bite, of one room or of all; as many are named as
// rooms in budgetWarnings.
func untoldWarnings(st *fsm.View, room string) (out []string) {
	for rm := range st.Rooms("") {
		if room != "" && rm.Name != room {
			continue
		}
		for _, id := range rm.Roles {
			if out = append(out, form.UntoldBudgets(st, st.Role(id))...); len(out) > warnedRooms {
				return append(out[:warnedRooms], "More budgets cannot bite; `vigil usage` names them.")
			}
		}
	}
	return out
}

// budgetWarnings are sentences about budgets of which much is used.
func budgetWarnings(st *fsm.View) (out []string) {
	for _, u := range append(st.Budgets(), st.RoomBudgets(warnedRooms)...) {
		if u.High() {
			out = append(out, u.Warning())
		}
	}
	return out
}
