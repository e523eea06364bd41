package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/agentd"
	"vigil/cluster/gossip"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/rpc/gen/vigilv1"
)

// maxHostKeys bounds the keys that a host takes at once.
const maxHostKeys = 8

// hostGossip is the gossip of a host, whose keys the servers bring. They are kept beside its identity, so
// that it gossips at once when it is started again. It is only a hint, so an address that cannot be listened
// on, because this machine does not have it yet or somebody else has it for a moment, is tried again.
type hostGossip struct {
	open     func() (*gossip.Gossip, error)
	pause    time.Duration // between two attempts
	file     gossip.KeyFile
	registry prometheus.Registerer
	troubles *troubles

	taking sync.Mutex // of Take, which waits for the disk
	rev    uint64     // of the keys that came last

	mu     sync.Mutex
	member *gossip.Gossip // nil: it does not listen
	// The rest is what a member is told when it listens.
	keys        []gossip.Key
	cluster     string
	addrs, lost []string
	leaving     bool
}

var _ agentd.Gossip = (*hostGossip)(nil)

// joinGossip has the daemon gossip, if it is to. The caller calls leave when the daemon has ended. The error is about
// the configuration: no other attempt would do better.
func joinGossip(conf *conf.Agentd, daemon *agentd.Agentd, self *hostIdentity, t *troubles, log hclog.Logger,
	registry prometheus.Registerer) (leave func(), err error) {
	if conf.Gossip.Off() {
		log.Info("this host does not gossip: servers hear it by its order stream only; gossip.bind turns it on")
		return func() {}, nil
	}
	h := &hostGossip{pause: listenAgain, registry: registry, troubles: t, open: func() (*gossip.Gossip, error) {
		return conf.Gossip.Open(gossip.Host, daemon.Key(), daemon.Boot(), log)
	}}
	if self != nil {
		h.file = keysFile(self.dir)
		if h.keys, err = h.file.Read(); err != nil {
			log.Warn("this host begins without keys of gossip, and gets them from a server", "error", err)
		}
	}
	if err := h.listen(); err != nil && cli.ExitCode(err) == cli.ExitUsage {
		return nil, err
	}
	daemon.Gossip(h)
	return h.close, nil
}

// listen makes one attempt, which ends with a trouble or without.
func (h *hostGossip) listen() error {
	member, err := h.open()
	if err == nil {
		if err = h.registry.Register(member); err != nil {
			err = fmt.Errorf("register metrics: %w", err)
			member.Close()
		}
	}
	if err != nil {
		h.troubles.set("gossip", "this host does not gossip, and tries again: servers hear it by its order stream "+
			"only: "+err.Error())
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.member = member
	if len(h.keys) > 0 {
		if err := member.SetKeys(h.keys); err != nil { // a server brings better ones
			h.troubles.log.Warn("this host begins without keys of gossip, and gets them from a server", "error", err)
		}
	}
	if h.cluster != "" {
		member.Know(h.cluster, h.addrs, h.lost)
	}
	if h.leaving {
		member.Leave()
	}
	h.troubles.set("gossip", "")
	return nil
}

// is gives the member; nil: it does not listen.
func (h *hostGossip) is() *gossip.Gossip {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.member
}

// Run implements agentd.Gossip.
func (h *hostGossip) Run(ctx context.Context) error {
	for h.is() == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(h.pause):
			_ = h.listen() // it has told
		}
	}
	return h.is().Run(ctx)
}

// close stops listening, whether it was run or not.
func (h *hostGossip) close() {
	if m := h.is(); m != nil {
		m.Close()
	}
}

// Addr implements agentd.Gossip.
func (h *hostGossip) Addr() string {
	if m := h.is(); m != nil {
		return m.Addr()
	}
	return ""
}

// Know implements agentd.Gossip.
func (h *hostGossip) Know(cluster string, addrs, lost []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cluster, h.addrs, h.lost = cluster, addrs, lost
	if h.member != nil {
		h.member.Know(cluster, addrs, lost)
	}
}

// Leave implements agentd.Gossip.
func (h *hostGossip) Leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaving = true
	if h.member != nil {
		h.member.Leave()
	}
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
	h.taking.Lock()
	defer h.taking.Unlock()
	if came.GetRevision() < h.rev {
		return nil
	}
	if err := h.setKeys(keys); err != nil { // first: a disk that hangs holds up no key
		return err
	}
	h.rev = came.GetRevision()
	return h.file.Write(keys)
}

func (h *hostGossip) setKeys(keys []gossip.Key) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys = keys
	if h.member == nil {
		return nil
	}
	return h.member.SetKeys(keys)
}
