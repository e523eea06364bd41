package cluster_test

import (
	"crypto/sha256"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// L9: who was demoted stays a standby. A server that joins asks to be added at every start, and gets no vote by it;
// only a promotion gives that back.
func TestL9StandbyThatAsksToBeAddedStaysOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(1))
		c.Restart(3)
		rep, id := c.Replica(c.Leader()), c.ID(3)
		add := func() {
			t.Helper()
			if err := rep.AddServer(within(t, time.Minute), id, c.Addr(3)); err != nil {
				t.Fatal(err)
			}
		}
		want := func(role string) {
			t.Helper()
			if got := roleOf(rep, id); got != role {
				t.Fatalf("server %s is a %s, not a %s", id, got, role)
			}
		}
		add()
		want("voter")
		if err := rep.Demote(within(t, time.Minute), id, false); err != nil {
			t.Fatal(err)
		}
		c.Agree()
		c.Kill(3)
		c.Restart(3)
		add() // before it knows what it is
		want("standby")
		c.Agree()
		if c.Replica(3).Outside() {
			t.Error("a standby that knows what it is asks to be added")
		}
		add()
		time.Sleep(time.Minute)
		want("standby")
		if err := rep.AddServer(within(t, time.Minute), id, "10.9.9.9:1"); code(err) != noun.Conflict {
			t.Errorf("a standby at another address: %v", err)
		}
		if err := rep.Promote(within(t, time.Minute), id); err != nil {
			t.Fatal(err)
		}
		want("voter")
	})
}

// L9: a server that is demoted while it learns the log gets no vote when it has.
func TestL9DemotedWhileItJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(1))
		rep, id := c.Replica(c.Leader()), c.ID(3)
		done := make(chan error, 1)
		go func() { done <- rep.AddServer(within(t, time.Hour), id, c.Addr(3)) }()
		c.Await("the new member", func() bool { return roleOf(rep, id) == "learner" })
		if err := rep.Demote(within(t, time.Minute), id, false); err != nil {
			t.Fatal(err)
		}
		c.Restart(3)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c.Agree()
		if got := roleOf(rep, id); got != "standby" {
			t.Errorf("it is a %s", got)
		}
	})
}

// What is left of a standby whose removal was interrupted keeps the vote from nobody who is added anew.
func TestStandbyOfBeforeIsAVoterWhenItIsAddedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(1))
		for i := range 3 {
			announce(t, c, i, cluster.FeatureLevel)
		}
		rep, id := c.Replica(c.Leader()), c.ID(3)
		do(t, c.Client(), fsm.SetStandby{ID: id, Standby: true})
		c.Restart(3)
		if err := rep.AddServer(within(t, time.Minute), id, c.Addr(3)); err != nil {
			t.Fatal(err)
		}
		if got := roleOf(rep, id); got != "voter" {
			t.Errorf("it is a %s", got)
		}
	})
}

// A leader that dies between raft's configuration and the state leaves a server that is known and no member. It is
// forgotten, with its identity, but not before it had time to come back if it is one that joins.
func TestServerThatIsNoMemberIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for i := range 3 {
			announce(t, c, i, cluster.FeatureLevel)
		}
		time.Sleep(time.Minute)
		client := c.Client()
		do(t, client, fsm.FoundTrust{Cluster: "c", Roots: []fsm.Root{{Cert: []byte("root")}}, Server: c.ID(c.Leader())})
		hash := sha256.Sum256([]byte("secret"))
		do(t, client, fsm.PutToken{SecretHash: hash[:], Kind: noun.ServerIdentity, Uses: 5, For: time.Hour})
		do(t, client, fsm.UseToken{Token: 1, SecretHash: hash[:], Kind: noun.ServerIdentity, Name: "x", Key: hash[:]})
		do(t, client, fsm.PutServer{ID: "x"})
		want := func(when string, known bool) {
			t.Helper()
			c.Agree()
			c.Replica(c.Leader()).Read(func(s *fsm.View) {
				_, announced := s.Member("x")
				k := s.Credential(noun.ServerIdentity, "x")
				if announced != known || (k.Gone == 0) != known {
					t.Errorf("%s: announced %v, identity %+v", when, announced, k)
				}
			})
		}
		time.Sleep(9 * time.Minute)
		want("after 9 minutes", true)
		joins, giveUp := adding(t, c, "x")
		time.Sleep(2 * time.Minute)
		want("while it is added", true)
		giveUp()
		if err := <-joins; err == nil {
			t.Error("a server that is not there was added")
		}
		time.Sleep(9 * time.Minute)
		want("9 minutes after its addition was given up", true)
		time.Sleep(2 * time.Minute)
		want("11 minutes after its addition was given up", false)
		c.Replica(c.Leader()).Read(func(s *fsm.View) {
			if n := len(s.Servers()); n != 3 {
				t.Errorf("%d servers are left: %+v", n, s.Servers())
			}
		})
	})
}

// A removal that was interrupted is repeated: what is left of the server goes at once.
func TestRemovalIsRepeatedForAServerThatIsNoMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		do(t, c.Client(), fsm.PutServer{ID: "x"})
		rep := c.Replica(c.Leader())
		if err := rep.RemoveServer(within(t, time.Minute), "x", false); err != nil {
			t.Fatal(err)
		}
		rep.Read(func(s *fsm.View) {
			if _, announced := s.Member("x"); announced {
				t.Error("it is still known")
			}
		})
	})
}
