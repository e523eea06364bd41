package cluster_test

import (
	"testing"

	"vigil/cluster/clustertest"
	"vigil/fsm"
)

func TestServersOnDiskKeepEverythingOverRestart(t *testing.T) {
	c := clustertest.New(t, 3, clustertest.OnDisk())
	k := c.Client()
	room(t, k)
	for range 50 {
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "t"})
	}
	c.Agree()
	for i := range 3 {
		if err := c.Stop(i); err != nil {
			t.Fatalf("stop server %d: %v", i, err)
		}
	}
	for i := range 3 {
		c.Restart(i)
	}
	do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
	c.Agree()
	c.Replica(c.Leader()).Read(func(s *fsm.State) {
		if n := s.Counts().Tasks; n[fsm.TaskPending]+n[fsm.TaskQueued] != 51 {
			t.Errorf("L8: %v tasks, want 51", n)
		}
	})
}
