package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/due"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// ListDeadlines tells what is due of an agent or a room.
func (f *fleet) ListDeadlines(_ context.Context,
	r *vigilv1.ListDeadlinesRequest) (*vigilv1.ListDeadlinesResponse, error) {
	var c form.Checks
	switch {
	case r.GetRoom() == "":
		c.Agent("agent", r.GetAgent(), false)
	case r.GetAgent() != "":
		c.Fail("agent and room are both given: name one of them.")
	default:
		c.Name("room", r.GetRoom())
	}
	if c.Err != nil {
		return nil, c.Err
	}
	var err error
	resp := base.Read(f.Core, func(st *fsm.View) *vigilv1.ListDeadlinesResponse {
		if r.GetRoom() != "" {
			rm := st.Room(r.GetRoom())
			if rm == nil {
				err = base.NoRoom(st, r.GetRoom())
				return nil
			}
			return convertDeadlines(st)(st.RoomDeadlines(rm.ID))
		}
		a := st.AgentByName(r.GetAgent())
		if a == nil {
			err = base.NoAgent(st, r.GetAgent())
			return nil
		}
		return convertDeadlines(st)(st.AgentDeadlines(a.ID))
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func convertDeadlines(st *fsm.View) func([]due.Row, int) *vigilv1.ListDeadlinesResponse {
	return func(rows []due.Row, more int) *vigilv1.ListDeadlinesResponse {
		out := &vigilv1.ListDeadlinesResponse{More: uint32(more)}
		for i := range rows {
			out.Deadlines = append(out.Deadlines, convertDeadline(st, st.Clock(), &rows[i]))
		}
		return out
	}
}

func convertDeadline(st *fsm.View, now noun.Time, r *due.Row) *vigilv1.Deadline {
	out := &vigilv1.Deadline{Kind: r.Kind.Name, Of: st.NameOf(r.Of), Left: durationpb.New(r.At().Sub(now)),
		Span: form.Lasting(r.Span), Absent: form.Lasting(r.Absent), Then: r.Kind.Then}
	if since := r.Since(now); since <= now {
		out.Since = durationpb.New(now.Sub(since))
	}
	if h := r.Held(now); h.Why != "" {
		out.HeldBy, out.HeldFor = h.Why, durationpb.New(h.Until.Sub(now))
	}
	return out
}
