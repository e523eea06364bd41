package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// slowLog takes as long for each write as slow says.
type slowLog struct {
	raft.LogStore
	slow *atomic.Int64
}

func (l *slowLog) StoreLogs(logs []*raft.Log) error {
	time.Sleep(time.Duration(l.slow.Load()))
	return l.LogStore.StoreLogs(logs)
}

// shortTTL is the lease of the agents of these tests.
const shortTTL = 6 * time.Second

// proving are agents started by hand that prove their lives as hosts do: every
// quarter of the TTL, waiting as long for the answer, and a second after the last
// try when none came.
type proving struct {
	t    *testing.T
	c    *clustertest.Cluster
	beat func(ctx context.Context, hb fsm.HostBeats) (noun.BeatAnswer, error)
	wg   sync.WaitGroup
	stop chan struct{}
}

func prove(t *testing.T, c *clustertest.Cluster, n int,
	beat func(context.Context, fsm.HostBeats) (noun.BeatAnswer, error)) *proving {
	t.Helper()
	p := &proving{t: t, c: c, stop: make(chan struct{}), beat: beat}
	k := c.Client()
	do(t, k, fsm.ApplyRoom{Room: "r",
		Roles: []noun.RoleSpec{{Name: "builder", Replicas: uint32(n), TTL: shortTTL}}, By: "test"})
	for i := range n {
		name := "r/builder"
		if i > 0 {
			name = fmt.Sprintf("r/builder.%d", i+1)
		}
		out := do(t, k, fsm.Join{Speaker: fsm.Speaker{Agent: name}})
		packed := fsm.PackBeats(nil, []noun.AgentID{out.Agent}, []noun.Incarnation{out.Inc}, []uint8{fsm.BeatLease})
		p.wg.Go(func() { p.agent(name, packed, time.Duration(i)*shortTTL/4/time.Duration(n)) })
	}
	return p
}

// atLeader beats at whoever leads now.
func atLeader(c *clustertest.Cluster) func(context.Context, fsm.HostBeats) (noun.BeatAnswer, error) {
	return func(ctx context.Context, hb fsm.HostBeats) (noun.BeatAnswer, error) {
		for i := range 3 {
			if rep := c.Replica(i); rep != nil && rep.Leader().Self {
				return rep.Beat(ctx, hb)
			}
		}
		return noun.BeatAnswer{}, noun.ErrNotLeader
	}
}

func (p *proving) agent(name string, packed []byte, phase time.Duration) {
	const every = shortTTL / 4
	for wait := phase; ; {
		select {
		case <-p.stop:
			return
		default:
			time.Sleep(wait)
		}
		sent := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), every)
		ans, err := p.beat(ctx, fsm.HostBeats{Packed: packed})
		cancel()
		if len(ans.Exceptions) > 0 {
			p.t.Errorf("L10: a beat of %s was answered %v", name, ans.Exceptions)
			return
		}
		if wait = every - time.Since(sent); err != nil {
			wait = time.Second - time.Since(sent)
		}
	}
}

// end stops the agents and judges: none may have lost its lease.
func (p *proving) end() {
	p.t.Helper()
	close(p.stop)
	p.wg.Wait()
	p.c.Replica(p.c.Leader()).Read(func(s *fsm.View) {
		for a := range s.Agents("") {
			if a.Part != noun.PartWaiting {
				p.t.Errorf("L10: %s is %v in its life %v", a.Name, a.Part, a.Inc)
			}
		}
	})
}

// slowDisks makes three servers whose disks are as slow as slow says.
func slowDisks(t *testing.T, slow *atomic.Int64) *clustertest.Cluster {
	return clustertest.New(t, 3,
		clustertest.WrapLog(func(_ int, s raft.LogStore) raft.LogStore { return &slowLog{s, slow} }),
		clustertest.Configure(func(_ int, cfg *cluster.Config) { cfg.Timing.Disk = 10 * time.Minute }))
}

// L10: a disk that stalls, once or again and again, ends no lease of an agent whose
// beats arrive: the wait for a commit is not charged to those that stand behind it.
func TestL10StalledDiskEndsNoLease(t *testing.T) {
	for _, stall := range []time.Duration{900 * time.Millisecond, 1100 * time.Millisecond, 3 * time.Second,
		10 * time.Second, time.Minute} {
		for _, pause := range []time.Duration{0, 500 * time.Millisecond, 4 * time.Second} {
			t.Run(fmt.Sprintf("%v each %v", stall, stall+pause), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var slow atomic.Int64
					c := slowDisks(t, &slow)
					p := prove(t, c, 5, atLeader(c))
					time.Sleep(10 * time.Second)
					for range 10 {
						slow.Store(int64(stall))
						time.Sleep(stall)
						if pause > 0 {
							slow.Store(0)
							time.Sleep(pause)
						}
					}
					slow.Store(0)
					time.Sleep(20 * time.Second)
					p.end()
				})
			})
		}
	}
}

// Cluster time goes on at any speed of the disk, and in full while commits are quick.
func TestClockGoesOnWithASlowDisk(t *testing.T) {
	for commit, least := range map[time.Duration]float64{
		200 * time.Millisecond: 0.99, 900 * time.Millisecond: 0.99,
		1100 * time.Millisecond: 0.2, 3 * time.Second: 0.1,
	} {
		t.Run(commit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var slow atomic.Int64
				c := slowDisks(t, &slow)
				p := prove(t, c, 5, atLeader(c)) // something is always waited for
				time.Sleep(10 * time.Second)
				rep := c.Replica(c.Leader())
				slow.Store(int64(commit / 2)) // the servers write one after the other
				time.Sleep(20 * time.Second)
				before, begun := clockOf(rep), time.Now()
				time.Sleep(10 * time.Minute)
				went, real := clockOf(rep).Sub(before), time.Since(begun)
				if share := went.Seconds() / real.Seconds(); share < least || went > real+commit {
					t.Errorf("commits of %v: cluster time went %v in %v", commit, went, real)
				}
				slow.Store(0)
				p.end()
			})
		})
	}
}
