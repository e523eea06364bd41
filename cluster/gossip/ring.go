package gossip

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/memberlist"
)

// KeySize is that of keys that are made here, in bytes.
const KeySize = 32

// Key is one key of a ring. It is a secret: nothing here writes it anywhere but into a file of keys.
type Key struct {
	Number uint64 // as the cluster counts them, from 1
	Secret []byte // KeySize bytes
	Used   bool   // members encrypt with it; else they only take what is
}

// NewKey makes a key that nobody has.
func NewKey(number uint64) Key {
	k := Key{Number: number, Secret: make([]byte, KeySize)}
	_, _ = rand.Read(k.Secret) // it never fails
	return k
}

// ID names a key without telling it: the first 16 bytes of its SHA-256, in hexadecimal.
func (k Key) ID() string {
	sum := sha256.Sum256(k.Secret)
	return hex.EncodeToString(sum[:16])
}

// String keeps the key out of whatever prints it.
func (k Key) String() string { return fmt.Sprintf("key %d (%.8s)", k.Number, k.ID()) }

// GoString does the same for %#v.
func (k Key) GoString() string { return k.String() }

// SetKeys gives the keys that this member takes, of which one is used, from now on; only for one that was
// opened with Keyed. Keys of which none is used change nothing: they are of a ring that is only beginning.
func (g *Gossip) SetKeys(keys []Key) error {
	if !g.cfg.Keyed {
		return errors.New("set gossip keys: this member has a key from a file, or none")
	}
	at := slices.IndexFunc(keys, func(k Key) bool { return k.Used })
	if at < 0 {
		return nil
	}
	for _, k := range keys {
		if len(k.Secret) != KeySize {
			return fmt.Errorf("set gossip keys: key %d has %d bytes, not %d", k.Number, len(k.Secret), KeySize)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := turn(g.ring, keys, keys[at].Secret); err != nil {
		return fmt.Errorf("set gossip keys: %w", err)
	}
	select {
	case g.wake <- struct{}{}: // the first keys
	default:
	}
	return nil
}

// turn has a ring hold these keys. It never takes one out of the middle of three: the library would write
// to the list that others read meanwhile.
func turn(ring *memberlist.Keyring, keys []Key, used []byte) error {
	holds := func(secret []byte) bool {
		return slices.ContainsFunc(keys, func(k Key) bool { return bytes.Equal(k.Secret, secret) })
	}
	was := ring.GetPrimaryKey()
	for _, old := range slices.Backward(ring.GetKeys()) {
		if !holds(old) && !bytes.Equal(old, was) {
			if err := ring.RemoveKey(old); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(ring.AddKey(used), ring.UseKey(used)); err != nil {
		return err
	}
	if was != nil && !holds(was) {
		if err := ring.RemoveKey(was); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := ring.AddKey(k.Secret); err != nil {
			return err
		}
	}
	return nil
}

// keyed tells whether this member may speak: one whose keys come by themselves has none at first.
func (g *Gossip) keyed() bool { return !g.cfg.Keyed || len(g.ring.GetKeys()) > 0 }
