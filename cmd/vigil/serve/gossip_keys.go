package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/cluster/gossip"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Rhythm in which a server follows the ring of gossip.
const (
	ringLook  = 500 * time.Millisecond
	ringLimit = 2 * time.Second // for one question to another server
	// ringTold is how long the hosts that hold a stream to this server may take for a revision.
	ringTold = 10 * time.Second
	// ringLost is how long a key is looked for in vain before nobody will bring it any more.
	ringLost = 15 * time.Second
)

// keysFile is where the owner of a trust folder keeps its keys of gossip.
func keysFile(dir trust.Dir) gossip.KeyFile {
	return gossip.KeyFile(filepath.Join(string(dir), "gossip.keys"))
}

// gossipKeys are the keys of gossip that a server with an identity has: it makes them while it leads,
// fetches the others from other servers, and hands them to those and to hosts. Only the file and the
// memory of members hold them. Its methods may be called by any goroutine, follow by one.
type gossipKeys struct {
	file gossip.KeyFile

	mu   sync.Mutex
	keys []gossip.Key         // as in the file
	vain map[string]time.Time // ids of keys that no server has: since when they are looked for

	rev   uint64 // of the ring that is followed
	since time.Time
}

// openGossipKeys reads the keys. Without them a server works as well, until others give them to it.
func openGossipKeys(dir trust.Dir, log hclog.Logger) *gossipKeys {
	k := &gossipKeys{file: keysFile(dir), vain: map[string]time.Time{}}
	var err error
	if k.keys, err = k.file.Read(); err != nil {
		log.Warn("this server begins without keys of gossip", "error", err)
	}
	return k
}

// Secret implements base.GossipKeys.
func (k *gossipKeys) Secret(id string) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.keys {
		if key.ID() == id {
			return key.Secret
		}
	}
	return nil
}

// Spare implements duty.Keys. A key of that number is one that this server made for a ring which did not
// come to be: the number of the ring would be as high.
func (k *gossipKeys) Spare(number uint64) (id string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.keys {
		if key.Number == number {
			return key.ID(), nil
		}
	}
	key := gossip.NewKey(number)
	if err := k.put(append(slices.Clone(k.keys), key)); err != nil {
		return "", err
	}
	return key.ID(), nil
}

// Lost implements duty.Keys.
func (k *gossipKeys) Lost(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	since, vain := k.vain[id]
	return vain && time.Since(since) >= ringLost
}

// put writes keys before it takes them. The caller holds mu.
func (k *gossipKeys) put(keys []gossip.Key) error {
	if err := k.file.Write(keys); err != nil {
		return err
	}
	k.keys = keys
	return nil
}

// lacks gives the ids of keys of the ring that this server does not have.
func (k *gossipKeys) lacks(ring *noun.Ring) (ids []string) {
	for _, r := range ring.Keys {
		if k.Secret(r.ID) == nil {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// settle takes over keys that came, drops those that are not in the ring any more, and gives those that
// are. A key above the number of the ring stays: it may be in the next one.
func (k *gossipKeys) settle(ring *noun.Ring, came []gossip.Key) (members []gossip.Key, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var next []gossip.Key
	for _, key := range append(slices.Clone(k.keys), came...) {
		switch r := ring.Key(key.ID()); {
		case slices.ContainsFunc(next, func(n gossip.Key) bool { return n.ID() == key.ID() }):
		case r != nil:
			key.Number, key.Used = r.Number, r.Used
			next, members = append(next, key), append(members, key)
			delete(k.vain, r.ID)
		case key.Number > ring.Number:
			next = append(next, key)
		}
	}
	for id := range k.vain {
		if ring.Key(id) == nil {
			delete(k.vain, id)
		}
	}
	same := func(a, b gossip.Key) bool { return a.ID() == b.ID() && a.Number == b.Number && a.Used == b.Used }
	if slices.EqualFunc(next, k.keys, same) {
		return members, nil
	}
	return members, k.put(next)
}

// keepGossipKeys follows the ring until ctx ends. What fails is tried again.
func (s *server) keepGossipKeys(ctx context.Context) error {
	tick := time.NewTicker(ringLook)
	defer tick.Stop()
	said := ""
	for {
		err := s.keys.follow(ctx, s)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && err.Error() != said:
			said = err.Error()
			s.log.Warn("this server does not have all keys of gossip, trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follow has this server, and the hosts that hold a stream to it, carry out what the ring is, and says so.
func (k *gossipKeys) follow(ctx context.Context, s *server) error {
	var ring noun.Ring
	member := false
	s.replica.Read(func(v *fsm.View) {
		ring = *v.Ring()
		_, member = v.Member(s.conf.ID)
	})
	if ring.Rev == 0 {
		return nil
	}
	if ring.Rev != k.rev {
		k.rev, k.since = ring.Rev, time.Now()
	}
	var came []gossip.Key
	var missed error
	if lacks := k.lacks(&ring); len(lacks) > 0 {
		came, missed = k.fetch(ctx, s, lacks)
	}
	members, err := k.settle(&ring, came)
	if err != nil {
		return err
	}
	if s.gossip != nil {
		if err := s.gossip.SetKeys(members); err != nil {
			return err
		}
	}
	newest := ring.Newest()
	if newest == nil || k.Secret(newest.ID) == nil || !member || ring.Acked(s.conf.ID) || s.replica.Leader().ID == "" {
		return missed
	}
	if !s.api.GossipTaken(ring.Rev) && time.Since(k.since) < ringTold {
		return missed
	}
	ctx, cancel := context.WithTimeout(ctx, ringLimit)
	defer cancel()
	if _, err := vigilv1.NewTrustClient(s.client).ReportGossip(ctx,
		&vigilv1.ReportGossipRequest{Server: s.conf.ID, Revision: ring.Rev}); err != nil {
		s.log.Debug("the ring of gossip has gone on, or nobody was told", "error", err) // it is told again
	}
	return missed
}

// fetch asks the other servers, one after the other, for keys.
func (k *gossipKeys) fetch(ctx context.Context, s *server, ids []string) (came []gossip.Key, err error) {
	var why []error
	for _, addr := range s.addrs() {
		keys, err := s.askForKeys(ctx, addr, ids)
		if err != nil {
			why = append(why, fmt.Errorf("%s: %w", addr, err))
			continue
		}
		for _, key := range keys {
			// It is the key that the state names, whoever gave it.
			if got := (gossip.Key{Number: key.GetNumber(), Secret: key.GetSecret()}); slices.Contains(ids, got.ID()) &&
				len(got.Secret) == gossip.KeySize {
				came = append(came, got)
				ids = slices.DeleteFunc(ids, func(id string) bool { return id == got.ID() })
			}
		}
		if len(ids) == 0 {
			return came, nil
		}
	}
	if ctx.Err() != nil {
		return came, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		if _, vain := k.vain[id]; !vain {
			k.vain[id] = time.Now()
		}
	}
	err = fmt.Errorf("get key %.8s: no server that answers has it; without it another one is made", ids[0])
	if len(why) > 0 {
		err = fmt.Errorf("%w: %w", err, errors.Join(why...))
	}
	return came, err
}

// askForKeys asks one server.
func (s *server) askForKeys(ctx context.Context, addr string, ids []string) ([]*vigilv1.GossipKey, error) {
	conn, err := client.Open(client.Config{Addrs: []string{addr}, Name: "server " + s.conf.ID,
		TLS: s.identity.holder.Client(nil)})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, ringLimit)
	defer cancel()
	answer, err := vigilv1.NewTrustClient(conn).GetGossipKeys(ctx, &vigilv1.GetGossipKeysRequest{Keys: ids})
	return answer.GetKeys(), err
}
