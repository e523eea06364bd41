package hosts

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
)

// keysFor gives a host the keys of gossip; nil: there is nothing (new) to send. Only the newest key makes
// an answer whole: before this server has it, the host keeps what it has. A host that was revoked or
// forgotten gets none, whichever stream it holds.
func (h *Service) keysFor(ctx context.Context, s *stream) *vigilv1.GossipKeys {
	caller := who.From(ctx)
	if h.Keys == nil || caller.Kind != who.Host {
		return nil
	}
	var ring noun.Ring
	entitled := false
	h.Reader.Read(func(st *fsm.View) {
		ring = *st.Ring()
		k, host := st.Credential(noun.HostIdentity, caller.Name), st.Host(s.host)
		entitled = k != nil && k.Gone == 0 && k.Generation <= caller.Generation && host != nil && host.Key == caller.Name
	})
	newest := ring.Newest()
	if newest == nil || s.keys.sent == ring.Rev || h.Keys.Secret(newest.ID) == nil {
		return nil
	}
	if s.keys.sent = ring.Rev; !entitled {
		s.keys.taken.Store(ring.Rev) // nobody waits for it
		return nil
	}
	return &vigilv1.GossipKeys{Revision: ring.Rev, Keys: h.Secrets(ring.Keys)}
}
