package fsm

import (
	"bytes"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// backed gives a copy of the state as a backup.
func (d *drive) backed() *State {
	d.t.Helper()
	s, err := Load(bytes.NewReader(dump(d.t, d.s.Copy())))
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// L6: a restored backup brings nobody back: what was revoked stays so, who was let in since stays in,
// tokens of the backup are void, and no certificate becomes younger.
func TestTrustL6RestoreRevokesNothingAndNobody(t *testing.T) {
	d := trusting(t)
	viewer := []noun.Binding{{Role: noun.Viewer, Room: "*"}}
	d.jump(time.Hour)
	for _, h := range []string{"h1", "h2"} {
		d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, h, "k"))
		d.must(leaf(noun.HostIdentity, h, 1, h, "", "k"))
		d.host(h, "worker")
	}
	d.must(PutUser{Name: "bob", Bindings: []noun.Binding{{Role: noun.Admin, Room: "*"}}})
	d.must(PutUser{Name: "eve", Bindings: viewer})
	unused := d.token(noun.HostIdentity, "", 1)
	d.must(PutAPIToken{Name: "old", Hash: sum("old"), Bindings: viewer, For: time.Hour * 9})
	backup := d.backed()

	d.jump(time.Hour / 2)
	d.must(join(unused, noun.HostIdentity, "h3", "k"))
	d.must(RaiseGeneration{Kind: noun.HostIdentity, Name: "h1"})
	d.must(leaf(noun.HostIdentity, "h2", 1, "newer", "h2", "k"))
	d.must(PutUser{Name: "bob", Bindings: viewer})
	d.must(RemoveUser{Name: "eve"})
	d.must(RevokeAPIToken{Token: 1})
	d.must(PutAPIToken{Name: "new", Hash: sum("new"), Bindings: viewer, For: time.Hour})
	young := d.token(noun.HostIdentity, "", 1)
	clock := d.s.TrustClock()

	backup.Outnumber(&d.s.View)
	x := &drive{t: t, s: backup, term: 2, index: 1000, clock: backup.Clock()}
	x.must(RaiseEpoch{})
	for name, want := range map[string]uint64{"h1": 2, "h2": 1, "h3": 1} {
		if k := x.s.Credential(noun.HostIdentity, name); k == nil || k.Generation != want || k.Gone != 0 {
			t.Errorf("%s: %+v, want generation %d", name, k, want)
		}
	}
	if k := x.s.Credential(noun.HostIdentity, "h2"); k.Serial != "newer" {
		t.Errorf("h2 would be called a clone: %+v", k)
	}
	if x.s.User("eve") != nil || x.generation(noun.UserIdentity, "eve") != 2 {
		t.Error("a removed user is back")
	}
	if u := x.s.User("bob"); u == nil || noun.RoleIn(u.Bindings, "r") != noun.Viewer {
		t.Errorf("a user has back what was taken: %+v", u)
	}
	x.want(noun.Denied, join(unused, noun.HostIdentity, "h4", "k"))
	x.must(join(young, noun.HostIdentity, "h4", "k"))
	if x.s.APIToken(string(sum("old"))) != nil || x.s.APIToken(string(sum("new"))) == nil {
		t.Error("API tokens are those of the backup")
	}
	if x.s.TrustClock() < clock {
		t.Errorf("the clock of certificates fell from %d to %d", clock, x.s.TrustClock())
	}
	if got := x.token(noun.HostIdentity, "", 1); got <= young {
		t.Errorf("token %d after %d", got, young)
	}
	if again := reload(t, x.s); again.Hash() != x.s.Hash() || again.Check() != nil {
		t.Errorf("a dump changes it: %v", again.Check())
	}
}

// A backup brings no identities into another cluster, and takes none from it. One that replaces nothing
// keeps its own, and hands out no generation that may have been handed out.
func TestTrustRestoreElsewhere(t *testing.T) {
	d := trusting(t)
	d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h1", "k"))
	d.must(leaf(noun.HostIdentity, "h1", 1, "a", "", "k"))
	d.jump(time.Hour)

	other := newDrive(t)
	other.must(RaiseLevel{Level: core.LevelRetry})
	other.must(FoundTrust{Cluster: "another", Roots: []Root{{Cert: []byte("r2")}}, Server: "s9", Admin: "zoe"})
	into := d.backed()
	into.Outnumber(&other.s.View)
	roots, _ := into.Roots()
	if into.ClusterUUID() != "another" || roots[0].DER != "r2" || into.Credential(noun.HostIdentity, "h1") != nil ||
		into.User("ann") != nil || into.User("zoe") == nil || into.Credential(noun.ServerIdentity, "s9") == nil {
		t.Errorf("the new cluster is %s, with roots %v", into.ClusterUUID(), roots)
	}
	if got, want := into.TrustClock(), other.s.TrustClock(); got != want {
		t.Errorf("the clock of certificates is %d, was %d", got, want)
	}
	(&drive{t: t, s: into, term: 2, index: 1000, clock: into.Clock()}).must(RaiseEpoch{})

	alone := d.backed()
	alone.Outnumber(&New().View)
	x := &drive{t: t, s: alone, term: 2, index: 1000, clock: alone.Clock()}
	k := x.s.Credential(noun.HostIdentity, "h1")
	if x.s.ClusterUUID() != uuid || k == nil || k.Generation != 1 || k.Serial != "" {
		t.Errorf("what goes on alone is %s, with %+v", x.s.ClusterUUID(), k)
	}
	x.must(leaf(noun.HostIdentity, "h1", 1, "z", "one that was issued by the lost majority", "k"))
	if out := x.must(RaiseGeneration{Kind: noun.HostIdentity, Name: "h1"}); out.Rev < core.RestoreLeap {
		t.Errorf("generation %d may have been handed out", out.Rev)
	}
}
