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
	// Leave has Run say good-bye at its end.
	Leave()
	// Run gossips until ctx ends.
	Run(ctx context.Context) error
}

// Boot is the host's boot id.
func (a *Agentd) Boot() string { return a.boot }

// Gossip has Run show this host in gossip too, and tell the cluster where. Call it
// before Run, if at all.
func (a *Agentd) Gossip(g Gossip) { a.gossip = g }

// gossipUntil gossips until ctx ends. It begins when the cluster has taken the host:
// only then it knows the others.
func (a *Agentd) gossipUntil(ctx context.Context) {
	if a.gossip == nil {
		return
	}
	if err := a.gossip.Run(ctx); err != nil {
		a.config.Logger.Error("this host does not gossip: the servers hear it by its order stream only", "error", err)
	}
}

// gossipAddr is where others reach this host's gossip; empty: nowhere.
func (r *registration) gossipAddr() string {
	if r.gossip == nil {
		return ""
	}
	return r.gossip.Addr()
}

// introduce tells gossip what the cluster said of itself.
func (r *registration) introduce(answer *vigilv1.RegisterResponse) {
	if r.gossip != nil {
		r.gossip.Know(answer.GetClusterId(), answer.GetGossipAddrs(), nil)
	}
}
