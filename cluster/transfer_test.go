package cluster_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Leadership for a server that is down is refused, however often it is asked for: raft would take no write after the
// second try.
func TestTransferToAServerThatIsDownCostsNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		room(t, k)
		l := c.Leader()
		down, other := (l+1)%3, (l+2)%3
		c.Kill(down)
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "it lacks this"})
		for _, silent := range []time.Duration{0, 40 * time.Second} {
			time.Sleep(silent)
			for range 3 {
				if err := c.Replica(l).Transfer(within(t, time.Minute), c.ID(down)); code(err) != noun.Conflict {
					t.Errorf("leadership for a server that is down: %v", err)
				}
			}
			begun := time.Now()
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
			if took := time.Since(begun); took > time.Second {
				t.Errorf("a write took %v", took)
			}
		}
		if err := c.Replica(l).Transfer(within(t, time.Minute), ""); err != nil {
			t.Errorf("leadership for whoever answers: %v", err)
		}
		if n := c.Leader(); n != other {
			t.Errorf("server %d leads, not %d", n, other)
		}
	})
}

// A server that answers and lacks a part of the log is sent that first.
func TestTransferToAServerThatIsBehindIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Configure(func(_ int, cfg *cluster.Config) { cfg.Limits.TrailingLogs = 16 }))
		k := c.Client()
		room(t, k)
		l := c.Leader()
		behind := (l + 1) % 3
		c.Kill(behind)
		for range 100 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "t"})
		}
		if err := cluster.TakeSnapshot(c.Replica(l)); err != nil {
			t.Fatal(err)
		}
		c.SlowLoad(behind, time.Minute)
		c.Restart(behind)
		time.Sleep(30 * time.Second)
		for range 3 {
			if err := c.Replica(l).Transfer(within(t, time.Minute), c.ID(behind)); code(err) != noun.Conflict {
				t.Errorf("leadership for a server that loads a snapshot: %v", err)
			}
		}
		begun := time.Now()
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
		if took := time.Since(begun); took > time.Second {
			t.Errorf("a write took %v", took)
		}
		c.Agree()
		if err := c.Replica(l).Transfer(within(t, time.Minute), c.ID(behind)); err != nil {
			t.Errorf("leadership for a server that has caught up: %v", err)
		}
	})
}

// A leader whose raft goes on refusing entries ends: before its stint is open, and after.
func TestLeaderThatIsRefusedEveryEntryEnds(t *testing.T) {
	for what, atOnce := range map[string]bool{"a new leader": true, "a leader": false} {
		synctest.Test(t, func(t *testing.T) {
			var refused atomic.Bool
			refused.Store(atOnce)
			c := clustertest.New(t, 1, clustertest.OnOpen(func(_ int, r *cluster.Replica) {
				cluster.RefuseEntries(r, refused.Load)
			}))
			if !atOnce {
				k := c.Client()
				room(t, k)
				rep := c.Replica(c.Leader())
				refused.Store(true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				request := k.Next(fsm.CreateTask{Room: "r", Role: "builder", Title: "t"})
				if _, err := rep.Submit(ctx, request); err == nil || ctx.Err() != nil {
					t.Errorf("%s: its write: %v", what, err)
				}
			}
			begun := time.Now()
			for {
				ended, err := c.Ended(0)
				if ended && !errors.Is(err, cluster.ErrRefused) {
					t.Errorf("%s ends with: %v", what, err)
				}
				if ended {
					return
				}
				if time.Since(begun) > time.Minute {
					t.Fatalf("%s goes on", what)
				}
				time.Sleep(time.Second)
			}
		})
	}
}
