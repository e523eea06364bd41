package duty

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// keyring is the keys of one server.
type keyring struct {
	mu     sync.Mutex
	server byte // tells its keys from those of others
	made   []string
	lost   map[string]bool
	fail   error
}

func (k *keyring) Spare(number uint64) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		return "", k.fail
	}
	id := fmt.Sprintf("%c%0*x", k.server, noun.RingKeyDigits-1, number)
	if !slices.Contains(k.made, id) {
		k.made = append(k.made, id)
	}
	return id, nil
}

// lose has the server look for the newest key of the ring in vain.
func (k *keyring) lose(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost = map[string]bool{id: true}
}

func (k *keyring) Lost(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost[id]
}

// ringed is a replica with identities, of the servers a, b and c.
func ringed(t *testing.T) *replica {
	r := newReplica(t)
	r.w.must(fsm.RaiseLevel{Level: core.LevelRetry})
	r.w.must(fsm.FoundTrust{Cluster: "c", Roots: []fsm.Root{{Cert: []byte("root")}}, Server: "a"})
	return r
}

func (r *replica) ring() *noun.Ring {
	var ring noun.Ring
	r.Read(func(s *fsm.View) { ring = *s.Ring() })
	return &ring
}

// ack has servers carry out what the ring is, and gives the duty time to go on.
func (r *replica) ack(servers ...string) {
	for _, id := range servers {
		r.do(fsm.AckGossip{Server: id, Rev: r.ring().Rev})
	}
	time.Sleep(2 * gossipLook)
	synctest.Wait()
}

// settle demands where the ring is.
func (r *replica) settle(t *testing.T, want noun.Step, newest string) {
	t.Helper()
	if ring := r.ring(); ring.Step() != want || ring.Newest().ID[:1] != newest {
		t.Fatalf("the ring is at %s, want %s with a key of %s: %+v", ring.Step(), want, newest, ring)
	}
}

// The first key is made without a word; a replacement waits at each step for every server that can be
// reached, and goes on without those that cannot.
func TestGossipKeysAreReplacedStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, keys, away := ringed(t), &keyring{server: 'a'}, map[string]bool{}
		cfg := Config{Keys: keys, Unheard: func() map[string]bool { return away }}
		inStint(t, r, cfg, func(d *Duty) {
			r.ack()
			r.settle(t, noun.RingSpread, "a")
			r.ack("a", "b")
			r.settle(t, noun.RingSpread, "a") // c is there and has not said so
			r.ack("c")
			r.settle(t, noun.RingRest, "a")
			r.ack("a", "b", "c")
			if n := len(keys.made); n != 1 {
				t.Errorf("%d keys were made", n)
			}

			r.do(fsm.RotateGossip{By: "ann"})
			r.ack()
			r.settle(t, noun.RingSpread, "a")
			away["c"] = true
			r.ack("a", "b")
			r.settle(t, noun.RingSwitch, "a")
			r.do(fsm.RotateGossip{By: "ann"}) // once more, but first this one ends
			r.ack("a")
			r.settle(t, noun.RingSwitch, "a")
			r.ack("b")
			if ring := r.ring(); ring.Step() != noun.RingSpread || ring.Number != 3 {
				t.Errorf("%+v", ring)
			}
			r.ack("a", "b")
			r.ack("a", "b")
			r.settle(t, noun.RingRest, "a")
			f := d.Figures().Of("gossip")
			if f.Accepted("add") != 3 || f.Accepted("step") != 5 || f.Errors != 0 {
				t.Errorf("%+v", f)
			}
		})
	})
}

// Whoever leads goes on where another leader was, at each step, and a key that was lost with a leader is
// replaced by another one.
func TestGossipKeysAndChangesOfLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ringed(t)
		keys := map[string]*keyring{"a": {server: 'a'}, "b": {server: 'b'}}
		lead := func(server string, fn func()) {
			t.Helper()
			inStint(t, r, Config{Keys: keys[server]}, func(*Duty) {
				fn()
			})
		}
		all := []string{"a", "b", "c"}
		lead("a", func() { r.ack() })
		lead("b", func() { r.ack(all...) })
		r.settle(t, noun.RingRest, "a")
		r.do(fsm.RotateGossip{By: "ann"})
		lead("b", func() { r.ack() })
		r.settle(t, noun.RingSpread, "b")
		lead("a", func() { r.ack(all...) })
		r.settle(t, noun.RingSwitch, "b")
		lead("b", func() { r.ack(all...) })
		r.settle(t, noun.RingRest, "b")

		r.do(fsm.RotateGossip{By: "ann"})
		lead("a", func() { r.ack() })
		r.settle(t, noun.RingSpread, "a") // and a is lost before anybody has its key
		keys["b"].lose(r.ring().Newest().ID)
		lead("b", func() {
			r.ack()
			r.settle(t, noun.RingSpread, "b")
			r.ack(all...)
			r.ack(all...)
			r.settle(t, noun.RingRest, "b")
			keys["b"].lose(r.ring().Newest().ID) // of all servers
			r.ack()
			r.settle(t, noun.RingSpread, "b")
		})
		if r.ring().Number != 5 || len(r.ring().Keys) != 2 {
			t.Errorf("%+v", r.ring())
		}
	})
}

// A key that cannot be written to the disk is not spread, and clusters without identities have none.
func TestGossipKeysThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, keys := ringed(t), &keyring{server: 'a', fail: errors.New("disk is full")}
		inStint(t, r, Config{Keys: keys}, func(d *Duty) {
			time.Sleep(time.Minute)
			if f := d.Figures().Of("gossip"); f.Errors == 0 || r.ring().Rev != 0 {
				t.Errorf("%+v, ring %+v", f, r.ring())
			}
		})
		plain := newReplica(t)
		inStint(t, plain, Config{Keys: &keyring{server: 'a'}}, func(d *Duty) {
			time.Sleep(time.Minute)
			if f := d.Figures().Of("gossip"); f.Looks != 0 || plain.ring().Rev != 0 {
				t.Errorf("%+v, ring %+v", f, plain.ring())
			}
		})
	})
}
