package cluster_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/logstore"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Two of three servers are gone for good. The third alone goes on as the cluster, with all that it
// had, a new epoch and a hold; a server that was given up and comes back is turned away.
func TestN07OneServerGoesOnAlone(t *testing.T) {
	var configs [3]cluster.Config
	c := clustertest.New(t, 3, clustertest.OnDisk(),
		clustertest.Configure(func(i int, cfg *cluster.Config) { configs[i] = *cfg }))
	k := c.Client()
	room(t, k)
	for range 20 {
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "t"})
	}
	survivor := (c.Leader() + 1) % 3
	if err := cluster.TakeSnapshot(c.Replica(survivor)); err != nil {
		t.Fatal(err)
	}
	do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "behind the snapshot"})
	c.Agree()
	var epoch uint32
	var next noun.TaskID
	var clock noun.Time
	c.Replica(survivor).Read(func(s *fsm.View) { epoch, next, clock = s.Epoch(), s.Meta.NextTask, s.Clock() })
	path := configs[survivor].DataDir
	if _, err := cluster.Recover(path, cluster.Recovering{Do: true}); !errors.Is(err, logstore.ErrInUse) {
		t.Errorf("recover a server that runs: %v", err)
	}
	for i := range 3 {
		if err := c.Stop(i); err != nil {
			t.Fatalf("stop server %d: %v", i, err)
		}
	}
	plan, err := cluster.Recover(path, cluster.Recovering{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Server != c.ID(survivor) || plan.RaftAddr != c.Addr(survivor) || len(plan.Lost) != 2 ||
		slices.ContainsFunc(plan.Lost, func(p cluster.Peer) bool {
			return p.ID == plan.Server ||
				p.RaftAddr == plan.RaftAddr
		}) {
		t.Errorf("the plan is %+v", plan)
	}
	if got := plan.State.Clock(); got < clock || clock == 0 {
		t.Errorf("the plan's clock is %s, the server's was %s", got.Sub(0), clock.Sub(0))
	}
	if n := plan.State.Counts().Tasks; n[noun.TaskPending]+n[noun.TaskQueued] != 21 {
		t.Errorf("L8: the plan knows %v tasks, want 21", n)
	}
	done, err := cluster.Recover(path, cluster.Recovering{Do: true})
	if err != nil || done.Was != plan.Was || done.Cluster != plan.Cluster || done.Cluster == done.Was {
		t.Fatalf("recovered %+v, %v; the plan was %+v", done, err, plan)
	}

	c.Restart(survivor)
	for i := range 3 { // those that were given up come back
		if i != survivor {
			c.Restart(i)
		}
	}
	c.Replica(survivor).Read(func(s *fsm.View) {
		if len(s.Servers()) > 1 {
			t.Errorf("members %v", s.Servers())
		}
	})
	c.Await("the server leads alone", func() bool { return c.Replica(survivor).Stats().State == "Leader" })
	c.Replica(survivor).Read(func(s *fsm.View) {
		if s.Epoch() <= epoch || s.StartsHeld() == 0 {
			t.Errorf("L7: epoch %d after %d, starts held for %s", s.Epoch(), epoch, s.StartsHeld())
		}
		if s.Meta.NextTask <= next+1000 {
			t.Errorf("L8: the next task has number %d, the lost servers may have had more than %d",
				s.Meta.NextTask, next)
		}
		if n := s.Counts().Tasks; n[noun.TaskPending]+n[noun.TaskQueued] != 21 {
			t.Errorf("L8: %v tasks, want 21", n)
		}
	})
	for i := range 3 {
		if i != survivor && c.Replica(survivor).Cluster() == c.Replica(i).Cluster() {
			t.Errorf("server %d is of the same cluster as the one that was recovered", i)
		}
	}
}

// A server that goes on alone may have another address: one that always was alone, and one whose cluster moves.
func TestRecoveredServerHasItsNewAddress(t *testing.T) {
	for _, n := range []int{1, 3} {
		configs := map[int]cluster.Config{}
		c := clustertest.New(t, n, clustertest.OnDisk(), clustertest.Spare(1),
			clustertest.Configure(func(i int, cfg *cluster.Config) { configs[i] = *cfg }))
		k := c.Client()
		room(t, k)
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "kept"})
		c.Agree()
		for i := range n {
			if err := c.Stop(i); err != nil {
				t.Fatal(err)
			}
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		cfg := configs[0]
		cfg.RaftAddr, cfg.Listener = l.Addr().String(), l
		start := func() (*cluster.Replica, chan error) {
			rep, err := cluster.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- rep.Run(ctx) }()
			t.Cleanup(cancel)
			return rep, done
		}
		_, ended := start()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "--raft-addr "+cfg.RaftAddr) ||
			strings.Contains(err.Error(), "empty") != (n > 1) {
			t.Errorf("%d servers, at another address: %v", n, err)
		}
		done, err := cluster.Recover(cfg.DataDir, cluster.Recovering{Do: true, RaftAddr: cfg.RaftAddr})
		if err != nil || done.RaftAddr != cfg.RaftAddr || len(done.Lost) != n-1 {
			t.Fatalf("%d servers: %+v, %v", n, done, err)
		}
		if l, err = net.Listen("tcp", cfg.RaftAddr); err != nil {
			t.Fatal(err)
		}
		cfg.Listener = l
		rep, ended := start()
		c.Await("it leads at its new address", func() bool { return rep.Leader().Self })
		if got := tasks(rep); got["kept"] != 1 {
			t.Errorf("%d servers: tasks %v", n, got)
		}
		c.Restart(n)
		if err := rep.AddServer(within(t, time.Minute), c.ID(n), c.Addr(n)); err != nil {
			t.Errorf("%d servers: another one joins: %v", n, err)
		}
		if err := c.Stop(n); err != nil {
			t.Error(err)
		}
		select {
		case err := <-ended:
			t.Errorf("%d servers: it ends: %v", n, err)
		default:
		}
	}
}

// A server that is added to a recovered cluster needs no other configuration than before.
func TestN07RecoveredClusterGrows(t *testing.T) {
	var path string
	c := clustertest.New(t, 1, clustertest.OnDisk(), clustertest.Spare(1),
		clustertest.Configure(func(i int, cfg *cluster.Config) {
			if cfg.Cluster = "blue"; i == 0 {
				path = cfg.DataDir
			}
		}))
	room(t, c.Client())
	if err := c.Stop(0); err != nil {
		t.Fatal(err)
	}
	if done, err := cluster.Recover(path, cluster.Recovering{Do: true}); err != nil || done.Cluster != "blue~1" {
		t.Fatalf("%+v, %v", done, err)
	}
	c.Restart(0)
	do(t, c.Client(), fsm.OpenSession{})
	c.Restart(1)
	if err := c.Replica(0).AddServer(within(t, time.Minute), c.ID(1), c.Addr(1)); err != nil {
		t.Errorf("add a server: %v", err)
	}
	c.Agree()
	if got, want := c.Replica(1).Cluster(), "blue~1"; got != want {
		t.Errorf("the new server is of cluster %q, want %q", got, want)
	}
}

// What is no data of a member is refused, and nothing is made of it.
func TestN07OnlyMembersAreRecovered(t *testing.T) {
	path := t.TempDir()
	if _, err := cluster.Recover(path, cluster.Recovering{Do: true}); !errors.Is(err, cluster.ErrNothingToRecover) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := cluster.Recover(path+"/none",
		cluster.Recovering{Do: true}); !errors.Is(err, cluster.ErrNothingToRecover) {
		t.Errorf("a directory that does not exist: %v", err)
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("it has made %v, %v", left, err)
	}
}
