package base

import (
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// GossipKeys are the keys of gossip that this server has. They are in no state, and leave this server to
// servers and hosts of the cluster only. Safe for concurrent use.
type GossipKeys interface {
	// Secret gives the key of an id; nil: this server does not have it (yet).
	Secret(id string) []byte
}

// Secrets joins keys of the ring with what this server has of them.
func (c *Core) Secrets(ring []noun.RingKey) (out []*vigilv1.GossipKey) {
	if c.Keys == nil {
		return nil
	}
	for _, k := range ring {
		if secret := c.Keys.Secret(k.ID); secret != nil {
			out = append(out, &vigilv1.GossipKey{Number: k.Number, Secret: secret, Used: k.Used})
		}
	}
	return out
}
