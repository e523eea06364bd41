package trust

import (
	"fmt"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// AddGossipKey begins to spread a new key of gossip, which only the leader has by now (planned). It
// takes the place of one that nobody uses yet.
type AddGossipKey struct {
	ID  string // see noun.RingKey
	Rev uint64 // of the ring that was looked at
}

// StepGossip goes on with the replacement of a key (planned): a new key that is spread is used from now
// on, and an old one that is used no more goes.
type StepGossip struct {
	Rev uint64 // of the ring that was looked at
}

// AckGossip says that a server has carried out a revision of the ring, with the hosts that it reaches.
type AckGossip struct {
	Server string
	Rev    uint64
}

// RotateGossip has the key of gossip replaced. While one is being replaced already, it is so once more:
// somebody may have got the new one who shall have none.
type RotateGossip struct {
	By string
}

// NeedsLevel tells that the command came with core.LevelRetry.
func (AddGossipKey) NeedsLevel() uint32 { return core.LevelRetry }
func (StepGossip) NeedsLevel() uint32   { return core.LevelRetry }
func (AckGossip) NeedsLevel() uint32    { return core.LevelRetry }
func (RotateGossip) NeedsLevel() uint32 { return core.LevelRetry }

// Apply answers with the number of the key.
func (c AddGossipKey) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if no := s.founded(); no.Code != noun.OK {
		return no
	}
	r := s.Ring()
	if err := noun.CheckRingKey(c.ID); err != nil {
		return core.Refuse(noun.Invalid, "%v", err)
	}
	if no := s.present(c.Rev); no.Code != noun.OK {
		return no
	}
	keys := make([]noun.RingKey, 0, noun.MaxRingKeys)
	switch r.Step() {
	case noun.RingSwitch:
		return core.Refuse(noun.Conflict, "key %d of gossip has not gone yet", r.Keys[0].Number)
	case noun.RingSpread:
		keys = append(keys, r.Keys[:len(r.Keys)-1]...)
	default:
		keys = append(keys, r.Keys...)
	}
	if r.Key(c.ID) != nil {
		return core.Refuse(noun.Conflict, "key %.8s is in the ring already", c.ID)
	}
	r.Number++
	why := r.Why
	if why == "" {
		why = "no server has the newest one"
		if r.Rev == 0 {
			why = "there was none"
		}
	}
	r.Why = ""
	s.turn(append(keys, noun.RingKey{Number: r.Number, ID: c.ID}))
	s.Event("gossip.key_added", core.About{}, fmt.Sprintf("key %d (%.8s): %s", r.Number, c.ID, why))
	return noun.Outcome{Rev: r.Number}
}

// Apply takes the step. Without the word of a majority no key is used and none goes, so a key that is
// used is never lost with a minority of the servers.
func (c StepGossip) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if no := s.present(c.Rev); no.Code != noun.OK {
		return no
	}
	r := s.Ring()
	step, newest := r.Step(), r.Newest()
	if step != noun.RingSpread && step != noun.RingSwitch {
		return core.Refuse(noun.Conflict, "no key of gossip is being replaced")
	}
	acks := 0
	for _, srv := range s.Servers() {
		if r.Acked(srv.ID) {
			acks++
		}
	}
	if 2*acks <= len(s.Servers()) {
		return core.Refuse(noun.Conflict, "%d of %d servers have carried out revision %d of the ring, more than half "+
			"must", acks, len(s.Servers()), r.Rev)
	}
	if step == noun.RingSwitch {
		old := r.Keys[0]
		s.turn([]noun.RingKey{*newest})
		s.Event("gossip.key_removed", core.About{}, fmt.Sprintf("key %d (%.8s)", old.Number, old.ID))
		return noun.Outcome{Rev: r.Rev}
	}
	keys := make([]noun.RingKey, len(r.Keys))
	for i, k := range r.Keys {
		k.Used = k.ID == newest.ID
		keys[i] = k
	}
	s.turn(keys)
	s.Event("gossip.key_used", core.About{}, fmt.Sprintf("key %d (%.8s)", newest.Number, newest.ID))
	return noun.Outcome{Rev: r.Rev}
}

// Apply notes it. It may be repeated.
func (c AckGossip) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if _, member := s.Member(c.Server); !member {
		return core.Refuse(noun.NotFound, "%s", noun.AbsentServer(c.Server))
	}
	if no := s.present(c.Rev); no.Code != noun.OK {
		return no
	}
	r := s.Ring()
	if r.Rev == 0 {
		return core.Refuse(noun.Conflict, "there is no key of gossip yet")
	}
	r.Acks = r.WithAck(c.Server)
	return noun.Outcome{Rev: r.Rev}
}

// Apply answers with the number of the newest key: the replacement is over when one above it is the
// only one.
func (c RotateGossip) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if no := s.founded(); no.Code != noun.OK {
		return no
	}
	if no := checkWords(nil, nil, c.By); no.Code != noun.OK {
		return no
	}
	r := s.Ring()
	r.Why = "asked for by " + core.Nobody(c.By)
	s.Event("gossip.rotation_asked", core.About{}, "by "+core.Nobody(c.By))
	return noun.Outcome{Rev: r.Number}
}

// present refuses what was planned or done about another revision of the ring than the present one.
func (s *State) present(rev uint64) (no noun.Outcome) {
	if r := s.Ring(); rev != r.Rev {
		return core.Refuse(noun.Conflict, "the ring of gossip is at revision %d, not at %d", r.Rev, rev)
	}
	return no
}

// turn begins a revision of the ring.
func (s *State) turn(keys []noun.RingKey) {
	r := s.Ring()
	r.Rev++
	r.Keys, r.Acks = keys, nil
}

// outdate has the key of gossip replaced, since a machine that may know it was shut out.
func (s *State) outdate(who noun.Identity, why string) {
	if who.Kind == noun.UserIdentity || s.Ring().Rev == 0 {
		return
	}
	s.Ring().Why = noun.Clip(who.String()+" "+why, noun.MaxReason)
}

// anew is a ring without keys that goes on from another one: what a backup calls the key of the cluster
// may be lost, or known to somebody who has been shut out since.
func anew(was noun.Ring) noun.Ring {
	if was.Rev == 0 {
		return was
	}
	return noun.Ring{Rev: was.Rev + core.RestoreLeap, Number: was.Number + core.RestoreLeap}
}

// checkRing tests what a single state can show of the ring.
func (v *View) checkRing(c *core.Checker) {
	r := v.Ring()
	c.That(v.ClusterUUID() != "" || r.Rev == 0, "a cluster without identities has a ring of gossip")
	c.That(len(r.Keys) <= noun.MaxRingKeys, "L11: the ring of gossip has %d keys", len(r.Keys))
	used, last := 0, uint64(0)
	for _, k := range r.Keys {
		c.That(noun.CheckRingKey(k.ID) == nil && k.Number > last && k.Number <= r.Number,
			"key %d of gossip is %q, behind number %d of %d", k.Number, k.ID, last, r.Number)
		if last = k.Number; k.Used {
			used++
		}
	}
	c.That(used <= 1 && (used == 1 || len(r.Keys) <= 1), "%d of %d keys of gossip are used", used, len(r.Keys))
	for _, a := range r.Acks {
		_, member := v.Member(a.Server)
		c.That(member && a.Rev == r.Rev, "server %s, a member: %v, has carried out revision %d of the ring, which is at %d",
			a.Server, member, a.Rev, r.Rev)
	}
}
