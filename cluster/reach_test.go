package cluster_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// doors stands for the APIs of three servers that call each other all the time.
type doors struct {
	mu   sync.Mutex
	shut [3]time.Time // since when; zero: open
}

// door is what one server's API knows.
type door struct {
	*doors
	i int
}

func (d *doors) set(i int, shut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut[i] = time.Time{}
	if shut {
		d.shut[i] = time.Now()
	}
}

func (d *doors) isShut(i int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.shut[i].IsZero()
}

// Heard: somebody reaches it while its own door and another one are open.
func (d *door) Heard() (last time.Time) {
	for j := range 3 {
		if at := d.between(d.i, j); j != d.i && at.After(last) {
			last = at
		}
	}
	return last
}

func (d *door) Reached(id string) time.Time { return d.between(d.i, int(id[1]-'1')) }

func (d *door) between(i, j int) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := time.Now()
	for _, shut := range []time.Time{d.shut[i], d.shut[j]} {
		if !shut.IsZero() && shut.Before(at) {
			at = shut
		}
	}
	return at
}

// withDoors makes three servers whose APIs can be shut; they have announced themselves.
func withDoors(t *testing.T, more ...clustertest.Option) (*clustertest.Cluster, *doors) {
	d := &doors{}
	c := clustertest.New(t, 3, append(more,
		clustertest.OnOpen(func(i int, r *cluster.Replica) { r.SetReach(&door{d, i}) }))...)
	k := c.Client()
	for i := range 3 {
		do(t, k, fsm.PutServer{ID: c.ID(i), RaftAddr: c.Addr(i), Features: cluster.FeatureLevel})
	}
	return c, d
}

// throughDoors beats at the leader if its API is reached.
func throughDoors(c *clustertest.Cluster, d *doors) func(context.Context, fsm.HostBeats) (noun.BeatAnswer, error) {
	return func(ctx context.Context, hb fsm.HostBeats) (noun.BeatAnswer, error) {
		for i := range 3 {
			if rep := c.Replica(i); rep != nil && rep.Leader().Self && !d.isShut(i) {
				return rep.Beat(ctx, hb)
			}
		}
		<-ctx.Done()
		return noun.BeatAnswer{}, ctx.Err()
	}
}

func unreached(r *cluster.Replica) (n int) {
	r.Read(func(s *fsm.View) {
		for e := range s.Events(0) {
			if e.Kind == "leader.unreached" {
				n++
			}
		}
	})
	return n
}

// L10: a leader whose API nobody reaches gives its office to a server that is
// reached, says why, and charges nobody for the beats that could not arrive.
func TestL10LeaderThatNobodyReachesLeavesItsOffice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := withDoors(t)
		p := prove(t, c, 5, throughDoors(c, d))
		time.Sleep(time.Minute)
		old := c.Leader()
		before := unreached(c.Replica(old))
		d.set(old, true)
		begun := time.Now()
		c.Await("another leader", func() bool { l := c.Leader(); return l != old })
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the office changed hands after %v", took)
		}
		time.Sleep(2 * time.Minute)
		if l := c.Leader(); l == old {
			t.Error("the server that nobody reaches leads again")
		}
		if n := unreached(c.Replica(c.Leader())); n-before != 1 {
			t.Errorf("%d events tell of it", n-before)
		}
		// The next one soon after: not at once, and no lease ends meanwhile.
		d.set(old, false)
		for range 5 {
			l := c.Leader()
			d.set(l, true)
			time.Sleep(12 * time.Second)
			d.set(l, false)
			time.Sleep(2 * time.Second)
		}
		p.end()
	})
}

// Offices that nobody reaches one after the other do not change hands at once.
func TestUnreachedLeaderStaysForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := withDoors(t)
		time.Sleep(time.Minute)
		old := c.Leader()
		d.set(old, true)
		c.Await("another leader", func() bool { return c.Leader() != old })
		for range 3 {
			l, begun := c.Leader(), time.Now()
			for i := range 3 {
				d.set(i, i == l)
			}
			c.Await("the next leader", func() bool { return c.Leader() != l })
			if took := time.Since(begun); took < 9*time.Second || took > 15*time.Second {
				t.Errorf("the office changed hands after %v", took)
			}
		}
	})
}

// When nobody is reached, nobody else would do better: the leader stays, cluster
// time stands still, and goes on when somebody is back.
func TestL10NobodyIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := withDoors(t)
		p := prove(t, c, 5, throughDoors(c, d))
		time.Sleep(30 * time.Second)
		l := c.Leader()
		before, had := clockOf(c.Replica(l)), unreached(c.Replica(l))
		for i := range 3 {
			d.set(i, true)
		}
		time.Sleep(10 * time.Minute)
		if c.Leader() != l || unreached(c.Replica(l)) != had {
			t.Error("the office changed hands for nothing")
		}
		if went := clockOf(c.Replica(l)).Sub(before); went > 3*time.Second {
			t.Errorf("L10: cluster time went %v while nobody was reached", went)
		}
		for i := range 3 {
			d.set(i, false)
		}
		before = clockOf(c.Replica(l))
		time.Sleep(time.Minute)
		if went := clockOf(c.Replica(l)).Sub(before); went < 50*time.Second {
			t.Errorf("cluster time went %v in the minute after", went)
		}
		p.end()
	})
}

// A member that never announced itself, or whose announcement is gone, keeps nobody from
// leaving an office in which nobody reaches it.
func TestF01UnreachedLeaderResignsBesideAnUnannouncedMember(t *testing.T) {
	for _, said := range []func(c *clustertest.Cluster, id string, i int) fsm.Command{
		func(c *clustertest.Cluster, id string, i int) fsm.Command {
			return fsm.PutServer{ID: id, RaftAddr: c.Addr(i)}
		},
		func(_ *clustertest.Cluster, id string, _ int) fsm.Command { return fsm.DropServer{ID: id} },
	} {
		synctest.Test(t, func(t *testing.T) {
			c, d := withDoors(t)
			l := c.Leader()
			old := (l + 1) % 3
			do(t, c.Client(), said(c, c.ID(old), old))
			d.set(l, true)
			c.Await("another leader", func() bool { return c.Leader() != l })
			if unreached(c.Replica(c.Leader())) != 1 {
				t.Error("nothing tells why the leader has changed")
			}
		})
	}
}
