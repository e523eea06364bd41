package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/fsm"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// judgedAgent is form.Agent with the verdict; leader tells whether somebody leads.
func judgedAgent(st *fsm.View, a *noun.Agent, leader bool) *vigilv1.Agent {
	out := form.Agent(st, a)
	v := st.Verdict(a.ID, leader)
	out.Verdict = convertVerdict(&v)
	out.Ladder = convertLadder(st, a.ID)
	out.Overseer = convertOverseer(st, a)
	return out
}

// convertLadder tells what is done about a stuck agent; absent: it is not stuck.
func convertLadder(st *fsm.View, id noun.AgentID) *vigilv1.Ladder {
	c := st.Climb(id)
	if c.Rung == noun.NoRung && c.Next == noun.NoRung && c.Why == "" {
		return nil
	}
	out := &vigilv1.Ladder{Rung: c.Rung.String(), Steps: c.Steps, Next: c.Next.String(), Why: c.Why}
	if c.Rung != noun.NoRung {
		out.Taken = durationpb.New(st.Clock().Sub(c.At))
	}
	for r := noun.RungNudge; r <= noun.RungEscalate; r++ {
		if c.Failed&(1<<r) != 0 {
			out.Failed = append(out.Failed, r.String())
		}
	}
	if c.Next != noun.NoRung && c.Due > st.Clock() {
		out.NextIn = durationpb.New(c.Due.Sub(st.Clock()))
	}
	return out
}

func convertVerdict(v *judge.Verdict) *vigilv1.Verdict {
	out := &vigilv1.Verdict{Kind: v.Kind.String(), Fine: v.Fine}
	for _, r := range v.Reasons {
		out.Reasons = append(out.Reasons, &vigilv1.Reason{Text: r.Text, Evidence: r.Evidence,
			Age: form.Lasting(r.Age), Bad: r.Bad})
	}
	return out
}

// GetAgentStatus tells how an agent is seen from outside. A name
// that nobody has is an answer here, not an error.
func (f *fleet) GetAgentStatus(_ context.Context, r *vigilv1.GetAgentStatusRequest) (*vigilv1.AgentStatus, error) {
	var c form.Checks
	if c.Agent("agent", r.GetAgent(), false); c.Err != nil {
		return nil, c.Err
	}
	leader, now := f.Reader.Leader().ID != "", time.Now()
	return base.Read(f.Core, func(st *fsm.View) *vigilv1.AgentStatus {
		out := &vigilv1.AgentStatus{Agent: r.GetAgent()}
		a, id := st.AgentByName(r.GetAgent()), noun.AgentID(0)
		if a != nil {
			out.UnreadMessages = uint32(st.Unread(a.ID))
			id, out.Host, out.Declaration = a.ID, form.HostName(st, a.Host), form.Declaration(st.Clock(), a.Declared)
			out.Screen, out.Degraded = form.Screen(st.Clock(), a), st.Degraded(a.ID)
		}
		v := st.Verdict(id, leader)
		out.Ladder = convertLadder(st, id)
		p := st.Presence(id, &v)
		out.Status, out.Verdict = p.Status, convertVerdict(&v)
		// For people: on this server's wall clock. Nothing is decided by it.
		at := func(t noun.Time) *timestamppb.Timestamp {
			if t == 0 {
				return nil
			}
			return timestamppb.New(now.Add(-st.Clock().Sub(t)))
		}
		out.LastSeen, out.RegisteredAt, out.OfflineSince = at(p.LastSeen), at(p.Registered), at(p.Offline)
		return out
	}), nil
}
