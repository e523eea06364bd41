package fsm

import (
	"crypto/sha256"
	"testing"
	"time"

	"vigil/fsm/noun"
	"vigil/fsm/trust"
)

// under gives who holds a certificate the next one, of a root.
func (d *drive) under(kind noun.IdentityKind, name, serial, root string) {
	d.t.Helper()
	was := d.s.Credential(kind, name).Serial
	c := leaf(kind, name, d.generation(kind, name), serial, was, serial)
	hash := sha256.Sum256([]byte(root))
	c.Root = hash[:]
	d.must(c)
}

// roots demands where the replacement of a root stands, and how many there are.
func (d *drive) roots(want trust.RootStep, n int) {
	d.t.Helper()
	list, _ := d.s.Roots()
	if w := d.s.RootWait(); w.Step != want || len(list) != n {
		d.t.Fatalf("%d roots, at %s, want %d, at %s: %+v", len(list), w.Step, n, want, w)
	}
	if err := d.s.Check(); err != nil {
		d.t.Fatal(err)
	}
}

// withHost is a cluster whose server and host hold certificates of the first root, and a host that left.
func withHost(t *testing.T) *drive {
	t.Helper()
	d := trusting(t)
	id := d.token(noun.HostIdentity, "", 2)
	for _, name := range []string{"h1", "gone"} {
		d.must(join(id, noun.HostIdentity, name, "key of "+name))
		d.under(noun.HostIdentity, name, "first of "+name, "root")
	}
	d.under(noun.ServerIdentity, "s1", "first of s1", "root")
	d.must(RaiseGeneration{Kind: noun.HostIdentity, Name: "gone", By: "ann"})
	return d
}

// The old root goes once every server and host has a certificate of the new one, and no certificate of a
// person is young enough.
func TestRootGoesWhenNobodyNeedsIt(t *testing.T) {
	d := withHost(t)
	for _, bad := range []AddRoot{{}, {Cert: make([]byte, noun.MaxRoot+1)}} {
		d.want(noun.Invalid, bad)
	}
	d.want(noun.Conflict, StepRoots{})
	rev := d.must(AddRoot{Cert: []byte("next"), Issues: true, By: "ann"}).Rev
	if again := d.must(AddRoot{Cert: []byte("next"), Issues: true}).Rev; again != rev {
		t.Errorf("revision %d, then %d", rev, again)
	}
	d.want(noun.Conflict, AddRoot{Cert: []byte("other")})
	d.roots(trust.RootsRetire, 2)
	d.want(noun.Conflict, StepRoots{Rev: rev})
	d.under(noun.ServerIdentity, "s1", "second of s1", "next")
	d.pass(noun.LeafLife)
	d.want(noun.Conflict, StepRoots{Rev: rev}) // the host is behind
	if w := d.s.RootWait(); len(w.Behind) != 1 || w.Behind[0].String() != "host/h1" || w.Left > 0 {
		t.Errorf("%+v", w)
	}
	d.under(noun.HostIdentity, "h1", "second of h1", "root") // of a server that has no new key yet
	d.want(noun.Conflict, StepRoots{Rev: rev})
	d.under(noun.HostIdentity, "h1", "third of h1", "next")
	d.want(noun.Conflict, StepRoots{Rev: rev - 1}) // of a leader that is behind
	d.must(StepRoots{Rev: rev})
	d.roots(trust.RootsRest, 1)
	if list, issues := d.s.Roots(); list[0].DER != "next" || issues != 0 {
		t.Errorf("%v, number %d issues", list, issues)
	}
	d.want(noun.Conflict, StepRoots{Rev: rev + 1})
}

// A person who has logged in shortly before keeps the login for its whole life.
func TestRootOutlivesTheCertificatesOfPeople(t *testing.T) {
	d := withHost(t)
	d.pass(time.Hour)
	rev := d.must(AddRoot{Cert: []byte("next"), Issues: true}).Rev
	d.under(noun.ServerIdentity, "s1", "second of s1", "next")
	d.under(noun.HostIdentity, "h1", "second of h1", "next")
	d.pass(noun.LeafLife - time.Second)
	d.want(noun.Conflict, StepRoots{Rev: rev})
	d.pass(2 * time.Second)
	d.must(StepRoots{Rev: rev})
	d.roots(trust.RootsRest, 1)
}

// Where the old key was lost nothing vouches for the new root: it issues once every server and host was
// told of it.
func TestLostRootIsReplacedInThreeSteps(t *testing.T) {
	d := withHost(t)
	rev := d.must(AddRoot{Cert: []byte("next"), By: "ann"}).Rev
	d.roots(trust.RootsSpread, 2)
	d.under(noun.ServerIdentity, "s1", "second of s1", "root")
	d.want(noun.Conflict, StepRoots{Rev: rev})
	d.under(noun.HostIdentity, "h1", "second of h1", "root")
	d.must(StepRoots{Rev: rev})
	d.roots(trust.RootsRetire, 2)
	if _, issues := d.s.Roots(); issues != 1 {
		t.Errorf("number %d issues", issues)
	}
	d.want(noun.Conflict, StepRoots{Rev: rev + 1})
	d.under(noun.ServerIdentity, "s1", "third of s1", "next")
	d.under(noun.HostIdentity, "h1", "third of h1", "next")
	d.pass(noun.LeafLife)
	d.must(StepRoots{Rev: rev + 1})
	d.roots(trust.RootsRest, 1)
}
