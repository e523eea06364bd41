package cluster_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/logstore"
	"vigil/fsm"
)

// lost expects that server i ends because its data is gone.
func lost(t *testing.T, c *clustertest.Cluster, i int) {
	t.Helper()
	var ended error
	c.Await("the end of the emptied server", func() bool {
		ok, err := c.Ended(i)
		ended = err
		return ok
	})
	if !errors.Is(ended, cluster.ErrDataLost) {
		t.Errorf("L8: it ended with %v", ended)
	}
}

// A server whose data is gone must not take part as if nothing were: with its old vote
// and an empty log it could elect a leader that lacks writes. Nobody has announced
// itself here: it is refused from the first entry on.
func TestL8EmptiedServerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		l := c.Leader()
		victim := (l + 1) % 3
		c.Kill(victim)
		c.Empty(victim)
		c.Restart(victim)
		lost(t, c, victim)
		do(t, k, fsm.OpenSession{})

		rep := c.Replica(l)
		if err := rep.RemoveServer(within(t, time.Minute), c.ID(victim), false); err != nil {
			t.Fatal(err)
		}
		c.Agree()
		c.Restart(victim)
		time.Sleep(5 * time.Second)
		if r := c.Replica(victim); !r.Outside() || r.Stats().LastIndex > 0 {
			t.Errorf("removed and empty, it began anew: %+v", r.Stats())
		}
		if err := rep.AddServer(within(t, time.Minute), c.ID(victim), c.Addr(victim)); err != nil {
			t.Fatal(err)
		}
		if n := len(c.Replica(c.Leader()).Servers()); n != 3 {
			t.Errorf("%d servers", n)
		}
		c.Agree()
		c.Kill((victim + 1) % 3) // the other one needs its vote
		do(t, k, fsm.OpenSession{})
	})
}

// An acknowledged write is on the leader and one follower; the follower loses its data
// and the leader is cut off. What is left must not go on without the write.
func TestL8EmptiedServerElectsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		l := c.Leader()
		victim, behind := (l+1)%3, (l+2)%3
		c.Agree()
		c.Isolate(behind)
		do(t, k, fsm.OpenSession{})
		written := c.Replica(l).Stats().CommitIndex
		c.Kill(victim)
		c.Empty(victim)
		c.Isolate(l)
		c.Heal()
		c.Kill(l)
		c.Restart(victim)
		time.Sleep(time.Minute)
		for _, i := range []int{victim, behind} {
			if ended, err := c.Ended(i); ended {
				if i == victim && errors.Is(err, cluster.ErrDataLost) {
					continue
				}
				t.Fatalf("server %d ended: %v", i, err)
			}
			if c.Replica(i).Leader().ID != "" {
				t.Errorf("L8: the write at %d is lost: %+v", written, c.Replica(i).Stats())
			}
		}
		c.Restart(l)
		if c.Replica(victim) != nil {
			lost(t, c, victim)
		}
		do(t, k, fsm.OpenSession{})
		if now := c.Replica(c.Leader()).Stats().CommitIndex; now <= written {
			t.Errorf("L8: commit index %d, it was %d", now, written)
		}
	})
}

// The same over TCP and on disks, where only the directory is gone.
func TestServerThatLostItsDataIsRefused(t *testing.T) {
	var configs [3]cluster.Config
	c := clustertest.New(t, 3, clustertest.OnDisk(),
		clustertest.Configure(func(i int, cfg *cluster.Config) { configs[i] = *cfg }))
	victim := (c.Leader() + 1) % 3
	c.Agree()
	if err := c.Stop(victim); err != nil {
		t.Fatal(err)
	}
	cfg := configs[victim]
	if err := os.RemoveAll(cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", cfg.RaftAddr)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listener = l
	r, err := cluster.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(within(t, time.Minute)); !errors.Is(err, cluster.ErrDataLost) {
		t.Errorf("L8: emptied: %v", err)
	}
}

// Founding is for what is empty: a member is no new server, and keeps what it has.
func TestFoundingKeepsWhatIsThere(t *testing.T) {
	var cfg cluster.Config
	c := clustertest.New(t, 1, clustertest.OnDisk(), clustertest.Configure(func(_ int, s *cluster.Config) { cfg = *s }))
	do(t, c.Client(), fsm.OpenSession{})
	if err := cluster.Found(cfg); !errors.Is(err, logstore.ErrInUse) {
		t.Errorf("founded where a server runs: %v", err)
	}
	before, name := c.Replica(0).Stats().LastIndex, c.Replica(0).Cluster()
	if err := c.Stop(0); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Found(cfg); !errors.Is(err, cluster.ErrHasData) {
		t.Errorf("founded where a member is: %v", err)
	}
	c.Restart(0)
	c.Await("the member leads again", func() bool { return c.Replica(0).Stats().State == "Leader" })
	if after := c.Replica(0).Stats().LastIndex; after < before {
		t.Errorf("L8: %d entries, there were %d", after, before)
	}
	if now := c.Replica(0).Cluster(); now != name {
		t.Errorf("the cluster is %q, was %q", now, name)
	}
}
