package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
)

// needsSnapshot is a cluster of three and a fourth server that must be sent a snapshot.
func needsSnapshot(t *testing.T) (c *clustertest.Cluster, leader *cluster.Replica) {
	t.Helper()
	c = clustertest.New(t, 3, clustertest.Calm(), clustertest.Spare(1),
		clustertest.Configure(func(_ int, cfg *cluster.Config) { cfg.Limits.TrailingLogs = 64 }))
	k := c.Client()
	room(t, k)
	for i := range 200 {
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint(i)})
	}
	c.Agree()
	for i := range 3 { // whoever leads later sends one, too
		if err := cluster.TakeSnapshot(c.Replica(i)); err != nil {
			t.Fatal(err)
		}
	}
	leader = c.Replica(c.Leader())
	if first := cluster.FirstIndex(leader); first < 50 {
		t.Fatalf("the log begins at %d", first)
	}
	return c, leader
}

// A server joins however long its snapshot takes to come, as long as it comes.
func TestServerJoinsWhoseSnapshotTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, leader := needsSnapshot(t)
		c.SlowSend(6 * time.Minute)
		c.Restart(3)
		began := time.Now()
		if err := leader.AddServer(within(t, 24*time.Hour), c.ID(3), c.Addr(3)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 6*time.Minute {
			t.Errorf("it took %v only", took)
		}
		if got := roleOf(leader, c.ID(3)); got != "voter" {
			t.Errorf("it is a %s", got)
		}
		c.Agree()
	})
}

// Who waits for a server that learns may lose the connection and come back: the snapshot goes on.
func TestAdditionThatIsRepeatedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, leader := needsSnapshot(t)
		c.SlowSend(6 * time.Minute)
		c.Restart(3)
		ctx, cut := context.WithCancel(within(t, 24*time.Hour))
		defer cut()
		done := make(chan error, 1)
		go func() { done <- leader.AddServer(ctx, c.ID(3), c.Addr(3)) }()
		for c.Loads(3) == 0 {
			time.Sleep(time.Second)
		}
		time.Sleep(3 * time.Minute)
		cut()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("the first call: %v", err)
		}
		time.Sleep(2 * time.Second)
		if got := roleOf(leader, c.ID(3)); got != "learner" {
			t.Errorf("between the calls it is a %s", got)
		}
		again := time.Now()
		if err := leader.AddServer(within(t, 24*time.Hour), c.ID(3), c.Addr(3)); err != nil {
			t.Fatal(err)
		}
		if got := roleOf(leader, c.ID(3)); got != "voter" {
			t.Errorf("it is a %s", got)
		}
		if took := time.Since(again); took > 5*time.Minute {
			t.Errorf("it was sent another snapshot: the second call took %v", took)
		}
		c.Agree()
	})
}

// A server that learns nothing is given up, whoever waits for it and for however long: soon when it does not answer,
// later when it does.
func TestAdditionOfAServerThatLearnsNothingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, leader := needsSnapshot(t)
		ends := func(id, addr string, after, before time.Duration) {
			t.Helper()
			began := time.Now()
			err := leader.AddServer(within(t, 24*time.Hour), id, addr)
			if took := time.Since(began); !errors.Is(err, cluster.ErrNotLearning) || took < after || took > before {
				t.Errorf("server %s after %v: %v", id, took, err)
			}
			if got := roleOf(leader, id); got != "none" {
				t.Errorf("server %s is left behind as a %s", id, got)
			}
		}
		ends("x", "x.nowhere:1", 2*time.Minute, 3*time.Minute)
		const load = 10 * time.Minute
		c.SlowLoad(3, load)
		c.Restart(3)
		ends(c.ID(3), c.Addr(3), 5*time.Minute, 8*time.Minute)
		c.SlowLoad(3, 0)
		time.Sleep(load) // it has loaded what it was sent
	})
}
