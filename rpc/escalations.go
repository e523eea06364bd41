package rpc

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// escalations serves what needs a human.
type escalations struct {
	vigilv1.UnimplementedEscalationsServer
	*base.Core
}

// ListEscalations pages through escalations by number.
func (e *escalations) ListEscalations(
	_ context.Context, r *vigilv1.ListEscalationsRequest,
) (*vigilv1.ListEscalationsResponse, error) {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	if r.GetKind() != "" && !slices.Contains(fsm.EscalationKindNames(), r.GetKind()) {
		c.Fail("kind %s is unknown; write one of %v.", fault.Quote(r.GetKind()), fsm.EscalationKindNames()[1:])
	}
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	if c.Err != nil {
		return nil, c.Err
	}
	// There are some 20,000 at most by default, and few are open: one look is short enough.
	return base.Read(e.Core, func(st *fsm.View) *vigilv1.ListEscalationsResponse {
		n := st.EscalationCounts()
		out := &vigilv1.ListEscalationsResponse{Open: uint32(n.Open), Pending: uint32(n.Pending), Dropped: n.Dropped}
		for x := range st.Escalations(noun.EscalationID(r.GetAfter())) {
			if !r.GetAll() && x.State == noun.EscalationClosed || r.GetRoom() != "" &&
				x.Room != r.GetRoom() || r.GetKind() != "" && x.Kind.String() != r.GetKind() {
				continue
			}
			if len(out.Escalations) == limit {
				out.More, out.Next = true, out.Escalations[limit-1].GetId()
				break
			}
			out.Escalations = append(out.Escalations, convertEscalation(st, x))
		}
		return out
	}), nil
}

// GetEscalation shows one escalation.
func (e *escalations) GetEscalation(_ context.Context, r *vigilv1.GetEscalationRequest) (*vigilv1.Escalation, error) {
	if _, err := escalationID(r.GetEscalation(), ""); err != nil {
		return nil, err
	}
	out := base.Read(e.Core, func(st *fsm.View) *vigilv1.Escalation {
		if x := st.Escalation(noun.EscalationID(r.GetEscalation())); x != nil {
			return convertEscalation(st, x)
		}
		return nil
	})
	if out == nil {
		return nil, fault.NotFound("%s", noun.AbsentEscalation(noun.EscalationID(r.GetEscalation())))
	}
	return out, nil
}

// AckEscalation says that somebody looks after an escalation.
func (e *escalations) AckEscalation(ctx context.Context, r *vigilv1.AckEscalationRequest) (*vigilv1.Escalation, error) {
	return base.Write(ctx, e.Core, r, ackEscalationCmd, shownEscalation(r.GetEscalation()))
}

// CloseEscalation says that nothing is left to decide about an escalation.
func (e *escalations) CloseEscalation(
	ctx context.Context, r *vigilv1.CloseEscalationRequest,
) (*vigilv1.Escalation, error) {
	return base.Write(ctx, e.Core, r, closeEscalationCmd, shownEscalation(r.GetEscalation()))
}

func shownEscalation(id uint64) func(*fsm.View, *noun.Outcome) *vigilv1.Escalation {
	return func(st *fsm.View, _ *noun.Outcome) *vigilv1.Escalation {
		if x := st.Escalation(noun.EscalationID(id)); x != nil {
			return convertEscalation(st, x)
		}
		return &vigilv1.Escalation{Id: id, State: noun.EscalationClosed.String()} // and forgotten since
	}
}

func escalationID(id uint64, by string) (noun.EscalationID, error) {
	var c form.Checks
	if id == 0 {
		c.Fail("escalation is missing; give the number that `vigil escalation list` shows.")
	}
	c.Line("by", by, form.MaxWho)
	return noun.EscalationID(id), c.Err
}

func ackEscalationCmd(r *vigilv1.AckEscalationRequest) (fsm.Command, error) {
	id, err := escalationID(r.GetEscalation(), r.GetBy())
	return fsm.AckEscalation{Escalation: id, By: r.GetBy()}, err
}

func closeEscalationCmd(r *vigilv1.CloseEscalationRequest) (fsm.Command, error) {
	id, err := escalationID(r.GetEscalation(), r.GetBy())
	c := form.Checks{Err: err}
	c.Text("note", r.GetNote(), noun.MaxEscalationNote)
	return fsm.CloseEscalation{Escalation: id, By: r.GetBy(), Note: r.GetNote()}, c.Err
}

func convertEscalation(st *fsm.View, x *noun.Escalation) *vigilv1.Escalation {
	out := &vigilv1.Escalation{
		Id: uint64(x.ID), Kind: x.Kind.String(), Subject: x.Subject, Priority: x.Priority.String(),
		State:  x.State.String(),
		Reason: x.Reason(), Room: x.Room, Agent: x.Agent, Incarnation: form.IncName(x.Inc), Task: uint64(x.Task),
		Host:  x.Host,
		Facts: map[string]string{}, Done: x.Done(), Commands: x.Commands(), Count: x.Count,
		FirstAt: form.Wall(x.FirstWall), LastAt: form.Wall(x.LastWall), Age: durationpb.New(st.Clock().Sub(x.Last)),
		Lasts: st.Lasts(x), Reopened: x.Reopened, AckBy: x.AckBy, AckAt: form.Wall(x.AckAt),
		CloseBy: x.CloseBy, CloseAt: form.Wall(x.CloseAt), Note: x.Note,
		Notice: &vigilv1.Notice{Number: x.Notice.Number, Pending: x.Notice.Pending},
	}
	for _, kv := range x.Facts {
		out.Facts[kv.Key] = kv.Value
	}
	for _, d := range x.Notice.Deliveries {
		row := &vigilv1.Delivery{Notifier: d.Notifier, Tries: d.Tries, State: "waiting", At: form.Wall(d.Wall),
			Failure: d.Failure}
		switch {
		case d.Done:
			row.State = "delivered"
		case d.GaveUp:
			row.State = "given_up"
		case d.Next > st.Clock() && x.Notice.Pending:
			row.NextIn = durationpb.New(d.Next.Sub(st.Clock()))
		}
		out.Notice.Deliveries = append(out.Notice.Deliveries, row)
	}
	return out
}
