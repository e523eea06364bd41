package vouch

import (
	"context"
	"slices"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// GetGossip shows the ring, without the keys.
func (t *Service) GetGossip(context.Context, *vigilv1.GetGossipRequest) (*vigilv1.GossipRing, error) {
	if err := t.ready(); err != nil {
		return nil, err
	}
	return base.Read(t.Core, func(st *fsm.View) *vigilv1.GossipRing {
		r := st.Ring()
		out := &vigilv1.GossipRing{Revision: r.Rev, Step: string(r.Step()), Why: r.Why}
		for _, k := range r.Keys {
			out.Keys = append(out.Keys, &vigilv1.GossipRingKey{Number: k.Number, Key: k.ID, Used: k.Used})
		}
		for _, srv := range st.Servers() {
			out.Servers = append(out.Servers, &vigilv1.GossipServer{Server: srv.ID, Done: r.Rev > 0 && r.Acked(srv.ID)})
		}
		return out
	}), nil
}

// RotateGossip has the key replaced.
func (t *Service) RotateGossip(
	ctx context.Context, r *vigilv1.RotateGossipRequest,
) (*vigilv1.RotateGossipResponse, error) {
	return change(ctx, t, r, fsm.RotateGossip{By: byWhom(ctx)}, nil,
		func(_ *fsm.View, out *noun.Outcome) *vigilv1.RotateGossipResponse {
			return &vigilv1.RotateGossipResponse{Number: out.Number()}
		})
}

// ReportGossip notes that a server has carried out a revision of the ring.
func (t *Service) ReportGossip(
	ctx context.Context, r *vigilv1.ReportGossipRequest,
) (*vigilv1.ReportGossipResponse, error) {
	return base.Idempotent(ctx, t.Core, r, func(r *vigilv1.ReportGossipRequest) (fsm.Command, error) {
		var c form.Checks
		c.Present("server", r.GetServer(), "send the id of the server")
		return fsm.AckGossip{Server: r.GetServer(), Rev: r.GetRevision()}, c.Err
	}, func(*noun.Outcome) *vigilv1.ReportGossipResponse { return &vigilv1.ReportGossipResponse{} })
}

// GetGossipKeys gives another server the keys that it lacks. Only keys of the ring go out, and only to a
// member as this replica knows it. One that is behind cannot give a removed server the key that was made
// because of its removal: that stands later in the log.
func (t *Service) GetGossipKeys(
	ctx context.Context, r *vigilv1.GetGossipKeysRequest,
) (*vigilv1.GetGossipKeysResponse, error) {
	var c form.Checks
	if c.AtMost("keys", len(r.GetKeys()), noun.MaxRingKeys); c.Err != nil {
		return nil, c.Err
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	caller := who.From(ctx)
	var keys []noun.RingKey
	member := false
	t.Reader.Read(func(st *fsm.View) {
		_, member = st.Member(caller.Name)
		for _, k := range st.Ring().Keys {
			if slices.Contains(r.GetKeys(), k.ID) {
				keys = append(keys, k)
			}
		}
	})
	if caller.Kind != who.Server || !member {
		return nil, fault.New(code.Denied, "%s gets no keys of gossip: it is no server of this cluster (yet).", caller)
	}
	return &vigilv1.GetGossipKeysResponse{Keys: t.Secrets(keys)}, nil
}
