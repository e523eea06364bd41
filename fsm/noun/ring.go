package noun

import (
	"fmt"
	"slices"
	"strings"
)

// Ring says which keys encrypt gossip. The keys are in no state, snapshot or backup: servers keep them
// in files and hand them to each other and to their hosts.
//
// Keys are replaced in three steps, each a revision that a majority of the servers has carried out, with
// the hosts that they reach, before the next one: the new key is spread beside the old one, it is used
// by all, and the old one goes.
type Ring struct {
	// Rev numbers what the ring has been, from 1. 0: there was no key yet.
	Rev uint64
	// Number is that of the newest key; they are numbered from 1, and no number is used twice.
	Number uint64
	// Keys are those that members take, at most MaxRingKeys, the newest last. Replaced, never changed.
	Keys []RingKey
	// Why says for what reason the newest key is to be replaced; empty: it is not.
	Why string
	// Acks are by id of the server. Replaced, never changed.
	Acks []RingAck
}

// RingKey is one key of a ring.
type RingKey struct {
	Number uint64
	ID     string // the first bytes of its SHA-256, in hexadecimal
	Used   bool   // members encrypt with it; else they only take what is
}

// RingAck tells which revision a server has carried out, with the hosts that it reaches.
type RingAck struct {
	Server string
	Rev    uint64
}

// Limits of a ring.
const (
	MaxRingKeys   = 2
	RingKeyDigits = 32 // of the id of a key
)

// CheckRingKey tells what is wrong with the id of a key.
func CheckRingKey(id string) error {
	if len(id) != RingKeyDigits || strings.Trim(id, "0123456789abcdef") != "" {
		return fmt.Errorf("the id of a key has %d hexadecimal digits, not %d characters", RingKeyDigits, len(id))
	}
	return nil
}

// Step is what a ring waits for. The words are shown to people.
type Step string

// Steps of a ring.
const (
	RingEmpty  Step = "empty"  // there is no key yet
	RingSpread Step = "spread" // the newest key comes to every member
	RingSwitch Step = "switch" // members begin to use it
	RingRest   Step = "rest"   // there is one key, and all use it
)

// Step tells where the replacement of keys stands.
func (r *Ring) Step() Step {
	switch newest := r.Newest(); {
	case newest == nil:
		return RingEmpty
	case !newest.Used:
		return RingSpread
	case len(r.Keys) > 1:
		return RingSwitch
	}
	return RingRest
}

// Newest is the newest key; nil: there is none.
func (r *Ring) Newest() *RingKey {
	if len(r.Keys) == 0 {
		return nil
	}
	return &r.Keys[len(r.Keys)-1]
}

// Key finds a key by its id; nil: members take it no more, or not yet.
func (r *Ring) Key(id string) *RingKey {
	at := slices.IndexFunc(r.Keys, func(k RingKey) bool { return k.ID == id })
	if at < 0 {
		return nil
	}
	return &r.Keys[at]
}

// Acked tells whether a server has carried out what the ring is now.
func (r *Ring) Acked(server string) bool {
	at, found := slices.BinarySearchFunc(r.Acks, server, byServer)
	return found && r.Acks[at].Rev == r.Rev
}

func byServer(a RingAck, server string) int { return strings.Compare(a.Server, server) }

// WithAck gives the acknowledgements with that of a server.
func (r *Ring) WithAck(server string) []RingAck {
	at, found := slices.BinarySearchFunc(r.Acks, server, byServer)
	acks := slices.Clone(r.Acks)
	if !found {
		acks = slices.Insert(acks, at, RingAck{Server: server})
	}
	acks[at].Rev = r.Rev
	return acks
}

// WithoutAck gives the acknowledgements without that of a server.
func (r *Ring) WithoutAck(server string) []RingAck {
	return slices.DeleteFunc(slices.Clone(r.Acks), func(a RingAck) bool { return a.Server == server })
}
