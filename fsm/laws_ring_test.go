package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

func keyID(n int) string { return fmt.Sprintf("%0*x", noun.RingKeyDigits, n) }

// ringed is a cluster with identities of three servers and a key of gossip that is at rest.
func ringed(t *testing.T) *drive {
	t.Helper()
	d := trusting(t)
	d.must(PutServer{ID: "s2"})
	d.must(PutServer{ID: "s3"})
	d.must(AddGossipKey{ID: keyID(1)})
	d.carriedOut("s1", "s2")
	d.rings(noun.RingRest)
	return d
}

// carriedOut has servers acknowledge what the ring is, and goes on.
func (d *drive) carriedOut(servers ...string) {
	d.t.Helper()
	rev := d.s.Ring().Rev
	for _, id := range servers {
		d.must(AckGossip{Server: id, Rev: rev})
	}
	d.must(StepGossip{Rev: rev})
}

// rings demands where the replacement of keys stands.
func (d *drive) rings(want noun.Step) {
	d.t.Helper()
	if got := d.s.Ring().Step(); got != want {
		d.t.Fatalf("the ring is at %s, want %s: %+v", got, want, d.s.Ring())
	}
	if err := d.s.Check(); err != nil {
		d.t.Fatal(err)
	}
}

// L8: no key is used, and none goes, before a majority has carried out the step before; whatever was
// planned about an earlier revision changes nothing, so that leaders may change at any index.
func TestRingStepsNeedAMajority(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	d.want(noun.Conflict, AddGossipKey{ID: keyID(1)})
	d.want(noun.Conflict, RotateGossip{By: "ann"})
	d = trusting(t)
	d.must(PutServer{ID: "s2"})
	d.must(PutServer{ID: "s3"})
	d.rings(noun.RingEmpty)
	d.want(noun.Conflict, StepGossip{})
	d.want(noun.Conflict, AckGossip{Server: "s1"})
	for _, bad := range []string{"", "x", keyID(1)[1:], strings.ToUpper(keyID(0xabc)), keyID(1) + "0"} {
		d.want(noun.Invalid, AddGossipKey{ID: bad})
	}
	d.must(AddGossipKey{ID: keyID(1)})
	d.want(noun.Conflict, AddGossipKey{ID: keyID(2)}) // of a leader that is behind
	d.rings(noun.RingSpread)
	d.want(noun.Conflict, StepGossip{Rev: 1})
	d.must(AckGossip{Server: "s1", Rev: 1})
	d.must(AckGossip{Server: "s1", Rev: 1}) // the answer was lost
	d.want(noun.Conflict, StepGossip{Rev: 1})
	d.want(noun.NotFound, AckGossip{Server: "s9", Rev: 1})
	d.want(noun.Conflict, AckGossip{Server: "s2", Rev: 2})
	d.carriedOut("s2")
	d.rings(noun.RingRest)
	d.want(noun.Conflict, StepGossip{Rev: 1})
	d.want(noun.Conflict, StepGossip{Rev: 2})
	d.want(noun.Conflict, AckGossip{Server: "s3", Rev: 1}) // late

	d.must(RotateGossip{By: "ann"})
	d.want(noun.Conflict, AddGossipKey{ID: keyID(1), Rev: 2})
	d.must(AddGossipKey{ID: keyID(2), Rev: 2})
	if r := d.s.Ring(); r.Why != "" || len(r.Keys) != 2 || !r.Keys[0].Used || r.Keys[1].Used {
		t.Errorf("%+v", r)
	}
	d.must(AddGossipKey{ID: keyID(3), Rev: 3}) // key 2 was lost with the leader that made it
	if r := d.s.Ring(); len(r.Keys) != 2 || r.Key(keyID(2)) != nil || r.Newest().Number != 3 {
		t.Errorf("%+v", r)
	}
	d.carriedOut("s2", "s3")
	d.rings(noun.RingSwitch)
	d.want(noun.Conflict, AddGossipKey{ID: keyID(4), Rev: d.s.Ring().Rev})
	d.carriedOut("s1", "s3")
	d.rings(noun.RingRest)
	if r := d.s.Ring(); r.Newest().ID != keyID(3) || d.events("gossip.key_removed") != 1 {
		t.Errorf("%+v", r)
	}
}

// A host that is forgotten, a server that is removed and whoever is revoked have the key replaced; people
// do not, since they have none. What happens while a key is being replaced has it replaced once more.
func TestRingIsOutdatedByWhoGoes(t *testing.T) {
	for name, goes := range map[string]Command{
		"host/h1 is gone":     ForgetHost{Host: 1, By: "ann"},
		"server/s3 is gone":   DropServer{ID: "s3"},
		"server/s1 was revok": RaiseGeneration{Kind: noun.ServerIdentity, Name: "s1", By: "ann"},
		"host/h2 is gone":     RaiseGeneration{Kind: noun.HostIdentity, Name: "h2", By: "ann"},
		"asked for by ann":    RotateGossip{By: "ann"},
		"":                    RemoveUser{Name: "ann"},
	} {
		d := ringed(t)
		for _, key := range []string{"h1", "h2"} {
			d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, key, key))
		}
		d.must(join(d.token(noun.ServerIdentity, "s3", 1), noun.ServerIdentity, "s3", "s3"))
		d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "b"})
		d.must(LeaveHost{Key: "h1", Boot: "b"})
		d.must(goes)
		if r := d.s.Ring(); !strings.HasPrefix(r.Why, name) || (r.Why == "") != (name == "") {
			t.Errorf("%T: replaced because %q, want %q", goes, r.Why, name)
		}
		d.rings(noun.RingRest)
	}
	d := ringed(t)
	d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h2", "k"))
	d.must(RotateGossip{By: "ann"})
	d.must(AddGossipKey{ID: keyID(2), Rev: d.s.Ring().Rev})
	d.must(RaiseGeneration{Kind: noun.HostIdentity, Name: "h2"}) // it may have got key 2
	d.carriedOut("s1", "s2")
	d.carriedOut("s1", "s2")
	if d.rings(noun.RingRest); d.s.Ring().Why == "" {
		t.Error("a host that was revoked during the replacement knows the key that stays")
	}
	d.must(AckGossip{Server: "s3", Rev: d.s.Ring().Rev})
	d.must(DropServer{ID: "s3"})
	d.rings(noun.RingRest) // its word is gone with it
}

// A backup of the same cluster brings no old ring back, and one that takes the place of a lost state begins
// with a new key: its own may be lost, or known to whoever was shut out since.
func TestRingOfABackup(t *testing.T) {
	d := ringed(t)
	backup := d.backed()
	d.must(RotateGossip{By: "ann"})
	d.must(AddGossipKey{ID: keyID(2), Rev: d.s.Ring().Rev})
	backup.Outnumber(&d.s.View)
	x := &drive{t: t, s: backup, term: 2, index: 1000, clock: backup.Clock()}
	x.must(RaiseEpoch{})
	if r := x.s.Ring(); r.Rev != d.s.Ring().Rev || r.Newest().ID != keyID(2) {
		t.Errorf("restored into the same cluster: %+v", r)
	}
	x.rings(noun.RingSpread)

	alone := d.backed()
	alone.Outnumber(&New().View)
	x = &drive{t: t, s: alone, term: 2, index: 1000, clock: alone.Clock()}
	x.must(RaiseEpoch{})
	x.rings(noun.RingEmpty)
	x.want(noun.Conflict, AddGossipKey{ID: keyID(3)})
	if out := x.must(AddGossipKey{ID: keyID(3), Rev: x.s.Ring().Rev}); out.Rev <= 2 {
		t.Errorf("key %d was there before", out.Rev)
	}
	var dump bytes.Buffer
	if err := x.s.Copy().Dump(&dump); err != nil || !bytes.Contains(dump.Bytes(), []byte(keyID(3))) {
		t.Errorf("the id of the key is not in the dump: %v", err)
	}
}

// Random commands about the ring, of leaders that are behind too: it is whole at every index, the key that
// is used is known to a majority, and a restored server decides as one that was not.
func TestRingL12RandomLogs(t *testing.T) {
	for _, seed := range seeds(t, 4) {
		r := rand.New(rand.NewPCG(seed, 19))
		d := ringed(t)
		restored := d.backed()
		made, steps := 1, map[noun.Step]int{}
		for range 800 {
			ring := d.s.Ring()
			rev := ring.Rev - uint64(r.IntN(8)/7)
			var cmd Command
			switch r.IntN(8) {
			case 0:
				made++
				cmd = AddGossipKey{ID: keyID(made), Rev: rev}
			case 1, 2:
				cmd = StepGossip{Rev: rev}
			case 3:
				cmd = RotateGossip{By: "ann"}
			case 4:
				if cmd = (PutServer{ID: "s4"}); r.IntN(2) == 0 {
					cmd = DropServer{ID: "s4"}
				}
			default:
				cmd = AckGossip{Server: fmt.Sprint("s", 1+r.IntN(4)), Rev: rev}
			}
			was := ring.Step()
			d.clock = d.clock.Add(time.Second)
			e := d.entry(Request{Cmd: cmd})
			out, again := d.apply(e).Outcomes[0], restored.Apply(e).Outcomes[0]
			if out != again {
				t.Fatalf("seed %d, %T: %+v, after a restore %+v", seed, cmd, out, again)
			}
			if err := d.s.Check(); err != nil {
				t.Fatalf("seed %d, %T: %v", seed, cmd, err)
			}
			if now := d.s.Ring().Step(); now != was {
				steps[now]++
			}
			if r.IntN(60) == 0 {
				restored = reload(t, restored)
			}
		}
		if d.s.Hash() != restored.Hash() {
			t.Errorf("seed %d: states differ", seed)
		}
		if steps[noun.RingRest] < 5 || steps[noun.RingSwitch] < 5 || steps[noun.RingSpread] < 5 {
			t.Errorf("seed %d: %v exercises nothing", seed, steps)
		}
	}
}
