package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/trust"
)

// person is who runs a command, with a certificate in a folder.
type person struct {
	t    *testing.T
	root *trust.Authority
	name trust.Name
	dir  trust.Dir
}

func newPerson(t *testing.T) *person {
	t.Helper()
	anna := trust.Name{Cluster: trust.NewCluster(), Kind: trust.User, ID: "anna"}
	p := &person{t: t, name: anna, dir: trust.Dir(t.TempDir())}
	var err error
	if p.root, err = trust.NewRoot(p.name.Cluster, time.Now()); err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(p.root.Chain[0])
	if err == nil {
		err = p.dir.PutRoots(roots)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.renewed(p.name)
	return p
}

// renewed is what another command of a person does.
func (p *person) renewed(name trust.Name) {
	p.t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		p.t.Fatal(err)
	}
	csr, err := trust.Request(key)
	if err != nil {
		p.t.Fatal(err)
	}
	chain, err := p.root.Leaf(csr, name, trust.Stamp{}, nil)
	if err == nil {
		err = p.dir.Put(trust.LeafFiles, &trust.Authority{Chain: chain, Key: key})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) holder() *trust.Holder {
	p.t.Helper()
	h, err := p.dir.Holder()
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

// A command that runs for days renews the certificate of who runs it, again and again, also after one that failed.
func TestLongCommandsRenewTheCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t)
		c, renewals := &Conn{self: p.holder(), dir: p.dir}, 0
		a := &App{Renew: func(context.Context, *client.Client, *trust.Holder, trust.Dir) error {
			renewals++
			return errors.New("nobody leads")
		}}
		// The age of a file is told by the clock of the machine, which is not that of the test: it is always due.
		end := a.KeepRenewed(t.Context(), c)
		time.Sleep(24 * time.Hour)
		end()
		if renewals < 24 {
			t.Errorf("%d tries in a day", renewals)
		}
		renewals = 0
		time.Sleep(24 * time.Hour)
		if renewals > 0 {
			t.Errorf("%d tries after its end", renewals)
		}
	})
}

// What another command has renewed is taken up, and not renewed beside it: that would look like a stolen key. Whoever
// logs in as somebody else meanwhile changes nothing of a command that runs.
func TestLongCommandsTakeUpWhatOthersHaveRenewed(t *testing.T) {
	p := newPerson(t)
	c := &Conn{self: p.holder(), dir: p.dir}
	p.renewed(p.name)
	c.takeUp()
	got, _ := c.self.Self()
	if want, _ := p.holder().Self(); got.Serial != want.Serial {
		t.Errorf("it shows certificate %s, and %s is the newest", got.Serial, want.Serial)
	}
	p.renewed(trust.Name{Cluster: p.name.Cluster, Kind: trust.User, ID: "berta"})
	c.takeUp()
	if now, _ := c.self.Self(); now.Serial != got.Serial {
		t.Errorf("it has become %s", now.Short())
	}
	(&Conn{}).takeUp() // who has no identity
}
