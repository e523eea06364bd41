package fsm

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

const uuid = "0b6f0a3e-8f0e-4c5b-9a53-0f5f6f3f2a11"

func sum(text string) []byte {
	h := sha256.Sum256([]byte(text))
	return h[:]
}

// trusting is a cluster with identities, of the server s1 and the admin ann.
func trusting(t *testing.T) *drive {
	t.Helper()
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	d.must(PutServer{ID: "s1"})
	d.must(FoundTrust{Cluster: uuid, Roots: []Root{{Cert: []byte("root")}}, Server: "s1", Serial: "1",
		Admin: "ann"})
	return d
}

// token makes one with the secret "secret" for an hour.
func (d *drive) token(kind noun.IdentityKind, name string, uses uint32) noun.TokenID {
	d.t.Helper()
	return noun.TokenID(d.must(PutToken{SecretHash: sum("secret"), Kind: kind, Name: name, Uses: uses,
		For: time.Hour, By: "ann"}).Rev)
}

// join uses a token with a key.
func join(id noun.TokenID, kind noun.IdentityKind, name, key string) UseToken {
	return UseToken{Token: id, SecretHash: sum("secret"), Kind: kind, Name: name, Key: sum(key)}
}

func leaf(kind noun.IdentityKind, name string, gen uint64, serial, was, key string) NoteLeaf {
	return NoteLeaf{Kind: kind, Name: name, Generation: gen, Serial: serial, Was: was, Key: sum(key)}
}

func (d *drive) generation(kind noun.IdentityKind, name string) uint64 {
	d.t.Helper()
	k := d.s.Credential(kind, name)
	if k == nil {
		d.t.Fatalf("nothing is known of %s %s", kind, name)
	}
	return k.Generation
}

// A cluster is founded once, and before that nobody has an identity.
func TestTrustIsFoundedOnce(t *testing.T) {
	d := newDrive(t)
	d.want(noun.Conflict, PutToken{SecretHash: sum("x"), Kind: noun.HostIdentity, Uses: 1, For: time.Hour})
	d.want(noun.Conflict, PutUser{Name: "bob", Bindings: []noun.Binding{{Role: noun.Viewer, Room: "*"}}})
	root := []Root{{Cert: []byte("r")}}
	for name, bad := range map[string]FoundTrust{
		"no name":      {Roots: root, Server: "s1"},
		"no root":      {Cluster: uuid, Server: "s1"},
		"empty root":   {Cluster: uuid, Roots: []Root{{}}, Server: "s1"},
		"large root":   {Cluster: uuid, Roots: []Root{{Cert: make([]byte, noun.MaxRoot+1)}}, Server: "s1"},
		"many roots":   {Cluster: uuid, Roots: slices.Repeat(root, noun.MaxRoots+1), Server: "s1"},
		"no issuer":    {Cluster: uuid, Roots: root, Issues: 1, Server: "s1"},
		"no server":    {Cluster: uuid, Roots: root},
		"wrong admin":  {Cluster: uuid, Roots: root, Server: "s1", Admin: "a b"},
		"large serial": {Cluster: uuid, Roots: root, Server: "s1", Serial: strings.Repeat("1", 99)},
	} {
		t.Log(name)
		d.want(noun.Invalid, bad)
	}
	d = trusting(t)
	d.want(noun.Conflict, FoundTrust{Cluster: "other", Roots: []Root{{Cert: []byte("r")}}, Server: "s1"})
	roots, issues := d.s.Roots()
	if d.s.ClusterUUID() != uuid || len(roots) != 1 || roots[0].DER != "root" || issues != 0 {
		t.Errorf("cluster %s has roots %v, %d issues", d.s.ClusterUUID(), roots, issues)
	}
	if k := d.s.Credential(noun.ServerIdentity, "s1"); k == nil || k.Generation != 1 || k.Serial != "1" {
		t.Errorf("the founder has %+v", k)
	}
	if u := d.s.User("ann"); u == nil || noun.RoleIn(u.Bindings, "r") != noun.Admin {
		t.Errorf("the first admin is %+v", u)
	}
	if d.events("trust.founded") != 1 || d.events("user.put") != 1 {
		t.Error("what was founded is in no event")
	}
}

// L4: a token lets in as many as it says, at every index, in whatever order and however often they ask.
func TestTrustTokenIsUsedAsOftenAsItSays(t *testing.T) {
	d := trusting(t)
	id := d.token(noun.HostIdentity, "", 2)
	d.want(noun.Denied, join(id+1, noun.HostIdentity, "h1", "k1"))
	d.want(noun.Denied, UseToken{Token: id, SecretHash: sum("guess"), Kind: noun.HostIdentity, Name: "h1",
		Key: sum("k1")})
	d.want(noun.Denied, UseToken{Token: id, Kind: noun.HostIdentity, Name: "h1", Key: sum("k1")})
	d.want(noun.Denied, join(id, noun.ServerIdentity, "s2", "k1"))
	d.want(noun.Invalid, join(id, noun.HostIdentity, "../h1", "k1"))
	d.want(noun.Invalid, UseToken{Token: id, SecretHash: sum("secret"), Kind: noun.HostIdentity, Name: "h1"})
	taken := join(d.token(noun.ServerIdentity, "", 1), noun.ServerIdentity, "s1", "k1")
	d.want(noun.Conflict, taken)
	if out := d.must(join(id, noun.HostIdentity, "h1", "k1")); out.Rev != 1 {
		t.Fatalf("generation %d", out.Rev)
	}
	for range 3 { // the answer was lost
		if out := d.must(join(id, noun.HostIdentity, "h1", "k1")); out.Rev != 1 {
			t.Fatalf("a repetition gives generation %d", out.Rev)
		}
	}
	d.want(noun.Conflict, join(id, noun.HostIdentity, "h1", "another key"))
	two := d.apply(d.entry(Request{Cmd: join(id, noun.HostIdentity, "h2", "k2")},
		Request{Cmd: join(id, noun.HostIdentity, "h3", "k3")})).Outcomes // in one entry
	if two[0].Code != noun.OK || two[1].Code != noun.Denied {
		t.Fatalf("the last use was given to %+v", two)
	}
	d.must(join(id, noun.HostIdentity, "h2", "k2"))
	if n := d.events("token.used"); n != 2 {
		t.Errorf("%d uses in the history", n)
	}
	for e := range d.s.Events(0) {
		if strings.Contains(e.Text, "secret") || strings.Contains(e.Text, string(sum("secret"))) {
			t.Errorf("an event says %q", e.Text)
		}
	}
}

// A token ends in cluster time, and by a human's word; who has joined stays.
func TestTrustTokensEnd(t *testing.T) {
	d := trusting(t)
	ends, revoked := d.token(noun.HostIdentity, "", 9), d.token(noun.HostIdentity, "", 9)
	d.must(join(ends, noun.HostIdentity, "h1", "k1"))
	d.must(RevokeToken{Token: revoked, By: "ann"})
	d.want(noun.NotFound, RevokeToken{Token: revoked})
	d.want(noun.Denied, join(revoked, noun.HostIdentity, "h2", "k2"))
	d.jump(time.Hour - time.Second)
	d.must(join(ends, noun.HostIdentity, "h3", "k3"))
	d.jump(time.Second)
	d.want(noun.Denied, join(ends, noun.HostIdentity, "h4", "k4"))
	d.want(noun.Denied, join(ends, noun.HostIdentity, "h1", "k1"))
	if d.generation(noun.HostIdentity, "h1") != 1 || d.s.Token(ends) == nil {
		t.Error("the end of a token changed who had joined, or nobody can be told of it")
	}
	d.token(noun.HostIdentity, "", 1)
	if d.s.Token(ends) != nil {
		t.Error("a token that has ended is kept for ever")
	}
}

// A token that names somebody replaces what that one had; one that does not leaves names alone that
// are in use.
func TestTrustBoundTokenReplacesAnIdentity(t *testing.T) {
	d := trusting(t)
	d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h1", "k1"))
	d.must(leaf(noun.HostIdentity, "h1", 1, "a", "", "k1"))
	d.host("h1", "worker")
	bound := d.must(PutToken{SecretHash: sum("secret"), Kind: noun.HostIdentity, Name: "h1", Uses: 1,
		For: time.Hour, Labels: []noun.KV{{Key: "zone", Value: "a"}}, Runners: []string{"worker", "claude"}})
	d.want(noun.Denied, join(noun.TokenID(bound.Rev), noun.HostIdentity, "h2", "k2"))
	if out := d.must(join(noun.TokenID(bound.Rev), noun.HostIdentity, "h1", "k2")); out.Rev != 2 {
		t.Errorf("generation %d after a directory was lost", out.Rev)
	}
	k := d.s.Credential(noun.HostIdentity, "h1")
	if k.Serial != "" || len(k.Labels) != 1 || !slices.Equal(k.Runners, []string{"claude", "worker"}) {
		t.Errorf("the new identity is %+v", k)
	}
	d.want(noun.Denied, leaf(noun.HostIdentity, "h1", 1, "b", "a", "k1")) // the lost one renews
	d.must(leaf(noun.HostIdentity, "h1", 2, "c", "", "k2"))
}

// A certificate is renewed by its newest holder. An older one is a clone: refused, and a human hears of
// it. An answer that was lost is none.
func TestTrustClonesAreFound(t *testing.T) {
	d := trusting(t)
	d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h1", "k1"))
	d.host("h1", "worker")
	d.must(leaf(noun.HostIdentity, "h1", 1, "a", "", "k1"))
	d.must(leaf(noun.HostIdentity, "h1", 1, "b", "a", "k2"))
	d.must(leaf(noun.HostIdentity, "h1", 1, "c", "a", "k2")) // the answer with b was lost
	d.must(leaf(noun.HostIdentity, "h1", 1, "d", "c", "k3"))
	for range 2 {
		out := d.want(noun.Denied, leaf(noun.HostIdentity, "h1", 1, "x", "c", "of the clone"))
		if !strings.Contains(out.Detail, "another machine") {
			t.Errorf("the clone is told %q", out.Detail)
		}
	}
	open := func() (list []*noun.Escalation) {
		for e := range d.s.Escalations(0) {
			if e.Kind == noun.EscIdentityCloned && e.State == noun.EscalationOpen {
				list = append(list, e)
			}
		}
		return list
	}
	list := open()
	if len(list) != 1 || list[0].Subject != "host/h1" || list[0].Host != "h1" || list[0].Count != 2 ||
		!d.s.Lasts(list[0]) {
		t.Fatalf("escalated: %+v", list)
	}
	d.must(leaf(noun.HostIdentity, "h1", 1, "e", "d", "k4")) // the newer one goes on
	d.must(RaiseGeneration{Kind: noun.HostIdentity, Name: "h1", By: "ann"})
	d.want(noun.Denied, leaf(noun.HostIdentity, "h1", 1, "f", "e", "k5"))
	if len(open()) != 0 {
		t.Error("a human has revoked both, and the escalation stays open")
	}

	d.must(PutUser{Name: "bob", Bindings: []noun.Binding{{Role: noun.Viewer, Room: "*"}}})
	for _, at := range []string{"laptop", "desktop"} { // a person has several machines
		d.must(join(d.token(noun.UserIdentity, "bob", 1), noun.UserIdentity, "bob", at))
		d.must(leaf(noun.UserIdentity, "bob", 1, at, "", at))
	}
	d.must(leaf(noun.UserIdentity, "bob", 1, "laptop2", "laptop", "laptop"))
	if len(open()) != 0 {
		t.Error("a second machine of a user counts as a clone")
	}
}

// L6: a generation never falls: not when a name is revoked, when its host is forgotten, its server or its
// user removed, nor when it is forgotten itself among many.
func TestTrustL6GenerationsOnlyRise(t *testing.T) {
	d := trusting(t)
	d.must(PutServer{ID: "s2"})
	d.must(join(d.token(noun.ServerIdentity, "", 1), noun.ServerIdentity, "s2", "k"))
	d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h1", "k"))
	d.must(PutUser{Name: "bob", Bindings: []noun.Binding{{Role: noun.Operator, Room: "r"}}})
	login := d.token(noun.UserIdentity, "bob", 5)
	h := d.host("h1", "worker")

	d.must(RaiseGeneration{Kind: noun.HostIdentity, Name: "h1", By: "ann"})
	if k := d.s.Credential(noun.HostIdentity, "h1"); k.Generation != 2 || k.Gone != 0 {
		t.Fatalf("a host that is revoked: %+v", k)
	}
	d.want(noun.Conflict, join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h1", "of a thief"))
	d.must(LeaveHost{Key: "h1", Boot: "boot1"})
	d.must(ForgetHost{Host: h, By: "ann"})
	d.must(DropServer{ID: "s2"})
	d.must(RemoveUser{Name: "bob", By: "ann"})
	for who, want := range map[noun.Identity]uint64{{Kind: noun.HostIdentity, Name: "h1"}: 3,
		{Kind: noun.ServerIdentity, Name: "s2"}: 2, {Kind: noun.UserIdentity, Name: "bob"}: 2} {
		if k := d.s.Credential(who.Kind, who.Name); k == nil || k.Generation != want || k.Gone == 0 {
			t.Errorf("%s is gone: %+v, want generation %d", who, k, want)
		}
		d.want(noun.NotFound, RaiseGeneration{Kind: who.Kind, Name: who.Name})
	}
	if d.s.User("bob") != nil || d.s.Token(login) != nil {
		t.Error("a removed user can log in")
	}
	d.want(noun.NotFound, PutToken{SecretHash: sum("x"), Kind: noun.UserIdentity, Name: "bob", Uses: 1,
		For: time.Hour})
	if out := d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h1", "new")); out.Rev != 4 {
		t.Errorf("h1 comes back with generation %d", out.Rev)
	}
	d.must(PutUser{Name: "bob", Bindings: []noun.Binding{{Role: noun.Viewer, Room: "*"}}})
	if got := d.generation(noun.UserIdentity, "bob"); got != 3 {
		t.Errorf("bob comes back with generation %d", got)
	}
}

// L11: names that are gone are not remembered for ever; who takes one of them is above what it had.
func TestTrustL11GoneNamesAreForgotten(t *testing.T) {
	d := trusting(t)
	for i := range noun.MaxGone + 2 {
		if i%900 == 0 {
			d.whole(Request{Cmd: PutToken{SecretHash: sum("secret"), Kind: noun.HostIdentity, Uses: noun.MaxTokenUses,
				For: time.Hour}})
		}
		id, name := d.s.Meta.Trust.LastToken, fmt.Sprint("h", i)
		d.whole(Request{Cmd: join(id, noun.HostIdentity, name, "k")})
		if i == 0 {
			d.whole(Request{Cmd: PutToken{SecretHash: sum("secret"), Kind: noun.HostIdentity, Name: name, Uses: 1,
				For: time.Hour}})
			d.whole(Request{Cmd: join(id+1, noun.HostIdentity, name, "again")})
			d.whole(Request{Cmd: PutToken{SecretHash: sum("secret"), Kind: noun.HostIdentity, Uses: noun.MaxTokenUses,
				For: time.Hour}})
		}
		out := d.whole(Request{Cmd: RaiseGeneration{Kind: noun.HostIdentity, Name: name}}).Outcomes[0]
		if out.Code != noun.OK {
			t.Fatalf("%s: %+v", name, out)
		}
	}
	if d.s.Credential(noun.HostIdentity, "h0") != nil || d.s.Credential(noun.HostIdentity, "h2") == nil {
		t.Fatal("not the oldest names are forgotten")
	}
	if out := d.must(join(d.token(noun.HostIdentity, "", 1), noun.HostIdentity, "h0", "k")); out.Rev <= 3 {
		t.Errorf("L6: h0 had generation 3 and comes back with %d", out.Rev)
	}
}

// L11: the number of users, tokens and API tokens is bounded; a refusal changes nothing.
func TestTrustL11IsBounded(t *testing.T) {
	d := trusting(t)
	viewer := []noun.Binding{{Role: noun.Viewer, Room: "*"}}
	until := func(most int, cmd func(i int) Command) {
		t.Helper()
		for i := range most + 1 {
			was := d.s.Meta.Trust
			out := d.whole(Request{Cmd: cmd(i)}).Outcomes[0]
			if (out.Code == noun.Full) != (i == most) {
				t.Fatalf("%T, the %dth: %+v", cmd(i), i+1, out)
			}
			if now := d.s.Meta.Trust; i == most && (now.LastToken != was.LastToken || now.LastUser != was.LastUser ||
				now.LastAPIToken != was.LastAPIToken) {
				t.Errorf("%T was refused and has changed %+v into %+v", cmd(i), was, now)
			}
		}
	}
	until(noun.MaxTokens, func(i int) Command {
		return PutToken{SecretHash: sum(fmt.Sprint(i)), Kind: noun.HostIdentity, Uses: 1, For: time.Hour}
	})
	until(noun.MaxAPITokens, func(i int) Command {
		return PutAPIToken{Name: "ci", Hash: sum(fmt.Sprint(i)), Bindings: viewer, For: time.Hour}
	})
	until(noun.MaxUsers-1, func(i int) Command { return PutUser{Name: fmt.Sprint("u", i), Bindings: viewer} })
	if err := d.s.Check(); err != nil {
		t.Fatal(err)
	}
	d.must(PutUser{Name: "u7", Bindings: []noun.Binding{{Role: noun.Admin, Room: "*"}}}) // he is there
	d.jump(time.Hour)
	d.token(noun.HostIdentity, "", 1) // those that have ended make room
	d.must(PutAPIToken{Name: "ci", Hash: sum("new"), Bindings: viewer, For: time.Hour})

	d.set("budget_trust", "16KiB")
	d.want(noun.Full, PutUser{Name: "u8", Bindings: append(viewer, noun.Binding{Role: noun.Reader, Room: "r"})})
	d.must(RemoveUser{Name: "u8"})
	d.must(RaiseGeneration{Kind: noun.UserIdentity, Name: "u9"}) // to revoke is never refused
}

// What tokens and users may not be.
func TestTrustRefusesWhatMayNotBe(t *testing.T) {
	d := trusting(t)
	ok := PutToken{SecretHash: sum("x"), Kind: noun.HostIdentity, Uses: 1, For: time.Hour}
	for name, change := range map[string]func(*PutToken){
		"hash":         func(c *PutToken) { c.SecretHash = []byte("secret itself") },
		"kind":         func(c *PutToken) { c.Kind = noun.IdentityKinds },
		"no uses":      func(c *PutToken) { c.Uses = 0 },
		"many uses":    func(c *PutToken) { c.Uses = noun.MaxTokenUses + 1 },
		"named uses":   func(c *PutToken) { c.Name, c.Uses = "h1", 2 },
		"no end":       func(c *PutToken) { c.For = 0 },
		"late end":     func(c *PutToken) { c.For = noun.MaxTokenLife + 1 },
		"name":         func(c *PutToken) { c.Name = "-rf" },
		"user":         func(c *PutToken) { c.Kind = noun.UserIdentity },
		"labels":       func(c *PutToken) { c.Labels = []noun.KV{{Key: "b"}, {Key: "a"}} },
		"runner":       func(c *PutToken) { c.Runners = []string{"A B"} },
		"server label": func(c *PutToken) { c.Kind, c.Labels = noun.ServerIdentity, []noun.KV{{Key: "a"}} },
		"by":           func(c *PutToken) { c.By = strings.Repeat("x", noun.MaxPrincipal+1) },
	} {
		t.Log(name)
		c := ok
		change(&c)
		d.want(noun.Invalid, c)
	}
	for _, list := range [][]noun.Binding{nil, {{Role: noun.UserRoles, Room: "*"}}, {{Room: "*"}},
		{{Role: noun.Admin, Room: "A B"}}, {{Role: noun.Admin, Room: "*"}, {Role: noun.Viewer, Room: "*"}},
		slices.Repeat([]noun.Binding{{Role: noun.Admin, Room: "*"}}, noun.MaxBindings+1)} {
		d.want(noun.Invalid, PutUser{Name: "bob", Bindings: list})
		d.want(noun.Invalid, PutAPIToken{Name: "ci", Hash: sum("x"), Bindings: list, For: time.Hour})
	}
	d.want(noun.NotFound, RemoveUser{Name: "bob"})
	d.want(noun.NotFound, RevokeAPIToken{Token: 7})
	d.want(noun.Invalid, NoteLeaf{Kind: noun.ServerIdentity, Name: "s1", Generation: 1, Serial: "2", Was: "1"})
	d.want(noun.Denied, leaf(noun.HostIdentity, "nobody", 1, "a", "", "k"))
	for _, c := range []Command{ok, FoundTrust{}, UseToken{}, NoteLeaf{}, RaiseGeneration{}, PutUser{}, RemoveUser{},
		RevokeToken{}, PutAPIToken{}, RevokeAPIToken{},
		PutSettings{Values: []noun.KV{{Key: "budget_trust", Value: "1MiB"}}}} {
		if Level(c) != core.LevelRetry {
			t.Errorf("%T may be written at level %d", c, Level(c))
		}
	}
}

// An API token is found by its hash until it ends or is revoked.
func TestTrustAPITokens(t *testing.T) {
	d := trusting(t)
	list := []noun.Binding{{Role: noun.Operator, Room: "r"}, {Role: noun.Viewer, Room: "*"}}
	one := d.must(PutAPIToken{Name: "ci", Hash: sum("one"), Bindings: list, For: time.Hour, By: "ann"}).Rev
	d.must(PutAPIToken{Name: "cd", Hash: sum("two"), Bindings: list, For: 2 * time.Hour})
	d.want(noun.Invalid, PutAPIToken{Name: "ci", Hash: sum("two"), Bindings: list, For: time.Hour})
	got := d.s.APIToken(string(sum("one")))
	if got == nil || got.Name != "ci" || noun.RoleIn(got.Bindings, "r") != noun.Operator ||
		noun.RoleIn(got.Bindings, "s") != noun.Viewer || noun.RoleIn(got.Bindings, noun.Everywhere) != noun.Viewer {
		t.Errorf("found %+v", got)
	}
	if d.s.APIToken(string(sum("three"))) != nil || d.s.APIToken("") != nil {
		t.Error("a token is found that nobody has made")
	}
	d.must(RevokeAPIToken{Token: noun.APITokenID(one), By: "ann"})
	if d.s.APIToken(string(sum("one"))) != nil {
		t.Error("a revoked token is found")
	}
	d.jump(2 * time.Hour)
	if d.s.APIToken(string(sum("two"))) != nil {
		t.Error("a token that has ended is found")
	}
}

// A server that was removed before it had announced itself speaks no more either: its certificate counts
// as little as that of any other removed server, and its name is free.
func TestTrustL6RemovedBeforeItWasAnnounced(t *testing.T) {
	d := trusting(t)
	d.must(join(d.token(noun.ServerIdentity, "", 1), noun.ServerIdentity, "s4", "k"))
	d.want(noun.NotFound, DropServer{ID: "s4"}) // there is nothing else to forget
	if k := d.s.Credential(noun.ServerIdentity, "s4"); k.Gone == 0 || k.Generation != 2 {
		t.Errorf("its identity goes on: %+v", k)
	}
	d.must(join(d.token(noun.ServerIdentity, "", 1), noun.ServerIdentity, "s4", "of its successor"))
	if got := d.generation(noun.ServerIdentity, "s4"); got != 3 {
		t.Errorf("its successor has generation %d", got)
	}
}
