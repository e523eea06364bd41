package cluster_test

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// L6: a restored backup revokes no member and brings nobody back: every server goes on under the generation
// that it has, a token that was used since is void, and a server that was removed since stays out.
func TestTrustL6ARestoreRevokesNoMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for i := range 3 {
			announce(t, c, i, cluster.FeatureLevel)
		}
		time.Sleep(time.Minute)
		client := c.Client()
		do(t, client, fsm.FoundTrust{Cluster: "c", Roots: []fsm.Root{{Cert: []byte("root")}}, Server: c.ID(0)})
		hash := sha256.Sum256([]byte("secret"))
		do(t, client, fsm.PutToken{SecretHash: hash[:], Kind: noun.ServerIdentity, Uses: 5, For: time.Hour})
		use := func(id string) fsm.UseToken {
			return fsm.UseToken{Token: 1, SecretHash: hash[:], Kind: noun.ServerIdentity, Name: id, Key: hash[:]}
		}
		do(t, client, use(c.ID(1)))
		do(t, client, use("gone"))
		do(t, client, fsm.PutServer{ID: "gone"})
		var backup bytes.Buffer
		if err := c.Replica(c.Leader()).Snapshot(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		do(t, client, use(c.ID(2)))
		do(t, client, fsm.DropServer{ID: "gone"})
		do(t, client, fsm.RevokeToken{Token: 1})
		if err := c.Replica(c.Leader()).Restore(within(t, time.Minute), bytes.NewReader(backup.Bytes())); err != nil {
			t.Fatal(err)
		}
		c.Agree()
		c.Replica(c.Leader()).Read(func(s *fsm.View) {
			for i := range 3 {
				if k := s.Credential(noun.ServerIdentity, c.ID(i)); k == nil || k.Generation != 1 || k.Gone != 0 {
					t.Errorf("member %s has %+v", c.ID(i), k)
				}
			}
			if k := s.Credential(noun.ServerIdentity, "gone"); k == nil || k.Generation != 2 || k.Gone == 0 {
				t.Errorf("a server that was removed has %+v", k)
			}
			if s.Token(1) != nil {
				t.Error("a token of the backup lets in")
			}
			if err := s.Check(); err != nil {
				t.Error(err)
			}
		})
	})
}
