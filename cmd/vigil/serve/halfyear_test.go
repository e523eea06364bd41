package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// ledger is a state machine without a log, whose clock the test moves. It is an rpc.Reader.
type ledger struct {
	t     *testing.T
	s     *fsm.State
	index uint64
	now   time.Duration
}

func (l *ledger) Read(fn func(*fsm.View))       { fn(&l.s.View) }
func (l *ledger) Leader() door.Leader           { return door.Leader{ID: "s1", Self: true} }
func (l *ledger) Barrier(context.Context) error { return nil }
func (l *ledger) Subscribe(func(noun.Effects))  {} // nobody is told

func (l *ledger) must(cmds ...fsm.Command) {
	l.t.Helper()
	// Leaders whose wall clocks are at 1970, at 2038 and right take turns: none of them decides anything.
	walls := [...]time.Time{time.Unix(0, 0), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC), time.Now()}
	e := &fsm.Entry{Index: l.index + 1, Term: 1, Stint: 1, Stamp: noun.Time(l.now),
		Wall: noun.Wall(walls[l.index%3].UnixNano())}
	for _, c := range cmds {
		e.Requests = append(e.Requests, fsm.Request{Cmd: c})
	}
	l.index++
	for i, out := range l.s.Apply(e).Outcomes {
		if out.Code != noun.OK {
			l.t.Fatalf("%T: %s: %s", cmds[i], out.Code, out.Detail)
		}
	}
}

// The key of the root is away for half a year of cluster time: nobody gets another issuing key, the alert is
// on from day 61, and servers and hosts renew their certificates all the time. When the key is back the server
// gets its issuing key, and the alert ends.
func TestRootMayBeAwayForHalfAYear(t *testing.T) {
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		root := good(trust.NewRoot(trust.NewCluster(), time.Now()))(t)
		k := &known{t: t, root: root, roots: good(trust.NewRoots(root.Chain[0]))(t)}
		server := k.server("s1")
		if err := server.dir.Put(trust.RootFiles, root); err != nil {
			t.Fatal(err)
		}
		key := filepath.Join(string(server.dir), trust.RootFiles+".key")
		if err := os.Rename(key, key+".away"); err != nil {
			t.Fatal(err)
		}
		figures := prometheus.NewRegistry()
		if err := server.figures(figures); err != nil {
			t.Fatal(err)
		}
		l := &ledger{t: t, s: fsm.New()}
		self, _ := server.holder.Self()
		secret := sha256.Sum256([]byte("secret"))
		l.must(fsm.LeaderEstablished{Server: "s1"})
		l.must(fsm.RaiseLevel{Level: fsm.NewestLevel}, fsm.PutServer{ID: "s1"},
			fsm.FoundTrust{Cluster: k.roots.Cluster, Roots: []fsm.Root{{Cert: root.Chain[0].Raw}},
				Server: "s1", Serial: self.Serial},
			fsm.PutToken{SecretHash: secret[:], Kind: noun.HostIdentity, Uses: 1, For: time.Hour},
			fsm.UseToken{Token: 1, SecretHash: secret[:], Kind: noun.HostIdentity, Name: "h1", Key: secret[:]})
		host := trust.NewHolder(k.roots)
		l.renew(server, host, noun.HostIdentity, "h1")
		judge := vouch.NewIdentities(server.holder.Roots, l, vouch.StandingOf)
		names := map[*trust.Holder]noun.Identity{host: {Kind: noun.HostIdentity, Name: "h1"},
			server.holder: {Kind: noun.ServerIdentity, Name: "s1"}}
		for l.now < 180*day {
			time.Sleep(trust.Life / 2)
			l.now += trust.Life / 2
			l.must()
			wants := server.needsIssuer(l.now, root.Chain[0])
			if late := l.now > trust.IssuerRenew; wants != late {
				t.Fatalf("on day %d it asks for an issuing key: %v", l.now/day, wants)
			}
			if wants {
				if _, err := server.SignIssuer(nil, self.Name, trust.Stamp{}); !errors.Is(err, trust.ErrNoRoot) {
					t.Fatalf("without the root's key an issuing key is signed: %v", err)
				}
			}
			if on := age(t, figures) > 61*day; on != (l.now > 61*day) {
				t.Fatalf("on day %d the alert is on: %v", l.now/day, on)
			}
			for h, name := range names {
				me, _ := h.Self()
				if _, err := judge.Principal(vouch.ClaimOf(me)); err != nil {
					t.Fatalf("on day %d, %s: %v", l.now/day, name, err)
				}
				l.renew(server, h, name.Kind, name.Name)
			}
			if err := shake(server.holder.Server(false), host.Client(nil)); err != nil {
				t.Fatalf("on day %d: %v", l.now/day, err)
			}
		}
		if err := os.Rename(key+".away", key); err != nil {
			t.Fatal(err)
		}
		next := good(certified(func(csr []byte) ([]*certificate, error) {
			return server.SignIssuer(csr, self.Name, trust.Stamp{Clock: int64(l.now), Generation: 1})
		}))(t)
		if err := server.dir.Put(trust.IssuerFiles, next); err != nil {
			t.Fatal(err)
		}
		if server.needsIssuer(l.now, root.Chain[0]) || age(t, figures) != 0 {
			t.Errorf("the key of the root is back, and the issuing key is %s old", age(t, figures))
		}
		l.renew(server, host, noun.HostIdentity, "h1")

		// Who renews nothing for so long is refused: the clock of certificates has moved.
		l.now += trust.Life
		l.must()
		me, _ := host.Self()
		if _, err := judge.Principal(vouch.ClaimOf(me)); err == nil || fault.Of(err).Code != code.AuthExpired {
			t.Errorf("a certificate that was not renewed for a day: %v", err)
		}
	})
	alerts, err := os.ReadFile("../../../configs/alerts.yaml")
	if err != nil || !strings.Contains(string(alerts), "vigil_issuing_key_age_seconds > 61 * 86400") {
		t.Errorf("the alert is another one: %v", err)
	}
}

// renew gives a holder its next certificate, which the state notes.
func (l *ledger) renew(by *identity, h *trust.Holder, kind noun.IdentityKind, name string) {
	l.t.Helper()
	was, _ := h.Self()
	holder := trust.Name{Cluster: h.Roots().Cluster, Kind: trust.Kind(kind.String()), ID: name}
	leaf := good(certified(func(csr []byte) ([]*certificate, error) {
		return by.Sign(csr, holder, trust.Stamp{Clock: int64(l.s.TrustClock()), Generation: 1}, nil)
	}))(l.t)
	if err := h.Set(leaf.Chain, leaf.Key); err != nil {
		l.t.Fatal(err)
	}
	self, _ := h.Self()
	public := sha256.Sum256(leaf.Chain[0].RawSubjectPublicKeyInfo)
	l.must(fsm.NoteLeaf{Kind: kind, Name: name, Generation: 1, Serial: self.Serial, Was: was.Serial, Key: public[:]})
}

// age is that of the issuing key as the figures show it.
func age(t *testing.T, figures prometheus.Gatherer) time.Duration {
	t.Helper()
	all := good(figures.Gather())(t)
	return time.Duration(all[0].GetMetric()[0].GetGauge().GetValue()) * time.Second
}
