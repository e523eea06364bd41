package cluster_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/logstore"
	"vigil/fsm"
	"vigil/fsm/noun"
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
	c.Replica(c.Leader()).Read(func(s *fsm.View) {
		if n := s.Counts().Tasks; n[noun.TaskPending]+n[noun.TaskQueued] != 51 {
			t.Errorf("L8: %v tasks, want 51", n)
		}
	})
}

// A damaged snapshot is passed over when the log reaches back to the one before,
// and refused with a remedy when it does not.
func TestDamagedSnapshotOnDisk(t *testing.T) {
	var dirs [3]string
	c := clustertest.New(t, 3, clustertest.OnDisk(), clustertest.Configure(func(i int, cfg *cluster.Config) {
		cfg.Limits.TrailingLogs, cfg.LogStore = 1000, cluster.LogBolt
		dirs[i] = cfg.DataDir
	}))
	k := c.Client()
	room(t, k)
	victim := (c.Leader() + 1) % 3
	for range 2 {
		for range 20 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "t"})
		}
		c.Agree()
		if err := cluster.TakeSnapshot(c.Replica(victim)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Stop(victim); err != nil {
		t.Fatal(err)
	}
	states, err := filepath.Glob(filepath.Join(dirs[victim], "snapshots", "*", "state.bin"))
	if err != nil || len(states) != 2 {
		t.Fatalf("snapshots: %v, %v", states, err)
	}
	slices.Sort(states)
	damage(t, states[1])
	c.Restart(victim)
	do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
	c.Agree()
	if n := tasks(c.Replica(victim)); n["t"] != 40 || n["after"] != 1 {
		t.Errorf("L8: tasks %v", n)
	}
	if err := c.Stop(victim); err != nil {
		t.Fatal(err)
	}
	damage(t, states[0])
	db, err := raftboltdb.NewBoltStore(filepath.Join(dirs[victim], "raft.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.DeleteRange(1, 30), db.Close()); err != nil {
		t.Fatal(err)
	}
	cfg := cluster.Config{ID: c.ID(victim), RaftAddr: c.Addr(victim), DataDir: dirs[victim]}
	if _, err := cluster.Open(cfg); !errors.Is(err, logstore.ErrDamaged) {
		t.Errorf("open without any good snapshot: %v", err)
	}
}

func damage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A server that joins learns the name of its cluster from the first that connects.
func TestServerJoinsOverTCPAndLearnsItsCluster(t *testing.T) {
	c := clustertest.New(t, 3, clustertest.OnDisk(), clustertest.Spare(1))
	room(t, c.Client())
	rep := c.Replica(c.Leader())
	c.Restart(3)
	joiner := c.Replica(3)
	if joiner.Cluster() != "" || joiner.Ready() == nil || len(joiner.Warnings()) == 0 {
		t.Errorf("before: cluster %q, ready %v, warnings %q", joiner.Cluster(), joiner.Ready(), joiner.Warnings())
	}
	if err := rep.AddServer(within(t, time.Minute), c.ID(3), c.Addr(3)); err != nil {
		t.Fatal(err)
	}
	if joiner.Cluster() == "" || joiner.Cluster() != rep.Cluster() {
		t.Errorf("cluster %q, want %q", joiner.Cluster(), rep.Cluster())
	}
	c.Agree()
	if err := c.Stop(3); err != nil {
		t.Fatal(err)
	}
	c.Restart(3)
	c.Agree()
}

// hangingLog stands still from the moment that hang is set until it is closed.
type hangingLog struct {
	raft.LogStore
	hang atomic.Pointer[chan struct{}]
}

func (h *hangingLog) StoreLogs(logs []*raft.Log) error {
	if c := h.hang.Load(); c != nil {
		<-*c
	}
	return h.LogStore.StoreLogs(logs)
}

// A log that cannot be written any more ends its server at once; the others go on.
func TestLeaderWithAStuckDiskIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs [3]hangingLog
		c := clustertest.New(t, 3, clustertest.WrapLog(func(i int, s raft.LogStore) raft.LogStore {
			logs[i].LogStore = s
			return &logs[i]
		}))
		k := c.Client()
		room(t, k)
		l := c.Leader()
		rep := c.Replica(l)
		hang := make(chan struct{})
		logs[l].hang.Store(&hang)
		begun := time.Now()
		answered := make(chan error, 1)
		go func() {
			_, err := rep.Submit(within(t, time.Minute), fsm.Request{Cmd: fsm.OpenSession{}})
			answered <- err
		}()
		var ended error
		c.Await("the end of the server", func() bool {
			ok, err := c.Ended(l)
			ended = err
			return ok
		})
		if took := time.Since(begun); !errors.Is(ended, logstore.ErrDiskStuck) || took > 6*time.Second {
			t.Errorf("after %v: %v", took, ended)
		}
		c.Isolate(l) // as the end of its process does
		do(t, k, fsm.OpenSession{})
		close(hang)
		if err := <-answered; err == nil {
			t.Error("L8: a write was acknowledged without a disk")
		}
	})
}

// A server whose data directory is deleted under it ends, instead of acknowledging what nobody can read again;
// the others go on.
func TestL8ServerWhoseDirectoryIsDeletedEnds(t *testing.T) {
	var dirs [3]string
	c := clustertest.New(t, 3, clustertest.OnDisk(), clustertest.Configure(func(i int, cfg *cluster.Config) {
		dirs[i] = cfg.DataDir
	}))
	k := c.Client()
	room(t, k)
	victim := (c.Leader() + 1) % 3
	if err := os.RemoveAll(dirs[victim]); err != nil {
		t.Fatal(err)
	}
	var ended error
	c.Await("the end of the server", func() bool {
		ok, err := c.Ended(victim)
		ended = err
		return ok
	})
	if !errors.Is(ended, logstore.ErrTaken) {
		t.Errorf("it ended with %v", ended)
	}
	do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
}
