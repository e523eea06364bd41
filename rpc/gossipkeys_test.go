package rpc

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// fakeKeys are keys by their ids.
type fakeKeys map[string][]byte

func (k fakeKeys) Secret(id string) []byte { return k[id] }

func (k fakeKeys) make(secret string) (id string) {
	sum := sha256.Sum256([]byte(secret))
	id = hex.EncodeToString(sum[:])[:noun.RingKeyDigits]
	k[id] = []byte(secret)
	return id
}

func fellow(kind trust.Kind, id string, generation uint64) trust.Peer {
	return trust.Peer{Name: trust.Name{Cluster: testCluster, Kind: kind, ID: id},
		Stamp: trust.Stamp{Generation: generation}}
}

// ringing is a cluster with two keys of gossip, of which the first server has both; the newer one is not
// used yet.
func ringing(t *testing.T) (w *world, service *vouch.Service, ids []string) {
	t.Helper()
	w, _ = trusting(t, 1)
	keys := fakeKeys{}
	service = w.servers[0].trust
	service.Keys = keys
	ids = []string{keys.make("first"), keys.make("second")}
	keys.make("of no ring")
	for _, cmd := range []fsm.Command{fsm.PutServer{ID: "s1"}, fsm.AddGossipKey{ID: ids[0]},
		fsm.AckGossip{Server: "s1", Rev: 1}, fsm.StepGossip{Rev: 1}, fsm.AddGossipKey{ID: ids[1], Rev: 2}} {
		if err := w.do(cmd); err != nil {
			t.Fatal(err)
		}
	}
	return w, service, ids
}

// Keys of the ring go to servers of the cluster that ask for them, and to nobody else.
func TestGossipKeysGoToServersOfTheCluster(t *testing.T) {
	w, service, ids := ringing(t)
	ask := func(as trust.Peer, ids ...string) (*vigilv1.GetGossipKeysResponse, error) {
		return service.GetGossipKeys(withCaller(within(t), as), &vigilv1.GetGossipKeysRequest{Keys: ids})
	}
	got, err := ask(fellow(trust.Server, "s1", 1), ids...)
	if err != nil || len(got.GetKeys()) != 2 || string(got.GetKeys()[0].GetSecret()) != "first" ||
		!got.GetKeys()[0].GetUsed() || got.GetKeys()[1].GetUsed() || got.GetKeys()[1].GetNumber() != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	other := fakeKeys{}
	for _, id := range []string{other.make("of no ring"), other.make("nobody's"), ""} {
		if got, err := ask(fellow(trust.Server, "s1", 1), id); err != nil || len(got.GetKeys()) > 0 {
			t.Errorf("key %q: %v, %v", id, got, err)
		}
	}
	for name, as := range map[string]trust.Peer{"a server that is no member": fellow(trust.Server, "s9", 1),
		"a host of a server's name": fellow(trust.Host, "s1", 1), "the admin": fellow(trust.User, "ann", 1)} {
		if got, err := ask(as, ids...); codeOf(err) != "denied" {
			t.Errorf("%s gets %v, %v", name, got, err)
		}
	}
	if _, err := ask(fellow(trust.Server, "s1", 1), "a", "b", "c"); codeOf(err) != "invalid" {
		t.Errorf("three keys at once: %v", err)
	}
	ring, err := w.trust(0).GetGossip(within(t), &vigilv1.GetGossipRequest{})
	if err != nil || ring.GetStep() != "spread" || len(ring.GetKeys()) != 2 || ring.GetServers()[0].GetDone() {
		t.Errorf("%v, %v", ring, err)
	}
	if _, err := w.trust(0).ReportGossip(within(t), &vigilv1.ReportGossipRequest{Server: "s1", Revision: 3}); err != nil {
		t.Error(err)
	}
	if _, err := w.trust(0).ReportGossip(within(t), &vigilv1.ReportGossipRequest{Revision: 3}); codeOf(err) != "invalid" {
		t.Errorf("nobody's report: %v", err)
	}
	was, err := w.trust(0).RotateGossip(within(t), &vigilv1.RotateGossipRequest{})
	if err != nil || was.GetNumber() != 2 {
		t.Errorf("%v, %v", was, err)
	}
	ring, err = w.trust(0).GetGossip(within(t), &vigilv1.GetGossipRequest{})
	if err != nil || ring.GetWhy() == "" || !ring.GetServers()[0].GetDone() {
		t.Errorf("%v, %v", ring, err)
	}
}
