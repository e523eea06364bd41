package hosts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// fakeKeys are keys of gossip by their ids.
type fakeKeys map[string][]byte

func (k fakeKeys) Secret(id string) []byte { return k[id] }

func (k fakeKeys) make(secret string) (id string) {
	sum := sha256.Sum256([]byte(secret))
	id = hex.EncodeToString(sum[:])[:noun.RingKeyDigits]
	k[id] = []byte(secret)
	return id
}

func fellow(kind who.Kind, name string, generation uint64) who.Claim {
	return who.Claim{Kind: kind, Name: name, Generation: generation}
}

// replica is one without a log.
type replica struct {
	base.Reader // nobody asks it for a leader
	st          *fsm.State
	index       uint64
}

func (r *replica) Read(fn func(*fsm.View)) { fn(&r.st.View) }

func (r *replica) do(t *testing.T, cmd fsm.Command) {
	t.Helper()
	r.index++
	res := r.st.Apply(&fsm.Entry{Index: r.index, Term: 1, Stint: 1, Requests: []fsm.Request{{Cmd: cmd}}})
	if out := res.Outcomes[0]; out.Code != noun.OK {
		t.Fatalf("%T: %s: %s", cmd, out.Code, out.Detail)
	}
}

// ringed is a cluster with two keys of gossip, of which this server has both, and with host h1, whose name
// in certificates is k1.
func ringing(t *testing.T) (r *replica, keys fakeKeys, ids []string) {
	t.Helper()
	cluster := trust.NewCluster()
	root, err := trust.NewRoot(cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r, keys = &replica{st: fsm.New()}, fakeKeys{}
	ids = []string{keys.make("first"), keys.make("second")}
	hash := sha256.Sum256([]byte("secret"))
	for _, cmd := range []fsm.Command{fsm.LeaderEstablished{Server: "s1", APIAddr: "a:1"},
		fsm.RaiseLevel{Level: fsm.NewestLevel}, fsm.FoundTrust{Cluster: cluster,
			Roots: []fsm.Root{{Cert: root.Chain[0].Raw}}, Server: "s1", Serial: "1", Admin: "ann"},
		fsm.PutServer{ID: "s1"}, fsm.AddGossipKey{ID: ids[0]}, fsm.AckGossip{Server: "s1", Rev: 1},
		fsm.StepGossip{Rev: 1}, fsm.AddGossipKey{ID: ids[1], Rev: 2},
		fsm.PutToken{SecretHash: hash[:], Kind: noun.HostIdentity, Uses: 1, For: time.Hour},
		fsm.UseToken{Token: 1, SecretHash: hash[:], Kind: noun.HostIdentity, Name: "k1", Key: hash[:]},
		fsm.RegisterHost{Key: "k1", Name: "h1", Boot: "b1"}} {
		r.do(t, cmd)
	}
	return r, keys, ids
}

// A host gets the keys once for each revision, over its own stream; one that was revoked or forgotten, and
// whoever has no identity, gets none, and nobody waits for them.
func TestGossipKeysGoToHostsWithAnIdentity(t *testing.T) {
	w, keys, ids := ringing(t)
	host := w.st.HostByKey("k1").ID
	agent := NewService(&base.Core{Reader: w, Keys: keys}, NewStreams(), nil, false)
	opened := func() *stream { return &stream{host: host} }
	as := func(p who.Claim, s *stream) *vigilv1.GossipKeys {
		return agent.keysFor(who.With(t.Context(), &who.Principal{Claim: p}), s)
	}

	s := opened()
	got := as(fellow(who.Host, "k1", 1), s)
	if got.GetRevision() != 3 || len(got.GetKeys()) != 2 || !bytes.Equal(got.GetKeys()[1].GetSecret(), []byte("second")) {
		t.Fatalf("%v", got)
	}
	if again := as(fellow(who.Host, "k1", 1), s); again != nil {
		t.Errorf("sent again: %v", again)
	}
	agent.streams.streams[host] = s
	if agent.streams.Taken(3) {
		t.Error("the host has not said that it has the keys")
	}
	if s.keys.taken.Store(3); !agent.streams.Taken(3) || agent.streams.Taken(4) {
		t.Error("the host has said that it has the keys")
	}
	for name, p := range map[string]who.Claim{"another host": fellow(who.Host, "k2", 1), "nobody": {},
		"a server": fellow(who.Server, "s1", 1)} {
		if got := as(p, opened()); got != nil {
			t.Errorf("%s gets %v", name, got)
		}
	}
	agent.Keys = fakeKeys{ids[0]: []byte("first")} // this server does not have the newest one yet
	if got := as(fellow(who.Host, "k1", 1), opened()); got != nil {
		t.Errorf("half of the ring is sent: %v", got)
	}
	agent.Keys = fakeKeys{ids[1]: []byte("second")} // the older one was lost
	if got := as(fellow(who.Host, "k1", 1), opened()); len(got.GetKeys()) != 1 {
		t.Errorf("%v", got)
	}
	w.do(t, fsm.RaiseGeneration{Kind: noun.HostIdentity, Name: "k1"})
	s = opened()
	if got := as(fellow(who.Host, "k1", 1), s); got != nil || s.keys.taken.Load() != 3 {
		t.Errorf("a host that was revoked gets %v, and is waited for until it has %d", got, s.keys.taken.Load())
	}
}
