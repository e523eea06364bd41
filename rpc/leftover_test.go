package rpc

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"google.golang.org/grpc/credentials/insecure"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/servers"
)

// lone are the members of a cluster whose only server is the first. As the replication does, a removal forgets the
// server, member or not.
type lone struct {
	servers.Members
	w *world
}

func (*lone) List(context.Context) ([]servers.Member, error) {
	return []servers.Member{{ID: "s1", Voter: true}}, nil
}

func (m *lone) Remove(_ context.Context, id string, _ bool) error {
	_, err := m.w.nodes[0].Submit(context.Background(), fsm.Request{Cmd: fsm.DropServer{ID: id}})
	return err
}

// What an interrupted removal, or an addition that was given up, has left of a server can be removed, and its
// identity with it. Of whom nothing is known, that is said.
func TestServerThatIsNoMemberCanBeRemoved(t *testing.T) {
	m := &lone{}
	w := startAs(t, 1, nil, func(cfg *Config) { cfg.Members = m }, insecure.NewCredentials())
	m.w = w
	hash := sha256.Sum256([]byte("secret"))
	use := func(id string) fsm.UseToken {
		return fsm.UseToken{Token: 1, SecretHash: hash[:], Kind: noun.ServerIdentity, Name: id, Key: hash[:]}
	}
	for _, cmd := range []fsm.Command{fsm.RaiseLevel{Level: fsm.NewestLevel},
		fsm.FoundTrust{Cluster: "c", Roots: []fsm.Root{{Cert: []byte("root")}}, Server: "s1"},
		fsm.PutToken{SecretHash: hash[:], Kind: noun.ServerIdentity, Uses: 5, For: time.Hour},
		use("announced"), fsm.PutServer{ID: "announced"}, use("joined")} {
		if err := w.do(cmd); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(id string) string {
		_, err := w.cluster(0).RemoveServer(within(t), &vigilv1.RemoveServerRequest{Server: id})
		return codeOf(err)
	}
	for _, id := range []string{"announced", "joined"} {
		if got := remove(id); got != "ok" {
			t.Errorf("the removal of a server that is %s: %s", id, got)
		}
		w.nodes[0].Read(func(st *fsm.View) {
			_, known := st.Member(id)
			if k := st.Credential(noun.ServerIdentity, id); known || k == nil || k.Gone == 0 {
				t.Errorf("of the server that is %s there is left: announced %v, identity %+v", id, known, k)
			}
		})
		if got := remove(id); got != "not_found" {
			t.Errorf("removed again: %s", got)
		}
	}
	if got := remove("nobody"); got != "not_found" {
		t.Errorf("the removal of a server that nobody knows: %s", got)
	}
}
