package duty

import (
	"context"
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// gossipLook is how often the ring of gossip is looked at: each step of it waits for servers that look
// as often.
const gossipLook = time.Second

// Keys are the keys of gossip that this server has; they are in no state. Safe for concurrent use.
type Keys interface {
	// Spare gives the id of a key of that number which this server has on its disk and nobody else has;
	// it makes one if it has none. A key that was ever spread is none.
	Spare(number uint64) (id string, err error)
	// Lost tells that this server has looked for a key of the ring in vain, at every server, for so long
	// that nobody will bring it any more.
	Lost(id string) bool
}

// spare is a new key for the revision of the ring at which it is needed.
type spare struct {
	id  string // empty: none is needed
	rev uint64
}

// gossipRow is the duty that replaces keys of gossip. It remembers nothing: what was done stands in the
// ring, and whatever another leader has begun this one goes on with.
func (d *Duty) gossipRow() *row {
	var next spare
	unheard := func() map[string]bool { return nil }
	if d.cfg.Unheard != nil {
		unheard = d.cfg.Unheard
	}
	var away map[string]bool
	return &row{
		name: "gossip", says: "makes keys of gossip, and replaces them step by step", orders: []string{"add", "step"},
		every: func(*noun.Settings) pace { return pace{first: gossipLook, every: gossipLook} },
		ready: func(context.Context) (there bool, err error) {
			next, there, err = d.spareKey()
			away = unheard()
			return there, err
		},
		plan: func(s *fsm.View, _ look) plan { return planGossip(s, next, away) },
	}
}

// spareKey makes a key if the ring needs one, and tells whether there is anything to plan.
func (d *Duty) spareKey() (next spare, there bool, err error) {
	var ring noun.Ring
	d.cfg.Replica.Read(func(s *fsm.View) {
		there = s.ClusterUUID() != ""
		ring = *s.Ring()
	})
	if !there || !needsKey(&ring, d.cfg.Keys) {
		return spare{}, there && ring.Step() != noun.RingRest, nil
	}
	id, err := d.cfg.Keys.Spare(ring.Number + 1)
	if err != nil {
		return spare{}, false, fmt.Errorf("make a key of gossip: %w", err)
	}
	return spare{id, ring.Rev}, true, nil
}

// needsKey tells whether the ring needs a new key: there is none, the newest one is to be replaced, or
// nobody has it.
func needsKey(r *noun.Ring, keys Keys) bool {
	switch newest := r.Newest(); r.Step() {
	case noun.RingEmpty:
		return true
	case noun.RingRest:
		return r.Why != "" || keys.Lost(newest.ID)
	case noun.RingSpread:
		return keys.Lost(newest.ID)
	}
	return false // first the old key goes
}

// planGossip adds the new key, or takes the next step once every server that can be reached has carried
// out the one before. A server that is away gets the keys when it is back.
func planGossip(s *fsm.View, next spare, away map[string]bool) (p plan) {
	r := s.Ring()
	p.visited = 1
	switch step := r.Step(); {
	case next.id != "" && next.rev == r.Rev:
		p.orders = []Order{{Command: fsm.AddGossipKey{ID: next.id, Rev: r.Rev}}}
		return p
	case step != noun.RingSpread && step != noun.RingSwitch:
		return p
	}
	for _, srv := range s.Servers() {
		if !away[srv.ID] && !r.Acked(srv.ID) {
			return p
		}
	}
	p.orders = []Order{{Command: fsm.StepGossip{Rev: r.Rev}}}
	return p
}
