package fsm

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// restored is a drive on a backup that takes the place of d's state.
func (d *drive) restored(backup []byte) *drive {
	d.t.Helper()
	s, err := Load(bytes.NewReader(backup))
	if err != nil {
		d.t.Fatal(err)
	}
	s.Outnumber(&d.s.View)
	s.Apply(&Entry{Index: s.LastIndex(), Requests: []Request{{Cmd: RaiseEpoch{Hold: s.Settings().TTL}}}})
	x := &drive{t: d.t, s: s, index: s.LastIndex(), term: d.term + 1, clock: s.Clock()}
	x.must(LeaderEstablished{Server: "a"})
	return x
}

func (d *drive) dumped() []byte {
	d.t.Helper()
	var b bytes.Buffer
	if err := d.s.Copy().Dump(&b); err != nil {
		d.t.Fatal(err)
	}
	return b.Bytes()
}

// starts tells whether a start of the agent can be ordered now.
func (d *drive) starts(name string, host noun.HostID) bool {
	a := d.agent(name)
	return d.do(OrderStart{Agent: a.ID, Inc: d.s.NextInc(a), Host: host}).Code == noun.OK
}

// L7: nothing is started after a restore before the last life that the replaced state has let
// begin has frozen by itself, whatever the backup says of TTLs; nor before one of a state that
// was itself replaced a moment ago.
func TestF02HoldCoversTheTTLsOfBothStates(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("r", managed("a", func(r *noun.RoleSpec) { r.TTL = time.Minute }))
	backup := d.dumped()
	d.room("r", managed("a", func(r *noun.RoleSpec) { r.TTL = 10 * time.Minute }))
	d.start("r/a", h1) // and h1 is cut off: this life runs for up to 7.5 min more
	x := d.restored(backup)
	wait := func(x *drive, span time.Duration) {
		t.Helper()
		for end := x.clock.Add(span); x.clock < end; x.pass(10 * time.Second) {
			x.beat(h2, BeatFence)
			if x.starts("r/a", h2) {
				t.Fatalf("L7: the next life is ordered %s after the restore", x.clock.Sub(end.Add(-span)))
			}
		}
	}
	wait(x, 5*time.Minute)
	y := x.restored(backup) // once more; both states that it knows have TTLs of a minute
	wait(y, 5*time.Minute-20*time.Second)
	y.pass(5*time.Minute + 20*time.Second) // h1 says nothing, and is not waited for for ever
	y.beat(h2, BeatFence)
	if !y.starts("r/a", h2) {
		t.Errorf("no start after twice the hold: %+v", y.s.Why(y.agent("r/a").ID))
	}
}

// L10: what runs is heard of before anything is started in its place: starts wait for the
// hosts of both states, and are let go when the last one has said what runs there.
func TestF02HoldWaitsForTheHosts(t *testing.T) {
	d := newDrive(t)
	h1 := d.host("h1", "worker")
	d.host("left", "worker")
	d.must(LeaveHost{Key: "left", Boot: "boot1"})
	d.room("r", managed("a"), managed("b"))
	d.start("r/a", h1)
	backup := d.dumped()
	d.host("younger", "worker") // the backup does not know it
	x := d.restored(backup)
	if got := strings.Join(x.s.Meta.Unreported, " "); got != "h1 younger" {
		t.Fatalf("waits for %q", got)
	}
	x.pass(61 * time.Second)
	if why := x.s.Why(x.agent("r/b").ID); why.Code != "hold" || !strings.Contains(why.Text, "2 hosts") ||
		!strings.Contains(why.Text, "(h1, younger)") || why.Left <= 0 {
		t.Errorf("%+v", why)
	}
	x.must(RegisterHost{Key: "younger", Name: "younger", Boot: "boot1", Runners: []string{"worker"}})
	if x.starts("r/b", h1) {
		t.Error("h1 has not said what runs on it")
	}
	if got := reload(t, x.s); got.StartsHeld() != x.s.StartsHeld() || got.Hash() != x.s.Hash() {
		t.Error("a loaded state holds otherwise")
	}
	x.beat(h1, BeatFence, x.agent("r/a").ID)
	if why := x.s.Why(x.agent("r/b").ID); why.Code == "hold" {
		t.Errorf("all have reported: %+v", why)
	}
	wanted := map[noun.AgentID]bool{}
	for id := range x.s.Wanting() {
		wanted[id] = true
	}
	if !wanted[x.agent("r/b").ID] || !x.starts("r/b", h1) {
		t.Errorf("wanted %v, %+v", wanted, x.s.Why(x.agent("r/b").ID))
	}
}
