package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func code(err error) noun.Code {
	var r *cluster.Refused
	if errors.As(err, &r) {
		return r.Code()
	}
	return noun.OK
}

func TestServerIsAddedAndRemovedOnline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(1))
		k := c.Client()
		room(t, k)
		for i := range 100 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint(i)})
		}
		c.Restart(3)
		rep := c.Replica(c.Leader())
		if err := rep.AddServer(within(t, time.Minute), c.ID(3), c.Addr(3)); err != nil {
			t.Fatal(err)
		}
		c.Agree()
		servers := rep.Servers()
		if len(servers) != 4 || !servers[3].Voter || servers[3].ID != c.ID(3) {
			t.Errorf("servers: %+v", servers)
		}
		if len(tasks(c.Replica(3))) != 100 {
			t.Error("L12: the new server lacks tasks")
		}
		if err := rep.AddServer(within(t, time.Minute), c.ID(3), c.Addr(3)); err != nil {
			t.Errorf("added again: %v", err)
		}
		if err := rep.AddServer(within(t, time.Minute), c.ID(3), "10.9.9.9:1"); code(err) != noun.Conflict {
			t.Errorf("same id at another address: %v", err)
		}
		if err := rep.AddServer(within(t, time.Minute), "s9", c.Addr(3)); code(err) != noun.Conflict {
			t.Errorf("same address under another id: %v", err)
		}
		if err := rep.RemoveServer(within(t, time.Minute), c.ID(3), false); err != nil {
			t.Fatal(err)
		}
		if n := len(rep.Servers()); n != 3 {
			t.Errorf("%d servers after the removal", n)
		}
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
	})
}

func TestServerThatNeverAnswersIsNotAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		rep := c.Replica(c.Leader())
		err := rep.AddServer(within(t, 10*time.Second), "s9", "10.0.0.9:7421")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "10.0.0.9") {
			t.Errorf("got %v", err)
		}
		if n := len(rep.Servers()); n != 3 {
			t.Errorf("it is left behind: %+v", rep.Servers())
		}
	})
}

func TestRemovalThatEndangersTheClusterIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		l := c.Leader()
		c.Kill((l + 1) % 3)
		time.Sleep(5 * time.Second)
		rep := c.Replica(l)
		healthy := c.ID((l + 2) % 3)
		if err := rep.RemoveServer(within(t, time.Minute), healthy, false); code(err) != noun.Conflict {
			t.Errorf("removing one of two that live: %v", err)
		}
		if err := rep.RemoveServer(within(t, time.Minute), c.ID((l+1)%3), false); err != nil {
			t.Errorf("removing the dead one: %v", err)
		}
	})
}

func TestLeaderIsRemovedAfterHandingOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		l := c.Leader()
		if err := c.Replica(l).RemoveServer(within(t, time.Minute), c.ID(l), false); !errors.Is(err,
			noun.ErrNotLeader) {
			t.Fatalf("first: %v", err)
		}
		next := c.Leader()
		if next == l {
			t.Fatal("leadership was not handed over")
		}
		if err := c.Replica(next).RemoveServer(within(t, time.Minute), c.ID(l), false); err != nil {
			t.Fatal(err)
		}
		if n := len(c.Replica(next).Servers()); n != 2 {
			t.Errorf("%d servers", n)
		}
	})
}

// A planned change of leader costs at most 300 ms and no write.
func TestPlannedChangeOfLeaderFailsNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		room(t, c.Client())
		var stop atomic.Bool
		var longest atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			k := c.Client()
			wg.Go(func() {
				for !stop.Load() {
					begun := time.Now()
					if out := k.Do(fsm.CreateTask{Room: "r", Role: "builder", Title: "t"}); out.Code != noun.OK {
						t.Errorf("write failed: %s", out.Detail)
					}
					longest.Store(max(longest.Load(), int64(time.Since(begun))))
					time.Sleep(time.Millisecond)
				}
			})
		}
		for range 5 {
			time.Sleep(time.Second)
			l := c.Leader()
			to := (l + 1) % 3
			if err := c.Replica(l).Transfer(within(t, time.Minute), c.ID(to)); err != nil {
				t.Errorf("transfer: %v", err)
			}
			if n := c.Leader(); n != to {
				t.Errorf("server %d leads, want %d", n, to)
			}
		}
		l := c.Leader()
		if err := c.Stop(l); err != nil { // an orderly stop hands over, too
			t.Errorf("stop: %v", err)
		}
		time.Sleep(time.Second)
		stop.Store(true)
		wg.Wait()
		if gap := time.Duration(longest.Load()); gap > 300*time.Millisecond {
			t.Errorf("a write took %v", gap)
		}
		if err := c.Replica(c.Leader()).Transfer(within(t, time.Minute), "s77"); code(err) != noun.NotFound {
			t.Errorf("transfer to a stranger: %v", err)
		}
	})
}

func TestSnapshotAndRestartGiveTheSameState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3,
			clustertest.Configure(func(_ int, cfg *cluster.Config) { cfg.Limits.TrailingLogs = 16 }))
		k := c.Client()
		room(t, k)
		for i := range 200 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint(i)})
		}
		lagging := (c.Leader() + 1) % 3
		c.Kill(lagging)
		for i := range 200 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint("later ", i)})
		}
		for i := range 3 {
			if i != lagging {
				if err := cluster.TakeSnapshot(c.Replica(i)); err != nil {
					t.Fatal(err)
				}
				if cluster.FirstIndex(c.Replica(i)) < 100 {
					t.Errorf("the log of server %d was not cut", i)
				}
				c.Kill(i)
			}
		}
		for i := range 3 {
			c.Restart(i)
		}
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "last"})
		c.Agree() // the one that lagged was sent a snapshot
		if n := len(tasks(c.Replica(lagging))); n != 401 {
			t.Errorf("%d tasks", n)
		}
	})
}

func TestSnapshotsAreTakenBySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Configure(func(_ int, cfg *cluster.Config) {
			cfg.Limits.TrailingLogs, cfg.Limits.SnapshotBytes = 2, 100_000
		}))
		k := c.Client()
		room(t, k)
		grow := func() {
			for range 20 {
				do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "t", Text: strings.Repeat("x", 20_000)})
			}
		}
		cut := func(i int) bool { return cluster.FirstIndex(c.Replica(i)) >= 10 }
		grow()
		// A server that was slow is sent a snapshot, and cuts its log with the next one of its own.
		for tries := 0; !(cut(0) && cut(1) && cut(2)); tries++ {
			if tries == 10 {
				t.Fatalf("the logs begin at %d, %d and %d", cluster.FirstIndex(c.Replica(0)),
					cluster.FirstIndex(c.Replica(1)), cluster.FirstIndex(c.Replica(2)))
			}
			time.Sleep(time.Second)
			grow()
		}
		c.Agree()
	})
}

func TestRestoreOfABackupRaisesTheEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		room(t, k)
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "kept"})
		rep := c.Replica(c.Leader())
		var backup bytes.Buffer
		if err := rep.Snapshot(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "lost"})

		for _, bad := range [][]byte{backup.Bytes()[:backup.Len()/2], nil, []byte("garbage"), flip(backup.Bytes())} {
			if err := rep.Restore(within(t, time.Minute), bytes.NewReader(bad), fsm.OthersUnsaid); code(err) != noun.Invalid {
				t.Errorf("damaged backup: %v", err)
			}
		}
		if len(tasks(rep)) != 2 {
			t.Fatal("a damaged backup changed something")
		}
		for want := uint32(1); want <= 2; want++ { // the same backup twice: still a new epoch
			rep = c.Replica(c.Leader())
			if err := rep.Restore(within(t, time.Minute), bytes.NewReader(backup.Bytes()), fsm.OthersUnsaid); err != nil {
				t.Fatal(err)
			}
			c.Agree()
			for i := range 3 {
				c.Replica(i).Read(func(s *fsm.View) {
					if s.Epoch() != want {
						t.Errorf("server %d: epoch %d, want %d", i, s.Epoch(), want)
					}
					if len(s.Servers()) == 0 {
						t.Errorf("server %d: servers forgotten", i)
					}
				})
				if got := tasks(c.Replica(i)); len(got) != 1 || got["kept"] != 1 {
					t.Errorf("server %d: tasks %v", i, got)
				}
			}
		}
		room(t, c.Client())
		for i := range 3 {
			c.Kill(i)
		}
		for i := range 3 {
			c.Restart(i)
		}
		c.Agree()
	})
}

func flip(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)*2/3] ^= 1
	return b
}
