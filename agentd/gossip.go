package agentd

import (
	"context"

	"vigil/rpc/gen/vigilv1"
)

// Gossip is this host's membership among servers and hosts that probe each other, a
// second sign of life beside the order stream. It is only a hint to the servers:
// without it, or with nobody in reach, this daemon works as well.
type Gossip interface {
	// Addr is where others reach it.
	Addr() string
	// Know says which cluster it belongs to and where other members are.
	Know(cluster string, addrs, lost []string)
	// Take takes keys that a server has sent. It may write them to the disk, and is never called with a
	// lock held or where anything waits for it.
	Take(keys *vigilv1.GossipKeys) error
	// Leave has Run say good-bye at its end.
	Leave()
	// Run gossips until ctx ends.
	Run(ctx context.Context) error
}
