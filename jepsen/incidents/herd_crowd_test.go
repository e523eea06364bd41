//go:build linux

package incidents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// crowd is many agents without a process, started by hand from one address.
type crowd struct {
	w    *world
	beat *vigilv1.BeatRequest // of all of them
	who  []*vigilv1.Speaker
}

// crowd declares and joins so many agents of the role "crowd".
func (w *world) crowd(n int, ttl time.Duration) *crowd {
	w.t.Helper()
	w.room(role("crowd", n, "", byHand, func(r *vigilv1.RoleSpec) { r.Ttl = seconds(int(ttl.Seconds())) }))
	batch := &vigilv1.BatchRequest{}
	for range n {
		batch.Writes = append(batch.Writes,
			&vigilv1.Write{Op: &vigilv1.Write_Join{
				Join: &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: w.slot("crowd.*")}}}})
	}
	answer, err := w.work.Batch(w.ctx(), batch)
	if err != nil {
		w.t.Fatalf("join: %v", err)
	}
	c := &crowd{w: w, beat: &vigilv1.BeatRequest{}}
	names := map[uint32]string{}
	for _, a := range w.agents() {
		names[a.GetId()] = a.GetName()
	}
	for _, r := range answer.GetResults() {
		if r.GetError() != nil {
			w.t.Fatalf("join: %s", r.GetError().GetMessage())
		}
		c.beat.Agents = append(c.beat.Agents, r.GetAgentId())
		c.beat.Incarnations = append(c.beat.Incarnations, r.GetIncarnation())
		c.beat.Kinds = append(c.beat.Kinds, client.BeatLease)
		c.who = append(c.who, &vigilv1.Speaker{Agent: names[r.GetAgentId()], Incarnation: r.GetIncarnation()})
	}
	return c
}

// beats renews all leases so often until it is stopped; it counts beats, and stop
// gives what was wrong. Calls that no server answered are made again.
func (c *crowd) beats(every time.Duration) (stop func() error, count *atomic.Int64) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var wrong error
	count = &atomic.Int64{}
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for ctx.Err() == nil {
			call, end := context.WithTimeout(ctx, 5*time.Second)
			answer, err := c.w.work.Beat(call, c.beat)
			end()
			switch {
			case errors.Is(err, client.ErrTooLarge), errors.Is(err, client.ErrDenied),
				errors.Is(err, client.ErrInvalid):
				wrong = err
			case err != nil: // between two leaders
			case len(answer.GetExceptions()) > 0:
				wrong = fmt.Errorf("%d of %d: %v", len(answer.GetExceptions()), len(c.who), answer.GetExceptions()[0])
			default:
				count.Add(int64(len(c.who)))
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() error {
		cancel()
		<-done
		return wrong
	}, count
}

// noneDied checks that the history tells of no lease that ended.
func (w *world) noneDied() {
	w.t.Helper()
	if dead := w.events("agent.lease_ended", "agent.left"); len(dead) > 0 {
		w.t.Errorf("%d agents were declared dead, first %s: %s", len(dead), dead[0].GetAgent(), dead[0].GetText())
	}
}

// I97, thundering herd of followers: when the leader is lost, hundreds of waiting
// clients come back without any of them losing its place, and beats go on meanwhile.
// That they do not all come at once is tried in simulated time, in rpc/client.
func TestI97FollowersComeBack(t *testing.T) {
	w := fleet(t)
	const many = 200
	const lease = 20 * time.Second
	long := func(r *vigilv1.RoleSpec) { r.Ttl = seconds(int(lease.Seconds())) }
	w.room(role("crowd", many, "", byHand, long), role("probe", 1, "", byHand, long))
	probe := w.joins("probe")
	var all sync.WaitGroup
	var worked atomic.Int64
	var dials dialed
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); all.Wait() })
	for range many {
		c, err := client.Open(client.Config{Addrs: w.Addrs(), Name: "follower", Dial: dials.dial})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			worker, err := client.Join(ctx, c, client.WorkerConfig{Agent: w.slot("crowd.*")})
			if err != nil {
				return
			}
			for ctx.Err() == nil {
				job, err := worker.Wait(ctx)
				if err != nil {
					return
				}
				if job.Start(ctx) == nil && job.Complete(ctx, "done") == nil {
					worked.Add(1)
				}
			}
		})
	}
	w.eventually("all wait", func() error {
		if n := w.status().GetWaiters(); n == 0 || w.waiting() != many+1 {
			return fmt.Errorf("%d wait", w.waiting())
		}
		return nil
	})
	dials.forget()
	start := w.killServer(w.leader())
	w.leaderAgain()
	took := beatOften(w, probe, 4, 25)
	if p99 := took[len(took)*99/100]; p99 > lease/4 {
		t.Errorf("99 of 100 beats were answered within %s, later than the next one is due", p99)
	}
	for range many {
		w.task("crowd", "")
	}
	w.eventually("everybody can work", func() error {
		if n := worked.Load(); n != many {
			return fmt.Errorf("%d tasks are done", n)
		}
		return nil
	})
	if dead := w.events("agent.lease_ended", "agent.left"); len(dead) > 0 {
		t.Errorf("%d lost their place, first %s: %s", len(dead), dead[0].GetAgent(), dead[0].GetText())
	}
	start()
	made, most := dials.burst(20 * time.Millisecond)
	if made == 0 {
		t.Error("nobody had to come back")
	}
	t.Logf("beats: median %s, p99 %s; %d connections, at most %d within 20 ms", took[len(took)/2],
		took[len(took)*99/100], made, most)
}

// beatOften beats for a worker, in rounds of several at once, and gives how long the
// answers took, the shortest first.
func beatOften(w *world, worker *client.Worker, rounds, atOnce int) []time.Duration {
	w.t.Helper()
	took := make([]time.Duration, rounds*atOnce)
	for r := range rounds {
		var all sync.WaitGroup
		for i := range atOnce {
			all.Go(func() {
				began := time.Now()
				if err := worker.Beat(w.ctx()); err != nil {
					w.t.Errorf("beat: %v", err)
				}
				took[r*atOnce+i] = time.Since(began)
			})
		}
		all.Wait()
	}
	slices.Sort(took)
	return took
}

// dialed notes when connections are made.
type dialed struct {
	mu sync.Mutex
	at []time.Time
}

func (d *dialed) dial(ctx context.Context, addr string) (net.Conn, error) {
	d.mu.Lock()
	d.at = append(d.at, time.Now())
	d.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

func (d *dialed) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = nil
}

// burst gives how many there were, and how many at most within a span.
func (d *dialed) burst(span time.Duration) (all, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := 0
	for i, at := range d.at { // in the order of time
		for at.Sub(d.at[first]) > span {
			first++
		}
		most = max(most, i-first+1)
	}
	return len(d.at), most
}

// waiting counts the participants of the room.
func (w *world) waiting() (n int) {
	w.t.Helper()
	for _, a := range w.agents() {
		if a.GetParticipant() == "WAITING" {
			n++
		}
	}
	return n
}

// leaderAgain waits until the servers that are left have a leader.
func (w *world) leaderAgain() {
	w.t.Helper()
	w.eventually("somebody leads", func() error {
		_, err := w.cluster.Status(w.ctx(), &vigilv1.StatusRequest{})
		return err
	})
}

// I136, heartbeat write amplification: the beats of a thousand idle agents are a few
// entries of the log, and wake none of fifty watchers.
func TestI136BeatsWakeNobody(t *testing.T) {
	w := fleet(t)
	const many, watchers = 1000, 50
	c := w.crowd(many, 10*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	var woken atomic.Int64
	for range watchers {
		stream, err := w.fleet.WatchEvents(ctx,
			&vigilv1.WatchEventsRequest{Room: w.name, After: w.status().GetLastEvent()})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for {
				if _, err := stream.Recv(); err != nil {
					return // canceled
				}
				woken.Add(1)
			}
		})
	}
	stop, n := c.beats(50 * time.Millisecond)
	before, began := w.status(), time.Now()
	w.eventually("they have beaten often", func() error {
		if n := n.Load(); n < 10*many {
			return fmt.Errorf("%d beats", n)
		}
		return nil
	})
	after, span := w.status(), time.Since(began)
	if err := stop(); err != nil {
		t.Error(err)
	}
	entries := int(after.GetIndex() - before.GetIndex())
	// Beats are gathered for 250 ms, those of the hosts with them; the clock comes on top.
	if most := 20 + int(20*span.Seconds()); entries > most {
		t.Errorf("%d beats became %d entries in %s, at most %d were expected", n.Load(), entries, span, most)
	}
	// The watchers would hear of any event about the room or its agents; what hosts
	// of earlier tests still do is not theirs.
	if n := woken.Load(); n > 0 {
		t.Errorf("beats woke watchers %d times", n)
	}
	w.pause(c.who[0].GetAgent(), true) // they do see what happens
	w.eventually("watchers see a change", func() error {
		if n := woken.Load(); n < watchers {
			return fmt.Errorf("%d heard of it", n)
		}
		return nil
	})
	w.noneDied()
	t.Logf("%d beats, %d entries", n.Load(), entries)
}

// I159, heartbeats rate-limited: a thousand agents behind one address keep their
// leases and their results while another client behind it floods the API, right
// after the leader was lost.
func TestI159FloodStarvesNobody(t *testing.T) {
	w := fleet(t)
	const many, workers, flooders = 1000, 20, 40
	c := w.crowd(many, 10*time.Second)
	var claims []*vigilv1.CompleteTaskRequest
	for _, who := range c.who[:workers] {
		w.task("crowd", "")
		claim, err := w.work.Claim(w.ctx(), &vigilv1.ClaimRequest{Speaker: who})
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, &vigilv1.CompleteTaskRequest{Speaker: who, Task: claim.GetTask().GetId(),
			Attempt: claim.GetAttempt(), Result: "done"})
	}
	stop, beats := c.beats(2 * time.Second)
	lead := w.leader()
	start := w.killServer(lead)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	var asked atomic.Int64
	for i := range flooders {
		all.Go(func() {
			for ctx.Err() == nil {
				if flood(ctx, w, i) == nil {
					asked.Add(1)
				}
			}
		})
	}
	start()
	w.leaderAgain()
	for _, claim := range claims {
		if _, err := w.work.CompleteTask(w.ctx(), claim); err != nil {
			t.Errorf("a result was refused: %v", err)
		}
	}
	time.Sleep(calm)
	cancel()
	all.Wait()
	if err := stop(); err != nil || beats.Load() == 0 {
		t.Errorf("%d beats: %v", beats.Load(), err)
	}
	w.noneDied()
	if asked.Load() == 0 {
		t.Error("the flood did not arrive")
	}
	t.Logf("%d calls of the flood were answered", asked.Load())
}

// flood is one call of somebody who means no good: reads over HTTP and writes.
func flood(ctx context.Context, w *world, n int) error {
	if n%2 == 0 {
		_, err := w.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: w.name, Role: "nobody", Title: "flood"})
		if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrInvalid) {
			return nil
		}
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+w.Servers[n%len(w.Servers)].Addr()+"/v1/agents?limit=100", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
