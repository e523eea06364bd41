package cluster_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
)

// F12: a server that takes longer to load a snapshot than lies between two of them catches up
// while others write: the log still has what comes behind the one that it was sent.
func TestF12SlowFollowerCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const load = 75 * time.Second // raft looks every 30 to 60 s whether a snapshot is due
		c := clustertest.New(t, 3, clustertest.Calm(), clustertest.Configure(func(_ int, cfg *cluster.Config) {
			cfg.Limits.SnapshotEntries = 150
		}))
		k := c.Client()
		room(t, k)
		leader := c.Leader()
		slow := (leader + 1) % 3
		c.Kill(slow)
		write := func(span time.Duration) {
			for end := time.Now().Add(span); time.Now().Before(end); {
				do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint(span)})
				time.Sleep(100 * time.Millisecond)
			}
		}
		first := cluster.FirstIndex(c.Replica(leader))
		for tries := 0; cluster.FirstIndex(c.Replica(leader)) == first; tries++ {
			if tries == 40 {
				t.Fatal("the log was never cut")
			}
			write(30 * time.Second)
		}
		c.SlowLoad(slow, load)
		c.Restart(slow)
		behind := func() uint64 {
			var has, of uint64
			c.Replica(slow).Read(func(s *fsm.View) { has = s.LastIndex() })
			c.Replica(leader).Read(func(s *fsm.View) { of = s.LastIndex() })
			return of - has
		}
		for began := time.Now(); ; {
			write(5 * time.Second)
			if behind() < 100 {
				break
			}
			if time.Since(began) > 6*load {
				t.Fatalf("after %v it is %d entries behind, and was sent %d snapshots", time.Since(began),
					behind(), c.Loads(slow))
			}
		}
		c.SlowLoad(slow, 0)
		c.Agree()
	})
}

// A leader that is stopped while it sends a snapshot to a server that takes long to load it does not
// wait for that. What the next leader sends again and again meanwhile does not make the server, once it has
// loaded it, refuse all entries and be sent the same snapshot for ever.
func TestF12StopDoesNotWaitForASnapshotThatIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const load = 2 * time.Minute
		c := clustertest.New(t, 3, clustertest.Calm(), clustertest.Configure(func(_ int, cfg *cluster.Config) {
			cfg.Limits.SnapshotEntries, cfg.Limits.TrailingLogs = 150, 64
		}))
		k := c.Client()
		room(t, k)
		leader := c.Leader()
		slow := (leader + 1) % 3
		c.Kill(slow)
		for i := range 200 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint(i)})
		}
		first := cluster.FirstIndex(c.Replica(leader))
		c.Await("a shorter log", func() bool { return cluster.FirstIndex(c.Replica(leader)) > first+100 })
		c.SlowLoad(slow, load)
		before := c.Loads(slow)
		c.Restart(slow)
		c.Await("the snapshot that is sent", func() bool { return c.Loads(slow) > before })
		began := time.Now()
		if err := c.Stop(leader); err != nil {
			t.Errorf("stop: %v", err)
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %s to stop", took)
		}
		c.SlowLoad(slow, 0)
		time.Sleep(load)
		c.Restart(leader)
		c.Agree()
	})
}
