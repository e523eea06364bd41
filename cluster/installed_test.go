package cluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/logstore"
	"vigil/fsm"
)

// crashLog is the log of a process that stops for ever at one of its changes: before that is done, or right
// after. The harness keeps what is below for the next process.
type crashLog struct {
	raft.LogStore
	mu    sync.Mutex
	left  int  // changes up to the fatal one; 0: none is
	after bool // that one is done
	dead  chan struct{}
	over  chan struct{} // closed at the end of the test
}

func (c *crashLog) change(do func() error) error {
	c.mu.Lock()
	fatal := c.left == 1
	if c.left > 0 {
		c.left--
	}
	after := c.after
	c.mu.Unlock()
	select {
	case <-c.dead: // this process has ended
		<-c.over
		return nil
	default:
	}
	if !fatal {
		return do()
	}
	if after {
		if err := do(); err != nil {
			return err
		}
	}
	close(c.dead)
	<-c.over
	return nil
}

func (c *crashLog) StoreLogs(logs []*raft.Log) error {
	return c.change(func() error { return c.LogStore.StoreLogs(logs) })
}

func (c *crashLog) DeleteRange(low, high uint64) error {
	return c.change(func() error { return c.LogStore.DeleteRange(low, high) })
}

// arm makes the n-th change from now on fatal.
func (c *crashLog) arm(n int, after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.after = n, after
}

// installing is a cluster one of whose servers is about to be sent a snapshot.
type installing struct {
	*clustertest.Cluster
	t      *testing.T
	victim int
	logs   []*crashLog // of the processes that run
	over   chan struct{}
}

func newInstalling(t *testing.T, spare int) *installing {
	in := &installing{t: t, logs: make([]*crashLog, 3+spare), over: make(chan struct{})}
	t.Cleanup(func() { close(in.over) })
	in.Cluster = clustertest.New(t, 3, clustertest.Spare(spare), clustertest.Calm(),
		clustertest.Configure(func(_ int, c *cluster.Config) { c.Limits.TrailingLogs = 1 }),
		clustertest.WrapLog(func(i int, s raft.LogStore) raft.LogStore {
			in.logs[i] = &crashLog{LogStore: s, dead: make(chan struct{}), over: in.over}
			return in.logs[i]
		}))
	room(t, in.Client())
	return in
}

// write has tasks created, and the log of all who take part cut to its end.
func (in *installing) write(n int) {
	in.t.Helper()
	for i := range n {
		do(in.t, in.Client(), fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint(i)})
	}
}

func (in *installing) cut() {
	in.t.Helper()
	for i := range in.logs {
		if r := in.Replica(i); i != in.victim && r != nil {
			if err := cluster.TakeSnapshot(r); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
				in.t.Fatal(err)
			}
		}
	}
}

// diverge has the leader append entries that nobody else gets, more than the others write meanwhile.
func (in *installing) diverge(n int) {
	in.t.Helper()
	in.victim = in.Leader()
	in.write(5)
	in.Cluster.Agree()
	in.Isolate(in.victim)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { _ = cluster.ProposeBytes(in.Replica(in.victim), []byte("nobody ever applies this")) })
	}
	wg.Wait() // until it has stepped down
}

// recovers waits for the crash that was armed, if it comes, and starts the server again. It tells whether it came.
func (in *installing) recovers(i int, act func()) (crashed bool) {
	in.t.Helper()
	log := in.logs[i]
	act()
	in.Await("the servers agree, or one crashes", func() bool {
		select {
		case <-log.dead:
			return true
		default:
			return in.level()
		}
	})
	select {
	case <-log.dead:
	default:
		log.arm(0, false)
		return false
	}
	in.Await("the end of the process", func() bool {
		ended, err := in.Ended(i)
		if ended && !errors.Is(err, logstore.ErrDiskStuck) {
			in.t.Errorf("ended with %v", err)
		}
		return ended
	})
	in.Restart(i)
	time.Sleep(6 * time.Minute) // until the leader no more waits for the process that has ended to load the snapshot
	return true
}

// level tells whether all servers are at the same index, and somebody leads.
func (in *installing) level() bool {
	var at []uint64
	for i := range in.logs {
		if r := in.Replica(i); r != nil {
			r.Read(func(s *fsm.View) { at = append(at, s.LastIndex()) })
		}
	}
	for _, i := range at {
		if i != at[0] || i == 0 {
			return false
		}
	}
	return true
}

// A server is sent a snapshot, whatever its log holds, and crashes before or after any step: it catches up, and
// nobody disagrees.
func TestL8SnapshotIsInstalledOnAnyLog(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(in *installing)
	}{
		{"shorter", func(in *installing) {
			in.victim = (in.Leader() + 1) % 3
			in.Isolate(in.victim)
			in.write(20)
		}},
		{"with another end", func(in *installing) { in.diverge(3); in.write(20) }},
		{"longer", func(in *installing) { in.diverge(300); in.write(20) }},
		{"as long, with another end", func(in *installing) {
			in.diverge(20)
			in.write(1)
			last := in.Replica(in.victim).Stats().LastIndex
			for in.Replica(in.Leader()).Stats().LastIndex < last {
				in.write(1)
			}
		}},
	} {
		for step := 0; ; step++ {
			crashed := false
			t.Run(fmt.Sprintf("%s/step %d", tt.name, step), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in := newInstalling(t, 0)
					tt.prepare(in)
					in.cut()
					before := in.Loads(in.victim)
					if step > 0 {
						in.logs[in.victim].arm((step+1)/2, step%2 == 0)
					}
					crashed = in.recovers(in.victim, in.Heal)
					in.write(3)
					in.Cluster.Agree()
					if got := in.Loads(in.victim) - before; got < 1 || got > 20 { // with its own, and tries that timed out
						// while it was down; not one after the other for ever
						t.Errorf("it was sent %d snapshots", got)
					}
					in.again()
				})
			})
			if t.Failed() || step > 0 && !crashed {
				if step < 3 {
					t.Errorf("%s: only %d steps", tt.name, step)
				}
				break
			}
		}
	}
}

// again restarts everybody: what is on the disks is enough to go on.
func (in *installing) again() {
	in.t.Helper()
	for i := range in.logs {
		if in.Replica(i) != nil {
			in.Kill(i)
			in.Restart(i)
		}
	}
	in.write(1)
	in.Cluster.Agree()
}

// A server without a log is added, and crashes before or after any step.
func TestL8SnapshotIsInstalledOnAnEmptyLog(t *testing.T) {
	for step, crashed := 0, true; crashed; step++ {
		synctest.Test(t, func(t *testing.T) {
			in := newInstalling(t, 1)
			in.victim = 3
			in.write(20)
			in.cut()
			in.Restart(3)
			if step > 0 {
				in.logs[3].arm((step+1)/2, step%2 == 0)
			}
			added := make(chan error, 1)
			crashed = in.recovers(3, func() {
				go func() {
					added <- in.Replica(in.Leader()).AddServer(within(t, 2*time.Minute), in.ID(3), in.Addr(3))
				}()
			}) || step == 0
			if err := <-added; err != nil {
				t.Errorf("step %d: add: %v", step, err)
			}
			in.write(3)
			in.Cluster.Agree()
			in.again()
		})
		if t.Failed() {
			break
		}
	}
}

// A backup is restored, and any server crashes before or after any step.
func TestL8BackupIsRestoredOverAnyLog(t *testing.T) {
	for _, who := range []string{"leader", "follower"} {
		for step, crashed := 0, true; crashed; step++ {
			synctest.Test(t, func(t *testing.T) {
				in := newInstalling(t, 0)
				leader := in.Leader()
				in.write(5)
				var backup bytes.Buffer
				if err := in.Replica(leader).Snapshot(t.Context(), &backup); err != nil {
					t.Fatal(err)
				}
				in.write(20)
				in.Cluster.Agree()
				in.victim = leader
				if who == "follower" {
					in.victim = (leader + 1) % 3
				}
				if step > 0 {
					in.logs[in.victim].arm((step+1)/2, step%2 == 0)
				}
				restored := make(chan error, 1)
				crashed = in.recovers(in.victim, func() {
					rep, ctx := in.Replica(leader), within(t, time.Minute)
					go func() { restored <- rep.Restore(ctx, bytes.NewReader(backup.Bytes()), fsm.OthersUnsaid) }()
					select {
					case err := <-restored:
						if err != nil && in.victim != leader {
							t.Errorf("step %d: restore: %v", step, err)
						}
					case <-in.logs[leader].dead: // raft never answers then
					}
				}) || step == 0
				in.write(3)
				in.Cluster.Agree()
				in.again()
			})
			if t.Failed() || step > 12 {
				break
			}
		}
	}
}
