package doctor

import (
	"context"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// mostShown bounds the rooms and the agents of an archive: of agents that somebody has to look at, and of any.
const mostShown = 1000

// states takes what the cluster knows of rooms and agents, its settings, and what servers say of their part in raft.
func (b *bundle) states(ctx context.Context, conn *cli.Conn) {
	if set, err := conn.Cluster.GetSettings(ctx, &vigilv1.GetSettingsRequest{}); err != nil {
		b.lacks("settings: %v", err)
	} else {
		set.Help = nil
		b.message("settings.json", set)
	}
	if list, err := conn.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{Figures: true}); err != nil {
		b.lacks("servers: %v", err)
	} else {
		b.message("servers.json", list)
	}
	if list, err := conn.Fleet.ListRooms(ctx, &vigilv1.ListRoomsRequest{Limit: mostShown}); err != nil {
		b.lacks("rooms: %v", err)
	} else {
		for i, r := range list.GetRooms() {
			list.Rooms[i] = bareRoom(r)
		}
		b.message("rooms.json", list)
	}
	for name, ask := range map[string]*vigilv1.ListAgentsRequest{
		"agents.json":          {Limit: mostShown},
		"agents-not-fine.json": {Limit: mostShown, NotFine: true},
	} {
		list, err := conn.Fleet.ListAgents(ctx, ask)
		if err != nil {
			b.lacks("%s: %v", name, err)
			continue
		}
		for i, a := range list.GetAgents() {
			list.Agents[i] = bareAgent(a)
		}
		b.message(name, list)
	}
}

// bareRoom is what a stranger may know of a room: words of people and values of parameters are not in it.
func bareRoom(r *vigilv1.Room) *vigilv1.Room {
	out := &vigilv1.Room{Name: r.GetName(), Deleting: r.GetDeleting(), CreatedAt: r.GetCreatedAt(), Rev: r.GetRev(),
		Paused: r.GetPaused(), PauseAt: r.GetPauseAt(), PauseEndsIn: r.GetPauseEndsIn(), Watch: r.GetWatch(),
		Unfinished: r.GetUnfinished()}
	if q := r.GetQuiet(); q != nil {
		out.Quiet = &vigilv1.RoomQuiet{State: q.GetState(), Silent: q.GetSilent(), ActiveAt: q.GetActiveAt(),
			Limit: q.GetLimit(), DueIn: q.GetDueIn(), CancelIn: q.GetCancelIn(), Reason: q.GetReason()}
	}
	for _, role := range r.GetRoles() {
		for _, values := range []map[string]string{role.GetSpec().GetParams(), role.GetSpec().GetLabels()} {
			for name := range values {
				values[name] = "..."
			}
		}
		if role.GetHalfOpen() != "" {
			role.HalfOpen = "yes" // it quotes why a life ended
		}
		out.Roles = append(out.Roles, role)
	}
	return out
}

// bareAgent is what a stranger may know of an agent: nothing that it, its output or a person has said is in it.
func bareAgent(a *vigilv1.Agent) *vigilv1.Agent {
	out := &vigilv1.Agent{Name: a.GetName(), Id: a.GetId(), Incarnation: a.GetIncarnation(), Process: a.GetProcess(),
		Participant: a.GetParticipant(), Host: a.GetHost(), Pid: a.GetPid(), Task: a.GetTask(), Desired: a.GetDesired(),
		IntentAt: a.GetIntentAt(), Order: a.GetOrder(), OrderOpen: a.GetOrderOpen(), LeaseLeft: a.GetLeaseLeft(),
		FenceLeft: a.GetFenceLeft(), Failures: a.GetFailures(), Parked: a.GetParked(), NotBefore: a.GetNotBefore(),
		Managed: a.GetManaged(), Up: a.GetUp(), Done: a.GetDone(), WhyCode: a.GetWhyCode(), WhyLeft: a.GetWhyLeft(),
		Rev: a.GetRev(), Retired: a.GetRetired(), Paused: a.GetPaused(), PauseAt: a.GetPauseAt(),
		ResumeBytes: a.GetResumeBytes(), StopEndsIn: a.GetStopEndsIn(), PauseEndsIn: a.GetPauseEndsIn(),
		Outdated: a.GetOutdated()}
	if x := a.GetLastExit(); x != nil {
		out.LastExit = &vigilv1.Exit{Incarnation: x.GetIncarnation(), At: x.GetAt(), Ago: x.GetAgo(), Kind: x.GetKind(),
			Code: x.GetCode(), Signal: x.GetSignal(), Task: x.GetTask(), Host: x.GetHost()}
	}
	if v := a.GetVerdict(); v != nil {
		out.Verdict = &vigilv1.Verdict{Kind: v.GetKind(), Fine: v.GetFine()}
		for _, r := range v.GetReasons() {
			out.Verdict.Reasons = append(out.Verdict.Reasons,
				&vigilv1.Reason{Evidence: r.GetEvidence(), Age: r.GetAge(), Bad: r.GetBad()})
		}
	}
	return out
}
