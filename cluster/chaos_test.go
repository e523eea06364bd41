package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Hours of kills, cuts, pauses and snapshots: what was acknowledged is there, once
// (L8), every state is the same and lawful (L12), and the leases of agents that
// beat whenever there is a leader never end (L10).
func TestHoursOfFaults(t *testing.T) {
	hours := 6
	if testing.Short() {
		hours = 1
	}
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Calm(), clustertest.Configure(func(_ int, cfg *cluster.Config) {
			cfg.Limits.TrailingLogs, cfg.Limits.SnapshotEntries = 64, 500
		}))
		setup := c.Client()
		room(t, setup)
		do(t, setup, fsm.PutSettings{Values: []noun.KV{{Key: "mark_every", Value: "1000"}}})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		beatForEver(t, c, setup, stop, &wg)
		acked := writers(t, c, stop, &wg)

		rng := rand.New(rand.NewPCG(11, 13))
		faults := map[string]int{}
		for end := time.Now().Add(time.Duration(hours) * time.Hour); time.Now().Before(end); {
			time.Sleep(time.Duration(20+rng.IntN(200)) * time.Second)
			faults[oneFault(c, rng)]++
		}
		close(stop)
		wg.Wait()
		c.Agree()
		rep := c.Replica(c.Leader())
		have := tasks(rep)
		for title := range acked {
			if have[title] != 1 {
				t.Errorf("L8: task %q is there %d times", title, have[title])
			}
		}
		rep.Read(func(s *fsm.View) {
			if a := s.AgentByName("r/builder"); a.Part != noun.PartWaiting || a.Inc.N() != 1 {
				t.Errorf("L10: the agent is %v in its life %v", a.Part, a.Inc)
			}
			if len(s.Diverged()) > 0 {
				t.Errorf("L12: diverged: %v", s.Diverged())
			}
			t.Logf("%d h: faults %v, %d writes, %d entries, cluster time %v", hours, faults, len(acked),
				s.LastIndex(), time.Duration(s.Clock()))
		})
	})
}

// oneFault does something bad, lets it last, undoes it, and gives its name.
func oneFault(c *clustertest.Cluster, rng *rand.Rand) string {
	i := rng.IntN(3)
	lasting := time.Duration(1+rng.IntN(90)) * time.Second
	switch rng.IntN(6) {
	case 0:
		c.Kill(i)
		time.Sleep(lasting)
		c.Restart(i)
		return "kill"
	case 1:
		c.Kill(i)
		c.Kill((i + 1) % 3)
		time.Sleep(lasting)
		c.Restart(i)
		c.Restart((i + 1) % 3)
		return "kill two"
	case 2:
		c.Isolate(i)
		time.Sleep(lasting)
		c.Heal()
		return "isolate"
	case 3:
		c.Cut(i, (i+1)%3)
		time.Sleep(lasting)
		c.Heal()
		return "cut one link"
	case 4:
		c.Pause(i)
		time.Sleep(lasting)
		c.Resume(i)
		return "pause"
	default:
		for j := range 3 {
			c.Isolate(j)
		}
		time.Sleep(lasting)
		c.Heal()
		return "cut all"
	}
}

// beatForEver joins one agent and renews its lease every few seconds.
func beatForEver(t *testing.T, c *clustertest.Cluster, k *clustertest.Client, stop <-chan struct{},
	wg *sync.WaitGroup) {
	out := do(t, k, fsm.Join{Speaker: fsm.Speaker{Agent: "r/builder"}})
	packed := fsm.PackBeats(nil, []noun.AgentID{out.Agent}, []noun.Incarnation{out.Inc}, []uint8{fsm.BeatLease})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Second):
			}
			for i := range 3 {
				rep := c.Replica(i)
				if rep == nil || !rep.Leader().Self {
					continue
				}
				ans, err := rep.Beat(within(t, 4*time.Second), fsm.HostBeats{Packed: packed})
				if err == nil && len(ans.Exceptions) > 0 {
					t.Errorf("L10: a beat was answered %v", ans.Exceptions)
					return
				}
			}
		}
	})
}

// writers create tasks and note which were acknowledged; it is complete once wg is done.
func writers(t *testing.T, c *clustertest.Cluster, stop <-chan struct{}, wg *sync.WaitGroup) map[string]bool {
	var mu sync.Mutex
	acked := map[string]bool{}
	for w := range 3 {
		k := c.Client()
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(1+n%7) * time.Second):
				}
				title := fmt.Sprintf("%d-%d", w, n)
				if out := k.Patient(fsm.CreateTask{Room: "r", Role: "builder", Title: title}); out.Code != noun.OK {
					t.Errorf("create task: %s: %s", out.Code, out.Detail)
					return
				}
				mu.Lock()
				acked[title] = true
				mu.Unlock()
			}
		})
	}
	return acked
}
