package cluster_test

import (
	"testing"
	"testing/synctest"

	"vigil/cluster/clustertest"
	"vigil/fsm"
)

// What a server has said of its gossip outlives its election.
func TestF16ElectionKeepsTheGossipAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		gossip := func(i int) (addr string) {
			c.Replica(c.Leader()).Read(func(s *fsm.View) {
				for _, srv := range s.Servers() {
					if srv.ID == c.ID(i) {
						addr = srv.GossipAddr
					}
				}
			})
			return addr
		}
		for i := range 3 {
			do(t, c.Client(), fsm.PutServer{ID: c.ID(i), RaftAddr: c.Addr(i), APIAddr: "api",
				Version: "older", GossipAddr: "10.0.0.1:7422"})
		}
		for range 3 {
			l := c.Leader()
			c.Isolate(l)
			c.Await("another leader", func() bool { now := c.Leader(); return now >= 0 && now != l })
			if got := gossip(c.Leader()); got != "10.0.0.1:7422" {
				t.Errorf("the new leader gossips at %q", got)
			}
			c.Heal()
		}
	})
}
