package rpc

import (
	"context"
	"slices"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// GetGossip shows the ring, without the keys.
func (t *trustService) GetGossip(context.Context, *vigilv1.GetGossipRequest) (*vigilv1.GossipRing, error) {
	if err := t.ready(); err != nil {
		return nil, err
	}
	return read(t.core, func(st *fsm.View) *vigilv1.GossipRing {
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
func (t *trustService) RotateGossip(
	ctx context.Context, r *vigilv1.RotateGossipRequest,
) (*vigilv1.RotateGossipResponse, error) {
	return change(ctx, t, r, fsm.RotateGossip{By: byWhom(ctx)}, nil,
		func(_ *fsm.View, out *noun.Outcome) *vigilv1.RotateGossipResponse {
			return &vigilv1.RotateGossipResponse{Number: out.Number()}
		})
}

// ReportGossip notes that a server has carried out a revision of the ring.
func (t *trustService) ReportGossip(
	ctx context.Context, r *vigilv1.ReportGossipRequest,
) (*vigilv1.ReportGossipResponse, error) {
	return idempotent(ctx, t.core, r, func(r *vigilv1.ReportGossipRequest) (fsm.Command, error) {
		var c checks
		c.present("server", r.GetServer(), "send the id of the server")
		return fsm.AckGossip{Server: r.GetServer(), Rev: r.GetRevision()}, c.err
	}, func(*noun.Outcome) *vigilv1.ReportGossipResponse { return &vigilv1.ReportGossipResponse{} })
}

// GetGossipKeys gives another server the keys that it lacks. Only keys of the ring go out, and only to a
// member as this replica knows it. One that is behind cannot give a removed server the key that was made
// because of its removal: that stands later in the log.
func (t *trustService) GetGossipKeys(
	ctx context.Context, r *vigilv1.GetGossipKeysRequest,
) (*vigilv1.GetGossipKeysResponse, error) {
	var c checks
	if c.atMost("keys", len(r.GetKeys()), noun.MaxRingKeys); c.err != nil {
		return nil, c.err
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	caller := who.From(ctx)
	var keys []noun.RingKey
	member := false
	t.reader.Read(func(st *fsm.View) {
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
	return &vigilv1.GetGossipKeysResponse{Keys: t.secrets(keys)}, nil
}
