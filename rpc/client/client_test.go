package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// story runs a test in simulated time with three fake servers and a client.
func story(t *testing.T, tell func(t *testing.T, f *fakeCluster, c *client.Client)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a:1", "b:1", "c:1")
		c := f.open(t, "a:1", "b:1", "c:1")
		defer f.stop()
		defer c.Close()
		tell(t, f, c)
	})
}

func create(ctx context.Context, c *client.Client, title string) (*vigilv1.Task, error) {
	return vigilv1.NewFleetClient(c).CreateTask(ctx,
		&vigilv1.CreateTaskRequest{Room: "web", Role: "builder", Title: title})
}

// Where handshakes take their time nobody hangs up and calls again: that would put everyone behind all others, and
// after a cut of thousands nobody would ever come back.
func TestClientWaitsForASlowHandshake(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.mu.Lock()
		f.slow = 7 * time.Second
		f.mu.Unlock()
		began := time.Now()
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("the write took %s of simulated time, want some 7s", took)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.dials > len(f.servers) {
			t.Errorf("%d connections were opened to %d servers, want one to each", f.dials, len(f.servers))
		}
	})
}

func TestClientFollowsTheLeaderThatAnErrorNames(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lead("c:1")
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		if got := c.Addr(); got != "c:1" {
			t.Errorf("next write goes to %s, want c:1", got)
		}
	})
}

func TestClientUsesALeaderThatIsNotAmongItsAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a:1", "b:1")
		f.lead("b:1")
		c := f.open(t, "a:1")
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		if got := c.Addr(); got != "b:1" {
			t.Errorf("next write goes to %s, want b:1", got)
		}
		c.Close()
		f.stop()
	})
}

func TestKilledLeaderIsLeftAtOnce(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		f.kill("a:1")
		f.lead("b:1")
		began := time.Now()
		if _, err := create(t.Context(), c, "two"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 100*time.Millisecond {
			t.Errorf("took %s, want at most 100ms", d)
		}
	})
}

// I14: a client must not stay attached to a dead leader.
func TestBlackHoledLeaderIsLeftWithinASecond(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		f.blackhole("a:1")
		f.lead("b:1")
		began := time.Now()
		if _, err := create(t.Context(), c, "two"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 1300*time.Millisecond {
			t.Errorf("took %s, want about 1s", d)
		}
		if n, _, _ := f.figures(); n != 2 {
			t.Errorf("%d tasks, want 2", n)
		}
	})
}

func TestBeatIsSentOnceAndTheNextGoesElsewhere(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		work := vigilv1.NewWorkClient(c)
		beat := &vigilv1.BeatRequest{Agents: []uint32{1}, Incarnations: []uint64{1}, Kinds: []uint32{1}}
		if _, err := work.Beat(t.Context(), beat); err != nil {
			t.Fatal(err)
		}
		f.blackhole("a:1")
		f.lead("b:1")
		began := time.Now()
		if _, err := work.Beat(t.Context(), beat); !errors.Is(err, client.ErrUnavailable) {
			t.Fatalf("beat of a silent leader: %v, want unavailable", err)
		}
		if d := time.Since(began); d > 1300*time.Millisecond {
			t.Errorf("failed after %s, want about 1s", d)
		}
		if n := f.count(vigilv1.Work_Beat_FullMethodName); n != 1 {
			t.Errorf("%d beats were sent, want 1", n)
		}
		if _, err := work.Beat(t.Context(), beat); err != nil {
			t.Errorf("next beat: %v", err)
		}
	})
}

func TestParkedCallNoticesASilentServer(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		stream, err := vigilv1.NewFleetClient(c).WatchEvents(t.Context(), &vigilv1.WatchEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		f.blackhole(e.GetHost())
		began := time.Now()
		if _, err = stream.Recv(); !errors.Is(err, client.ErrUnavailable) {
			t.Fatalf("watch at a silent server: %v, want unavailable", err)
		}
		if d := time.Since(began); d > 7*time.Second {
			t.Errorf("noticed after %s, want at most 7s", d)
		}
		again, err := vigilv1.NewFleetClient(c).WatchEvents(t.Context(), &vigilv1.WatchEventsRequest{After: e.GetSeq()})
		if err != nil {
			t.Fatal(err)
		}
		if next, err := again.Recv(); err != nil || next.GetHost() == e.GetHost() {
			t.Errorf("resumed at %s: %v, want another server than %s", next.GetHost(), err, e.GetHost())
		}
	})
}

func TestNoLeaderEndsWithTheContext(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lead("")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := create(ctx, c, "one")
		if !errors.Is(err, client.ErrNoLeader) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v: want no_leader and the deadline", err)
		}
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("took %s, want 3s", d)
		}
	})
}

func TestNoLeaderForFiveMinutesIsAnError(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lead("")
		began := time.Now()
		_, err := vigilv1.NewFleetClient(c).GetTask(t.Context(), &vigilv1.GetTaskRequest{Task: 1})
		if !errors.Is(err, client.ErrNoLeader) {
			t.Errorf("error %v: want no_leader", err)
		}
		if d := time.Since(began); d < 5*time.Minute || d > 5*time.Minute+3*time.Second {
			t.Errorf("gave up after %s, want 5m", d)
		}
	})
}

func TestElectionIsWaitedOut(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		f.lead("")
		f.kill("a:1")
		began := time.Now()
		time.AfterFunc(500*time.Millisecond, func() { f.lead("c:1") })
		if _, err := create(t.Context(), c, "two"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 650*time.Millisecond {
			t.Errorf("first write %s after the kill, want within 150ms of the election at 500ms", d)
		}
	})
}

func TestUnreachableLeaderAddressIsNotInsistedOn(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lead("elsewhere:1")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := create(ctx, c, "one")
		if !errors.Is(err, client.ErrNotLeader) && !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("error %v: want not_leader or unavailable", err)
		}
		if n := f.count(vigilv1.Work_OpenSession_FullMethodName); n > 100 {
			t.Errorf("%d calls in 5s, want at most 100", n)
		}
	})
}

func TestCarefulCallIsNotRepeatedWhenItsOutcomeIsUnknown(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lose[vigilv1.Cluster_AddServer_FullMethodName] = 1
		f.lead("b:1")
		_, err := vigilv1.NewClusterClient(c).AddServer(t.Context(), &vigilv1.AddServerRequest{Id: "s4"})
		if err == nil {
			t.Fatal("no error")
		}
		if n := f.count(vigilv1.Cluster_AddServer_FullMethodName); n != 2 {
			t.Errorf("asked %d times, want 2: not_leader, then the leader once", n)
		}
	})
}

// A repeat that comes late would undo what somebody else has set meanwhile.
func TestPutSettingsIsNotRepeatedWhenItsOutcomeIsUnknown(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lose[vigilv1.Cluster_PutSettings_FullMethodName] = 1
		f.lead("b:1")
		_, err := vigilv1.NewClusterClient(c).PutSettings(t.Context(),
			&vigilv1.PutSettingsRequest{Values: map[string]string{"ttl": "90s"}})
		if err == nil {
			t.Fatal("no error")
		}
		if n := f.count(vigilv1.Cluster_PutSettings_FullMethodName); n != 2 {
			t.Errorf("asked %d times, want 2: not_leader, then the leader once", n)
		}
	})
}

func TestErrorsCarryCodeAndDetails(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		_, err := vigilv1.NewFleetClient(c).GetTask(t.Context(), &vigilv1.GetTaskRequest{Task: 5})
		e := client.From(err)
		if e == nil || !errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrConflict) {
			t.Fatalf("error %v: want not_found", err)
		}
		if e.Code != "not_found" || e.Rev != 7 || e.Oldest != 9 || e.Message != "The answer is not_found." {
			t.Errorf("error is %+v", e)
		}
		if got := status.Code(err); got != codes.NotFound {
			t.Errorf("gRPC sees %s, want NotFound", got)
		}
		_, err = vigilv1.NewFleetClient(c).ListRooms(t.Context(), &vigilv1.ListRoomsRequest{})
		if !errors.Is(err, client.ErrUnimplemented) {
			t.Errorf("error %v: want unimplemented", err)
		}
	})
}

func TestCloseEndsCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a:1")
		c := f.open(t, "a:1")
		f.lead("")
		failed := make(chan error, 1)
		go func() {
			_, err := create(t.Context(), c, "one")
			failed <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-failed; !errors.Is(err, client.ErrClosed) {
			t.Errorf("error %v: want closed", err)
		}
		if _, err := create(t.Context(), c, "two"); !errors.Is(err, client.ErrClosed) {
			t.Errorf("call after close: %v, want closed", err)
		}
		f.stop()
	})
}

func TestOpenRefusesBadConfig(t *testing.T) {
	for _, cfg := range []client.Config{{}, {Addrs: []string{"nowhere"}},
		{Addrs: []string{"a:1"}, RetryFor: time.Hour}} {
		if _, err := client.Open(cfg); err == nil {
			t.Errorf("config %+v was taken", cfg)
		}
	}
}
