package cluster_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
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
		if err := c.Replica(c.Leader()).Restore(within(t, time.Minute), bytes.NewReader(backup.Bytes()),
			fsm.OthersUnsaid); err != nil {
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

// The backup of another cluster is refused, with a list of who is concerned, until it is said what becomes of
// them. Its people come with their roles when they are trusted; nobody here loses anything by it.
func TestTrustARestoreFromAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		found := func(uuid, admin string) *clustertest.Cluster {
			c := clustertest.New(t, 1)
			announce(t, c, 0, cluster.FeatureLevel)
			time.Sleep(time.Minute)
			do(t, c.Client(), fsm.FoundTrust{Cluster: uuid, Roots: []fsm.Root{{Cert: []byte(uuid)}},
				Server: c.ID(0), Admin: admin})
			return c
		}
		lost := found("lost", "ann")
		do(t, lost.Client(), fsm.PutUser{Name: "bob", Bindings: []noun.Binding{{Role: noun.Operator, Room: "web"}}})
		hash := sha256.Sum256([]byte("secret"))
		do(t, lost.Client(), fsm.PutToken{SecretHash: hash[:], Kind: noun.HostIdentity, Uses: 1, For: time.Hour})
		do(t, lost.Client(), fsm.UseToken{Token: 1, SecretHash: hash[:], Kind: noun.HostIdentity, Name: "h1", Key: hash[:]})
		var backup bytes.Buffer
		if err := lost.Replica(0).Snapshot(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		for others, people := range map[fsm.Others][]string{fsm.OthersRevoked: {"zoe"},
			fsm.OthersTrusted: {"ann", "bob", "zoe"}} {
			c := found("new", "zoe")
			room(t, c.Client())
			restore := func(others fsm.Others) error {
				return c.Replica(0).Restore(within(t, time.Minute), bytes.NewReader(backup.Bytes()), others)
			}
			err := restore(fsm.OthersUnsaid)
			if code(err) != noun.Conflict || !strings.Contains(err.Error(), "h1") || !strings.Contains(err.Error(), "ann, bob") {
				t.Errorf("without a word: %v", err)
			}
			c.Replica(0).Read(func(s *fsm.View) {
				if s.Counts().Rooms != 1 {
					t.Error("a refused restore has changed something")
				}
			})
			if err := restore(others); err != nil {
				t.Fatal(err)
			}
			c.Replica(0).Read(func(s *fsm.View) {
				var names []string
				for u := range s.Users() {
					names = append(names, u.Name)
				}
				if slices.Sort(names); !slices.Equal(names, people) || s.ClusterUUID() != "new" || s.Counts().Rooms != 0 {
					t.Errorf("people %v, want %v; the cluster is %s", names, people, s.ClusterUUID())
				}
				if u := s.User("bob"); u != nil && noun.RoleIn(u.Bindings, "web") != noun.Operator {
					t.Errorf("bob has %v", u.Bindings)
				}
				if k := s.Credential(noun.HostIdentity, "h1"); k != nil {
					t.Errorf("a host of the lost cluster is let in: %+v", k)
				}
				if err := s.Check(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// A server that was removed keeps its files, and its identity counts no more: it is no member again before it has
// joined anew, since all others would turn away the vote that it had.
func TestTrustARemovedServerIsNotAddedWithoutAnIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for i := range 3 {
			announce(t, c, i, cluster.FeatureLevel)
		}
		time.Sleep(time.Minute)
		client, l := c.Client(), c.Leader()
		do(t, client, fsm.FoundTrust{Cluster: "c", Roots: []fsm.Root{{Cert: []byte("root")}}, Server: c.ID(l)})
		hash := sha256.Sum256([]byte("secret"))
		do(t, client, fsm.PutToken{SecretHash: hash[:], Kind: noun.ServerIdentity, Uses: 5, For: time.Hour})
		join := func(i int) {
			do(t, client, fsm.UseToken{Token: 1, SecretHash: hash[:], Kind: noun.ServerIdentity, Name: c.ID(i), Key: hash[:]})
		}
		victim := (l + 1) % 3
		join(victim)
		join((l + 2) % 3)
		rep := c.Replica(l)
		if err := rep.RemoveServer(within(t, time.Minute), c.ID(victim), false); err != nil {
			t.Fatal(err)
		}
		members := func() int { return len(rep.Servers()) }
		err := rep.AddServer(within(t, time.Minute), c.ID(victim), c.Addr(victim))
		if code(err) != noun.Conflict ||
			!strings.Contains(err.Error(), "vigil token create --role server") || members() != 2 {
			t.Errorf("added with an identity that counts no more: %v; %d members", err, members())
		}
		c.Kill(victim)
		c.Empty(victim)
		join(victim)
		c.Restart(victim)
		if err := rep.AddServer(within(t, time.Minute), c.ID(victim), c.Addr(victim)); err != nil || members() != 3 {
			t.Errorf("joined anew: %v; %d members", err, members())
		}
		rep.Read(func(s *fsm.View) {
			if k := s.Credential(noun.ServerIdentity, c.ID(victim)); k == nil || k.Gone != 0 {
				t.Errorf("it has %+v", k)
			}
		})
	})
}
