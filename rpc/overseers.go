package rpc

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// overseers serves the watchdog chain.
type overseers struct {
	vigilv1.UnimplementedOverseersServer
	*base.Core
}

// ListOverseers pages through overseers by name.
func (o *overseers) ListOverseers(
	_ context.Context, r *vigilv1.ListOverseersRequest,
) (*vigilv1.ListOverseersResponse, error) {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	if c.Err != nil {
		return nil, c.Err
	}
	return base.Read(o.Core, func(st *fsm.View) *vigilv1.ListOverseersResponse {
		var all []*noun.Agent
		for id := range st.Overseers(0) {
			a := st.Agent(id)
			if a.Name > r.GetAfter() && (r.GetRoom() == "" || st.RoomByID(a.Room).Name == r.GetRoom()) {
				all = append(all, a)
			}
		}
		slices.SortFunc(all, func(a, b *noun.Agent) int { return cmp.Compare(a.Name, b.Name) })
		out := &vigilv1.ListOverseersResponse{}
		for _, a := range all[:min(len(all), limit)] {
			out.Overseers = append(out.Overseers, convertOverseer(st, a))
		}
		if len(all) > limit {
			out.More, out.Next = true, all[limit-1].Name
		}
		return out
	}), nil
}

// GetOverseer shows one overseer.
func (o *overseers) GetOverseer(_ context.Context, r *vigilv1.GetOverseerRequest) (*vigilv1.OverseerStatus, error) {
	var c form.Checks
	if c.Agent("agent", r.GetAgent(), false); c.Err != nil {
		return nil, c.Err
	}
	var err error
	out := base.Read(o.Core, func(st *fsm.View) *vigilv1.OverseerStatus {
		a := st.AgentByName(r.GetAgent())
		switch {
		case a == nil:
			err = base.NoAgent(st, r.GetAgent())
			return nil
		case st.Overseer(a) == nil:
			err = fault.New(code.Conflict, "%s is no overseer; its role needs `overseer:` in the room file.", a.Name)
			return nil
		}
		return convertOverseer(st, a)
	})
	return out, err
}

// LookAtOverseer begins a look now, by a human's word.
func (o *overseers) LookAtOverseer(
	ctx context.Context, r *vigilv1.LookAtOverseerRequest,
) (*vigilv1.OverseerStatus, error) {
	return base.Write(ctx, o.Core, r, lookAtOverseerCmd, shownOverseer(r.GetAgent()))
}

// ReportPatrol takes a patrol in.
func (o *overseers) ReportPatrol(ctx context.Context, r *vigilv1.ReportPatrolRequest) (*vigilv1.OverseerStatus, error) {
	return base.Write(ctx, o.Core, r, reportPatrolCmd, shownOverseer(r.GetSpeaker().GetAgent()))
}

// HandOver leaves a mail to the next life and has it started. What the mail says is in no
// log line and no event.
func (o *overseers) HandOver(ctx context.Context, r *vigilv1.HandOverRequest) (*vigilv1.HandOverResponse, error) {
	return base.Write(ctx, o.Core, r, handOverCmd, func(_ *fsm.View, out *noun.Outcome) *vigilv1.HandOverResponse {
		return &vigilv1.HandOverResponse{Mail: uint64(out.Mail)}
	})
}

func shownOverseer(name string) func(*fsm.View, *noun.Outcome) *vigilv1.OverseerStatus {
	return func(st *fsm.View, _ *noun.Outcome) *vigilv1.OverseerStatus {
		if a := st.AgentByName(name); a != nil && st.Overseer(a) != nil {
			return convertOverseer(st, a)
		}
		return &vigilv1.OverseerStatus{Agent: name}
	}
}

func lookAtOverseerCmd(r *vigilv1.LookAtOverseerRequest) (fsm.Command, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.LookAtOverseer{Agent: r.GetAgent(), By: r.GetBy()}, c.Err
}

func reportPatrolCmd(r *vigilv1.ReportPatrolRequest) (fsm.Command, error) {
	var c form.Checks
	s := c.Speaking(r.GetSpeaker(), false)
	c.OptionalName("action", r.GetAction())
	return fsm.ReportPatrol{Speaker: s, Cycle: r.GetCycle(), Action: r.GetAction(), Healthy: r.GetHealthy(),
		Unhealthy: r.GetUnhealthy()}, c.Err
}

func handOverCmd(r *vigilv1.HandOverRequest) (fsm.Command, error) {
	var c form.Checks
	s := c.Speaking(r.GetSpeaker(), false)
	c.Line("subject", r.GetSubject(), noun.MaxMailSubject)
	c.Text("body", r.GetBody(), noun.MaxMailBody)
	if r.GetSubject() == "" && r.GetBody() == "" {
		c.Fail("subject and body are both missing; tell the next life where to go on.")
	}
	return fsm.HandOver{Speaker: s, Subject: r.GetSubject(), Body: r.GetBody()}, c.Err
}

// convertOverseer shows an overseer; nil: the agent is none.
func convertOverseer(st *fsm.View, a *noun.Agent) *vigilv1.OverseerStatus {
	spec, c := st.Overseer(a), a.Notes().Chain
	if spec == nil || c == nil {
		return nil
	}
	f, now := st.OverseerFacts(a), st.Clock()
	out := &vigilv1.OverseerStatus{
		Agent: a.Name, Incarnation: form.IncName(a.Inc), Session: "alive", Freshness: f.Freshness(),
		PatrolAge: durationpb.New(f.Age), Fresh: durationpb.New(f.Fresh), Stale: durationpb.New(f.Stale),
		HandoffAfter: spec.HandoffAfter, HandoffDue: st.HandoverDue(a), Cycle: c.Cycle,
		LastAction: c.Action, Healthy: c.Healthy, Unhealthy: c.Unhealthy, MailWaiting: uint32(f.Mail),
		Triage: spec.Triage, LookTask: uint64(c.Task), Rule: judge.Decide(&f).String(),
		Overruled: c.Overruled, AskedBy: c.Asked,
	}
	switch {
	case f.Dead:
		out.Session = "dead"
	case a.Proc == noun.ProcOrdered:
		out.Session = "starting"
	}
	if c.Inc == a.Inc {
		out.Patrols = c.Patrols
	}
	at, off := st.NextLook(a)
	switch left := durationpb.New(max(0, at.Sub(now))); {
	case c.Task != 0:
		out.LookLeft = left
	case off != "":
		out.Off = off
	default:
		out.NextLook = left
	}
	if c.By != noun.ByNobody {
		out.Decision, out.DecidedBy, out.Decided = c.Decision.String(), c.By.String(),
			durationpb.New(now.Sub(c.DecidedAt))
		out.Facts, out.Degraded, out.Act, out.Reason = c.Facts, c.Degraded, c.Act, c.Why
	}
	return out
}
