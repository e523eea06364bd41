package cluster_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// roleOf tells what a server is for the one that is asked.
func roleOf(r *cluster.Replica, id string) string {
	list := r.Servers()
	i := slices.IndexFunc(list, func(s cluster.Server) bool { return s.ID == id })
	switch {
	case i < 0:
		return "none"
	case list[i].Voter:
		return "voter"
	case list[i].Standby:
		return "standby"
	}
	return "learner"
}

// A standby stays without a vote however long nobody waits for it, is promoted and demoted, and what cannot be
// carried on with is refused.
func TestStandbyIsKeptPromotedAndDemoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(1))
		c.Restart(3)
		l := c.Leader()
		rep, id := c.Replica(l), c.ID(3)
		want := func(role string) {
			t.Helper()
			if got := roleOf(rep, id); got != role {
				t.Fatalf("server %s is a %s, not a %s", id, got, role)
			}
		}
		if err := rep.AddStandby(within(t, time.Minute), id, c.Addr(3)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // in the bubble: an orphan would be gone
		want("standby")
		if err := rep.Transfer(within(t, time.Minute), id); code(err) != noun.Conflict {
			t.Errorf("leadership for a standby: %v", err)
		}
		for range 2 { // it can be repeated
			if err := rep.Promote(within(t, time.Minute), id); err != nil {
				t.Fatal(err)
			}
		}
		want("voter")
		if err := rep.AddStandby(within(t, time.Minute), id, c.Addr(3)); code(err) != noun.Conflict {
			t.Errorf("a voter was added as a standby: %v", err)
		}
		for range 2 {
			if err := rep.Demote(within(t, time.Minute), id, false); err != nil {
				t.Fatal(err)
			}
		}
		want("standby")
		if err := rep.Promote(within(t, time.Minute), "s77"); code(err) != noun.NotFound {
			t.Errorf("a stranger was promoted: %v", err)
		}
		c.Isolate((l + 1) % 3)
		if err := rep.Demote(within(t, time.Minute), c.ID((l+2)%3), false); code(err) != noun.Conflict {
			t.Errorf("the majority was given away: %v", err)
		}
		c.Heal()
		if err := rep.RemoveServer(within(t, time.Minute), id, false); err != nil {
			t.Fatal(err)
		}
		want("none")
		rep.Read(func(s *fsm.View) {
			if s.Standby(id) {
				t.Error("a server that was removed is still called a standby")
			}
		})
		c.Kill(3)
		c.Agree()
	})
}

// A server that nobody hears gives its vote to the standby by itself, also when the leader dies in between; when it
// comes back it is the next standby, and all states agree.
func TestStandbyTakesThePlaceOfALostServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(1))
		c.Restart(3)
		l := c.Leader()
		if err := c.Replica(l).AddStandby(within(t, time.Minute), c.ID(3), c.Addr(3)); err != nil {
			t.Fatal(err)
		}
		for i := range 4 { // as servers do, and else nobody knows what they can read
			c.Submit(fsm.Request{Cmd: fsm.PutServer{ID: c.ID(i), RaftAddr: c.Addr(i), Features: cluster.FeatureLevel}})
		}
		lost := (l + 1) % 3
		c.Kill(lost)
		time.Sleep(9 * time.Minute)
		if got := roleOf(c.Replica(c.Leader()), c.ID(lost)); got != "voter" {
			t.Fatalf("after 9 minutes it is a %s", got)
		}
		time.Sleep(90 * time.Second)
		lead := c.Replica(c.Leader())
		if a, b := roleOf(lead, c.ID(lost)), roleOf(lead, c.ID(3)); a != "standby" || b != "voter" {
			t.Fatalf("after 10 minutes the lost server is a %s and the standby a %s", a, b)
		}
		c.Restart(lost)
		c.Agree()
		second := c.Leader()
		c.Kill(second) // the cluster stands this loss as it stood the first
		time.Sleep(11 * time.Minute)
		lead = c.Replica(c.Leader())
		if a, b := roleOf(lead, c.ID(second)), roleOf(lead, c.ID(lost)); a != "standby" || b != "voter" {
			t.Fatalf("the second lost server is a %s and the first a %s", a, b)
		}
		c.Restart(second)
		c.Agree()
	})
}
