package serve

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// known is a cluster in simulated time whose servers and one host have certificates as the program makes them.
type known struct {
	*clustertest.Cluster
	t       *testing.T
	root    *trust.Authority
	roots   *trust.Roots
	servers []*identity
	client  *clustertest.Client
	host    *trust.Holder
}

// newKnown founds one of three servers, and makes certificates for so many more.
func newKnown(t *testing.T, more int, opts ...clustertest.Option) *known {
	t.Helper()
	k := &known{t: t}
	k.root = good(trust.NewRoot(trust.NewCluster(), time.Now()))(t)
	k.roots = good(trust.NewRoots(k.root.Chain[0]))(t)
	for i := range 3 + more {
		k.servers = append(k.servers, k.server(fmt.Sprintf("s%d", i+1)))
	}
	k.Cluster = clustertest.New(t, 3, append(opts, clustertest.Spare(more),
		clustertest.Secure(func(i int) cluster.Identity { return k.servers[i] }),
		clustertest.Configure(func(_ int, c *cluster.Config) { c.Revoked = revoked }))...)
	k.client = k.Client()
	self, _ := k.servers[0].holder.Self()
	for i := range 3 {
		k.announce(i)
	}
	time.Sleep(time.Minute) // the leader begins the newest level
	k.do(fsm.FoundTrust{Cluster: k.roots.Cluster, Roots: []fsm.Root{{Cert: k.root.Chain[0].Raw}}, Server: "s1",
		Serial: self.Serial})
	for i := 1; i < 3; i++ {
		k.enter(noun.ServerIdentity, k.servers[i].holder)
	}
	k.host = trust.NewHolder(k.roots)
	k.renew(0, k.host, trust.Name{Cluster: k.roots.Cluster, Kind: trust.Host, ID: "h1"})
	k.enter(noun.HostIdentity, k.host)
	return k
}

func good[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// announce tells the cluster of a server what it reads.
func (k *known) announce(i int) {
	k.t.Helper()
	k.do(fsm.PutServer{ID: k.ID(i), RaftAddr: k.Addr(i), Version: "v", Features: cluster.FeatureLevel})
}

// server makes the folder of a server with a leaf and an issuing key.
func (k *known) server(id string) *identity {
	k.t.Helper()
	name := trust.Name{Cluster: k.roots.Cluster, Kind: trust.Server, ID: id}
	i := &identity{dir: trust.Dir(k.t.TempDir()), holder: trust.NewHolder(k.roots)}
	issuer := good(certified(func(csr []byte) ([]*certificate, error) {
		return k.root.Issuer(csr, name, trust.Stamp{Generation: 1}, time.Now())
	}))(k.t)
	if err := i.dir.Put(trust.IssuerFiles, issuer); err != nil {
		k.t.Fatal(err)
	}
	leaf := good(certified(func(csr []byte) ([]*certificate, error) {
		return i.Sign(csr, name, trust.Stamp{Generation: 1}, []string{"127.0.0.1"})
	}))(k.t)
	if err := i.holder.Set(leaf.Chain, leaf.Key); err != nil {
		k.t.Fatal(err)
	}
	return i
}

// renew gives a holder a certificate of now, which server i signs.
func (k *known) renew(i int, h *trust.Holder, name trust.Name) {
	k.t.Helper()
	stamp := trust.Stamp{Generation: 1}
	k.Replica(k.Leader()).Read(func(v *fsm.View) { stamp.Clock = int64(v.TrustClock()) })
	leaf := good(certified(func(csr []byte) ([]*certificate, error) {
		return k.servers[i].Sign(csr, name, stamp, nil)
	}))(k.t)
	if err := h.Set(leaf.Chain, leaf.Key); err != nil {
		k.t.Fatal(err)
	}
}

// enter lets a holder in by a token.
func (k *known) enter(kind noun.IdentityKind, h *trust.Holder) {
	k.t.Helper()
	self, _ := h.Self()
	hash := sha256.Sum256([]byte("secret of " + self.ID))
	made := k.do(fsm.PutToken{SecretHash: hash[:], Kind: kind, Uses: 1, For: time.Hour})
	k.do(fsm.UseToken{Token: noun.TokenID(made.Number()), SecretHash: hash[:], Kind: kind, Name: self.ID, Key: hash[:]})
	k.do(fsm.NoteLeaf{Kind: kind, Name: self.ID, Generation: 1, Serial: self.Serial, Key: hash[:]})
}

func (k *known) do(cmd fsm.Command) noun.Outcome {
	k.t.Helper()
	out := k.client.Patient(cmd)
	if out.Code != noun.OK {
		k.t.Fatalf("%T: %s: %s", cmd, out.Code, out.Detail)
	}
	return out
}

// counts is nil when a server takes calls of the holder of a certificate, by its own state.
func (k *known) counts(at int, h *trust.Holder) error {
	self, _ := h.Self()
	who := vouch.NewIdentities(k.servers[at].holder.Roots, reader{k.Replica(at)}, vouch.StandingOf)
	_, err := who.Principal(vouch.ClaimOf(self))
	return errors.Join(err, shake(k.servers[at].holder.Server(false), h.Client(nil)))
}

// shake has two ends shake hands.
func shake(server, client *tls.Config) error {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	at := tls.Server(a, server)
	done := make(chan error, 1)
	go func() {
		err := at.HandshakeContext(ctx)
		if err == nil {
			_, err = at.Write([]byte("x")) // the client hears only now whether it was taken
		}
		done <- err
	}()
	to := tls.Client(b, client)
	err := to.HandshakeContext(ctx)
	if err == nil {
		_, err = to.Read(make([]byte, 1))
	}
	_ = b.Close()
	return errors.Join(err, <-done)
}

// life starts the agent r/a on the host.
func (k *known) life() (agent noun.AgentID, inc noun.Incarnation) {
	k.t.Helper()
	k.do(fsm.RegisterHost{Key: "h1", Name: "one", Boot: "b1", Runners: []string{"sh"}})
	k.do(fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "sh"}}})
	var start fsm.OrderStart
	k.Await("the agent may be started", func() bool {
		k.Replica(k.Leader()).Read(func(v *fsm.View) {
			a := v.AgentByName("r/a")
			start = fsm.OrderStart{Agent: a.ID, Inc: v.NextInc(a), Host: v.HostByKey("h1").ID}
		})
		k.beat(0, 0)
		return k.client.Do(start).Code == noun.OK
	})
	k.do(fsm.AcceptOrder{Host: start.Host, Boot: "b1", Agent: start.Agent, Inc: start.Inc})
	k.do(fsm.ReportStarted{Host: start.Host, Agent: start.Agent, Inc: start.Inc, PID: 7})
	return start.Agent, start.Inc
}

// beat sends a beat of the host for one life, as it does all the time; false: nobody leads.
func (k *known) beat(agent noun.AgentID, inc noun.Incarnation) bool {
	beats := fsm.HostBeats{Host: 1, Boot: "b1"}
	if agent != 0 {
		beats.Packed = fsm.PackBeats(nil, []noun.AgentID{agent}, []noun.Incarnation{inc},
			[]uint8{fsm.BeatVouch | fsm.BeatFence})
	}
	for i := range k.servers {
		r := k.Replica(i)
		if r == nil || !r.Leader().Self {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		answer, err := r.Beat(ctx, beats)
		cancel()
		if err == nil && !answer.HostGone && len(answer.Exceptions) == 0 {
			return true
		}
	}
	return false
}

// beats goes on for that long, and gives how many were taken.
func (k *known) beats(lasting time.Duration, agent noun.AgentID, inc noun.Incarnation) (taken int) {
	for end := time.Now().Add(lasting); time.Now().Before(end); time.Sleep(15 * time.Second) {
		if k.beat(agent, inc) {
			taken++
		}
	}
	return taken
}

// L10: whatever time passes while all servers are off, no life ends, and no certificate of anybody, though
// the dates in all of them are over: certificates age in cluster time, which stood still.
func TestL10NoLifeEndsWhileAllServersAreOff(t *testing.T) {
	for _, away := range []time.Duration{48 * time.Hour, 400 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			k := newKnown(t, 0)
			agent, inc := k.life()
			if n := k.beats(5*time.Minute, agent, inc); n != 20 {
				t.Fatalf("%d beats are taken in 5 min", n)
			}
			for i := range 3 {
				k.Kill(i)
			}
			time.Sleep(away)
			if leaf := k.servers[0].holder; away > 90*24*time.Hour {
				cert := good(leaf.Server(true).GetCertificate(&tls.ClientHelloInfo{}))(t).Leaf
				if time.Now().Before(cert.NotAfter) {
					t.Fatalf("the certificate ends only at %s", cert.NotAfter)
				}
			}
			for i := range 3 {
				k.Restart(i)
			}
			k.Leader()
			if n := k.beats(5*time.Minute, agent, inc); n < 15 {
				t.Errorf("%s: %d beats are taken in 5 min", away, n)
			}
			k.Agree()
			for i := range 3 {
				for _, h := range []*trust.Holder{k.host, k.servers[(i+1)%3].holder} {
					if err := k.counts(i, h); err != nil {
						self, _ := h.Self()
						t.Errorf("%s: at server %d, %s: %v", away, i, self.Short(), err)
					}
				}
			}
			k.Replica(k.Leader()).Read(func(v *fsm.View) {
				if a := v.AgentByName("r/a"); a.Inc != inc || a.Proc != noun.ProcRunning || a.LastExit != nil {
					t.Errorf("L10: after %s the agent is in life %d, %v, ended by %v; it was in %d", away, a.Inc, a.Proc,
						a.LastExit, inc)
				}
			})
		})
	}
}

// A voter is away while the cluster grows to five and one of the new servers takes over: it knows neither
// of them, and takes the log from them all the same, and a server that was removed meanwhile gets nothing.
func TestVoterComesBackToServersItHasNeverHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKnown(t, 2)
		k.Kill(2)
		for i := 3; i < 5; i++ {
			k.enter(noun.ServerIdentity, k.servers[i].holder)
			k.announce(i)
			k.Restart(i)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := k.Replica(k.Leader()).AddServer(ctx, k.ID(i), k.Addr(i)); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		k.Kill(0)
		k.Await("a server that the voter does not know leads", func() bool {
			l := k.Leader()
			if l >= 3 {
				return true
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_ = k.Replica(l).Transfer(ctx, k.ID(3)) // it may have lost it meanwhile: asked again
			return false
		})
		k.do(fsm.ApplyRoom{Room: "while-it-was-away", Roles: []noun.RoleSpec{{Name: "a"}}})
		k.Kill(1) // so that every write needs the voter now
		k.Restart(2)
		k.do(fsm.ApplyRoom{Room: "after-it-is-back", Roles: []noun.RoleSpec{{Name: "a"}}})
		k.Agree()
		k.Replica(2).Read(func(v *fsm.View) {
			if v.Room("while-it-was-away") == nil {
				t.Error("L8: the voter lacks what was written while it was away")
			}
		})
		for _, i := range []int{2, 3, 4} {
			if err := k.counts(2, k.servers[i].holder); err != nil {
				t.Errorf("at the voter %s: %v", k.ID(i), err)
			}
		}
	})
}
