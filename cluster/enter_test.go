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
	for _, founder := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := clustertest.New(t, 3)
			k := c.Client()
			l := c.Leader()
			victim := (l + 1) % 3
			c.Kill(victim)
			c.Empty(victim, founder)
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
}

// An acknowledged write is on the leader and one follower; the follower loses its data
// and the leader is cut off. What is left must not go on without the write.
func TestL8EmptiedServerElectsNobody(t *testing.T) {
	for _, founder := range []bool{true, false} {
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
			c.Empty(victim, founder)
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
}

// Founders come one after the other, in any order, and some are restarted before the
// last one is there.
func TestFoundersStartInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		for _, again := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t, 3, clustertest.Later())
				for n, i := range order {
					c.Restart(i)
					time.Sleep(30 * time.Second)
					if again && n < 2 {
						c.Kill(order[0])
						if n == 0 {
							c.Empty(i, true) // it has promised nothing yet
						}
						c.Restart(order[0])
					}
				}
				do(t, c.Client(), fsm.OpenSession{})
				c.Agree()
			})
		}
	}
}

// One founder hears all others and goes first; the others hear each other later.
func TestFounderMayComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Later())
		c.Cut(1, 2)
		for i := range 3 {
			c.Restart(i)
		}
		time.Sleep(30 * time.Second)
		for i, last := range []uint64{1, 0, 0} {
			if got := c.Replica(i).Stats().LastIndex; got != last {
				t.Errorf("server %d has %d entries, want %d", i, got, last)
			}
		}
		c.Heal()
		do(t, c.Client(), fsm.OpenSession{})
		c.Agree()
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
	for _, founders := range []int{3, 0} {
		cfg := configs[victim]
		if err := os.RemoveAll(cfg.DataDir); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", cfg.RaftAddr)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Listener, cfg.BootstrapExpect = l, founders
		r, err := cluster.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(within(t, time.Minute)); !errors.Is(err, cluster.ErrDataLost) {
			t.Errorf("L8: emptied, with %d founders: %v", founders, err)
		}
	}
}
