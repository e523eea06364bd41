package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// stintRest is longer than what does not count at the begin of a stint.
const stintRest = 3 * time.Second

func clockOf(r *cluster.Replica) (t noun.Time) {
	r.Read(func(s *fsm.View) { t = s.Clock() })
	return t
}

func tasks(r *cluster.Replica) map[string]int {
	titles := map[string]int{}
	r.Read(func(s *fsm.View) {
		for task := range s.Tasks(0) {
			titles[task.Title]++
		}
	})
	return titles
}

// L8: acknowledged writes outlive the leader; L12: and are the same everywhere.
// Each write is done exactly once, although clients repeat those whose outcome
// they do not know.
func TestL8NothingAcknowledgedIsLostWhenTheLeaderDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		room(t, c.Client())
		stop := make(chan struct{})
		var mu sync.Mutex
		acked := map[string]bool{}
		var wg sync.WaitGroup
		for w := range 8 {
			k := c.Client()
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					title := fmt.Sprintf("%d-%d", w, n)
					if out := k.Do(fsm.CreateTask{Room: "r", Role: "builder", Title: title}); out.Code != noun.OK {
						t.Errorf("create task: %s: %s", out.Code, out.Detail)
						return
					}
					mu.Lock()
					acked[title] = true
					mu.Unlock()
					time.Sleep(time.Duration(n%7) * time.Millisecond)
				}
			})
		}
		for range 5 {
			time.Sleep(2 * time.Second)
			l := c.Leader()
			c.Pause(l) // in the middle of whatever it does
			time.Sleep(2 * time.Second)
			c.Resume(l)
		}
		close(stop)
		wg.Wait()
		c.Agree()
		have := tasks(c.Replica(c.Leader()))
		for title := range acked {
			if have[title] != 1 {
				t.Errorf("L8: task %s is there %d times", title, have[title])
			}
		}
		if len(have) != len(acked) {
			t.Errorf("%d tasks, %d acknowledged", len(have), len(acked))
		}
		t.Logf("%d writes over 5 changes of leader", len(acked))
	})
}

func TestL8ServersThatAllDieComeBackWithEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		room(t, k)
		for i := range 30 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: fmt.Sprint(i)})
		}
		for i := range 3 {
			c.Kill(i)
		}
		for i := range 3 {
			c.Restart(i)
		}
		c.Agree()
		if n := len(tasks(c.Replica(c.Leader()))); n != 30 {
			t.Errorf("L8: %d tasks are left of 30", n)
		}
	})
}

// L10: with no leader, cluster time stands still, so no outage ends a lease.
func TestL10ClockStandsStillWithoutALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		room(t, k)
		do(t, k, fsm.Join{Speaker: fsm.Speaker{Agent: "r/builder"}})
		for i := range 3 {
			c.Isolate(i)
		}
		time.Sleep(time.Second) // the leader notices
		before := clockOf(c.Replica(0))
		time.Sleep(10 * time.Minute)
		c.Heal()
		l := c.Leader()
		c.Agree()
		if went := clockOf(c.Replica(l)).Sub(before); went > 5*time.Second {
			t.Errorf("L10: cluster time went %v during an outage of 10 min", went)
		}
		c.Replica(l).Read(func(s *fsm.View) {
			if a := s.AgentByName("r/builder"); a.Part != noun.PartWaiting {
				t.Errorf("L10: the agent is %v after an outage", a.Part)
			}
		})
	})
}

// Cluster time runs as fast as real time while a leader works.
func TestClockRunsWithRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		c.Leader()
		time.Sleep(stintRest)
		start := c.Submit(fsm.Request{Cmd: fsm.OpenSession{}}).Clock
		begun := time.Now()
		time.Sleep(10 * time.Minute)
		went := c.Submit(fsm.Request{Cmd: fsm.OpenSession{}}).Clock.Sub(start)
		if real := time.Since(begun); went > real || went < real-time.Second {
			t.Errorf("cluster time went %v in %v", went, real)
		}
	})
}

// L2: a lease that ends is noticed within 250 ms although nobody proposes
// anything, and an idle cluster costs few entries.
func TestL2DeadlinesAreNoticedByAnIdleCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		room(t, k)
		time.Sleep(stintRest)
		out := do(t, k, fsm.Join{Speaker: fsm.Speaker{Agent: "r/builder"}})
		ttl := time.Duration(out.TTL)
		joined := time.Now()
		rep := c.Replica(c.Leader())
		var first uint64
		rep.Read(func(s *fsm.View) { first = s.LastIndex() })
		part := func() (p noun.PartState) {
			rep.Read(func(s *fsm.View) { p = s.AgentByName("r/builder").Part })
			return p
		}
		time.Sleep(ttl - 500*time.Millisecond)
		if part() != noun.PartWaiting {
			t.Fatal("L10: the lease ended early")
		}
		c.Await("the end of the lease", func() bool { return part() == noun.PartDisconnected })
		if late := time.Since(joined) - ttl; late > 250*time.Millisecond {
			t.Errorf("L2: noticed %v late", late)
		}
		rep.Read(func(s *fsm.View) {
			if n := s.LastIndex() - first; n > 10 {
				t.Errorf("%d entries in an idle minute", n)
			}
		})
	})
}

// A stamp that was sealed in another term is void, and so are planned commands
// (the term fence); clients' commands still count.
func TestTermFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		rep := c.Replica(c.Leader())
		before := clockOf(rep)
		outs, err := cluster.ProposeEntry(rep, &fsm.Entry{
			Stint: rep.Leader().Term - 1, Stamp: before.Add(time.Hour),
			Requests: []fsm.Request{
				{Planned: true, Cmd: fsm.OpenSession{Client: "planned"}},
				{Cmd: fsm.OpenSession{Client: "client"}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if outs[0].Code != noun.StaleStint || outs[1].Code != noun.OK {
			t.Errorf("planned: %v, client's: %v", outs[0].Code, outs[1].Code)
		}
		if went := clockOf(rep).Sub(before); went > time.Second {
			t.Errorf("the stamp of an old stint moved the clock by %v", went)
		}
	})
}

// A repeated request gets the first answer, through whichever leader.
func TestRetryOverFailoverExecutesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		room(t, k)
		req := k.Next(fsm.CreateTask{Room: "r", Role: "builder", Title: "once"})
		first := c.Submit(req)
		c.Kill(c.Leader())
		again := c.Submit(req)
		same := again.Code == first.Code && again.Index == first.Index && again.Task == first.Task &&
			again.Rev == first.Rev
		if !same || again.Code != noun.OK || first.Repeated() || !again.Repeated() {
			t.Errorf("first %+v, again %+v", first, again)
		}
		if n := tasks(c.Replica(c.Leader()))["once"]; n != 1 {
			t.Errorf("executed %d times", n)
		}
	})
}

// A leader that is cut off answers truthfully: not known, or not leader.
func TestCutOffLeaderNeverLies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		l := c.Leader()
		rep := c.Replica(l)
		c.Isolate(l)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := rep.Submit(ctx, fsm.Request{Cmd: fsm.OpenSession{}})
		if !errors.Is(err, noun.ErrUnknownOutcome) {
			t.Errorf("proposed and lost: %v", err)
		}
		_, err = rep.Submit(ctx, fsm.Request{Cmd: fsm.OpenSession{}})
		if !errors.Is(err, noun.ErrNotLeader) || errors.Is(err, noun.ErrUnknownOutcome) {
			t.Errorf("never proposed: %v", err)
		}
		if err := rep.Barrier(ctx); !errors.Is(err, noun.ErrNotLeader) {
			t.Errorf("barrier without leadership: %v", err)
		}
		if _, err := rep.Beat(ctx, fsm.HostBeats{}); !errors.Is(err, noun.ErrNotLeader) {
			t.Errorf("beat without leadership: %v", err)
		}
		c.Heal()
		c.Agree()
	})
}

// L12: a server whose state has drifted is found out, gives up leading and serves
// nothing, while the others go on.
func TestL12DivergedServerStopsServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		do(t, k, fsm.PutSettings{Values: []noun.KV{{Key: "mark_every", Value: "200"}}})
		for range 500 {
			do(t, k, fsm.OpenSession{})
		}
		l := c.Leader()
		time.Sleep(time.Second)
		c.Replica(l).Read(func(s *fsm.View) {
			if len(s.Diverged()) != 0 {
				t.Fatalf("diverged without a reason: %v", s.Diverged())
			}
		})
		cluster.Tamper(c.Replica(l), fsm.OpenSession{Client: "a cosmic ray"})
		for range 600 {
			c.Submit(fsm.Request{Cmd: fsm.PutServer{ID: "x", Version: fmt.Sprint(time.Now().UnixNano())}})
			time.Sleep(time.Millisecond)
		}
		c.Await("another leader", func() bool { n := c.Leader(); return n != l })
		if err := c.Replica(l).Barrier(t.Context()); !errors.Is(err, noun.ErrDiverged) {
			t.Errorf("barrier on the diverged server: %v", err)
		}
		if err := c.Replica(l).Ready(); !errors.Is(err, noun.ErrDiverged) {
			t.Errorf("ready: %v", err)
		}
		c.Replica(c.Leader()).Read(func(s *fsm.View) {
			if d := s.Diverged(); len(d) != 1 || d[0] != c.ID(l) {
				t.Errorf("diverged: %v", d)
			}
		})
	})
}
