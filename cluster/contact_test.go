package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster/clustertest"
)

// A server that has led, or has asked for votes while another one was away, follows now and asks nobody: it does not
// go on to call the others silent for as long as it runs. It hears the leader.
func TestWhoFollowsCallsNobodySilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		room(t, c.Client())
		for range 4 { // each has led, or was away while another one was elected
			old := c.Leader()
			c.Kill(old)
			c.Leader()
			c.Restart(old)
			c.Agree()
		}
		for range 3 { // and hands that over
			if err := c.Replica(c.Leader()).Transfer(within(t, time.Minute), ""); err != nil {
				t.Fatal(err)
			}
			c.Agree()
		}
		time.Sleep(time.Minute)
		leader := c.Leader()
		for i := range 3 {
			for _, s := range c.Replica(i).Servers() {
				heard := s.Self || s.Leader || i == leader
				if heard && (s.Contact < 0 || s.Contact > time.Second) || !heard && s.Contact >= 0 {
					t.Errorf("server %d, leading %v, hears %s since %s", i, i == leader, s.ID, s.Contact)
				}
			}
		}
	})
}
