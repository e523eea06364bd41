package serve

import (
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd"
	"vigil/cluster/gossip"
	"vigil/rpc/gen/vigilv1"
)

// maxHostKeys bounds the keys that a host takes at once.
const maxHostKeys = 8

// hostGossip is the gossip of a host, whose keys the servers bring. They are kept beside its identity, so
// that it gossips at once when it is started again.
type hostGossip struct {
	*gossip.Gossip
	file gossip.KeyFile

	mu  sync.Mutex
	rev uint64 // of the keys that came last
}

var _ agentd.Gossip = (*hostGossip)(nil)

// openHostGossip begins with the keys that the host had; self is nil where it has no identity.
func openHostGossip(member *gossip.Gossip, self *hostIdentity, log hclog.Logger) *hostGossip {
	h := &hostGossip{Gossip: member}
	if self == nil {
		return h
	}
	h.file = keysFile(self.dir)
	keys, err := h.file.Read()
	if err == nil {
		err = member.SetKeys(keys)
	}
	if err != nil {
		log.Warn("this host begins without keys of gossip, and gets them from a server", "error", err)
	}
	return h
}

// Take implements agentd.Gossip. A server that is behind brings older keys than this host has: they
// change nothing.
func (h *hostGossip) Take(came *vigilv1.GossipKeys) error {
	if n := len(came.GetKeys()); h.file == "" || n == 0 || n > maxHostKeys {
		return fmt.Errorf("a server has sent %d keys of gossip to a host that takes 1 to %d, and none without an identity",
			n, maxHostKeys)
	}
	keys := make([]gossip.Key, len(came.GetKeys()))
	for i, k := range came.GetKeys() {
		keys[i] = gossip.Key{Number: k.GetNumber(), Secret: k.GetSecret(), Used: k.GetUsed()}
		if len(keys[i].Secret) != gossip.KeySize {
			return fmt.Errorf("key %d of gossip has %d bytes, not %d", k.GetNumber(), len(keys[i].Secret), gossip.KeySize)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if came.GetRevision() < h.rev {
		return nil
	}
	if err := h.SetKeys(keys); err != nil { // first: a disk that hangs holds up no key
		return err
	}
	h.rev = came.GetRevision()
	return h.file.Write(keys)
}
