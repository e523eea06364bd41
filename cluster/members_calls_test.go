package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// adding lets the leader add a server that never answers, until the bubble ends or cancel is called.
func adding(t *testing.T, c *clustertest.Cluster, id string) (result <-chan error, cancel context.CancelFunc) {
	t.Helper()
	rep := c.Replica(c.Leader())
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	done := make(chan error, 1)
	go func() { done <- rep.AddServer(ctx, id, id+".nowhere:1") }()
	n := len(rep.Servers())
	c.Await("the new member", func() bool { return len(rep.Servers()) == n+1 })
	return done, cancel
}

// While a server is added that does not come up, everything else about members goes on; its own
// removal ends the addition.
func TestF08MembershipCallsDoNotQueueBehindAnAddition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 5)
		rep := c.Replica(c.Leader())
		first, cancel := adding(t, c, "x")
		defer cancel()
		second, cancel := adding(t, c, "y")
		defer cancel()
		began := time.Now()
		gone := c.ID((c.Leader() + 1) % 5)
		if err := rep.RemoveServer(within(t, 5*time.Second), gone, false); err != nil {
			t.Errorf("remove: %v", err)
		}
		var backup bytes.Buffer
		if err := rep.Snapshot(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		if err := rep.RemoveServer(within(t, 5*time.Second), "x", false); err != nil {
			t.Errorf("remove what is being added: %v", err)
		}
		if err := <-first; code(err) != noun.Conflict {
			t.Errorf("the addition of what was removed: %v", err)
		}
		if err := rep.Restore(within(t, 20*time.Second), &backup, fsm.OthersUnsaid); err != nil {
			t.Errorf("restore: %v", err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("all of it took %s", took)
		}
		cancel()
		if err := <-second; err == nil {
			t.Error("a server that is not there was added")
		}
	})
}

// A caller that has given up is answered, whatever is under way.
func TestF08CallersThatGiveUpAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		rep := c.Replica(c.Leader())
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, end := adding(t, c, "x")
		defer end()
		if err := rep.AddServer(gone, "z", "z.nowhere:1"); !errors.Is(err, context.Canceled) {
			t.Errorf("add: %v", err)
		}
	})
}

// A member without a vote that nobody adds any more goes: when its caller gives up, and when
// leadership has moved in the middle.
func TestF01NobodyIsLeftBehindWithoutAVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		l := c.Leader()
		result, cancel := adding(t, c, "x")
		defer cancel()
		c.Isolate(l)
		c.Await("another leader", func() bool { now := c.Leader(); return now >= 0 && now != l })
		next := c.Replica(c.Leader())
		if n := len(next.Servers()); n != 4 {
			t.Fatalf("%d members right after the change", n)
		}
		c.Await("the orphan is gone", func() bool { return len(c.Replica(c.Leader()).Servers()) == 3 })
		c.Heal()
		if err := <-result; err == nil {
			t.Error("a server that is not there was added")
		}
	})
}

// Who repeats the addition at the new leader gets the server in.
func TestF01AdditionIsRepeatedAtTheNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(1))
		l := c.Leader()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- c.Replica(l).AddServer(ctx, c.ID(3), c.Addr(3)) }()
		c.Await("the new member", func() bool { return len(c.Replica(l).Servers()) == 4 })
		if err := c.Replica(l).Transfer(within(t, time.Minute), ""); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, noun.ErrNotLeader) {
			t.Fatalf("at the old leader: %v", err)
		}
		c.Restart(3)
		if err := c.Replica(c.Leader()).AddServer(within(t, time.Minute), c.ID(3), c.Addr(3)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(c.Replica(c.Leader()).Servers()); n != 4 {
			t.Errorf("%d members", n)
		}
	})
}

// A server is removed only when those who must carry on answer at that moment: one that died
// a quarter of a second ago was heard of lately, and is no part of a majority.
func TestN14RemovalAsksWhoMustCarryOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 5)
		l := c.Leader()
		rep := c.Replica(l)
		c.Kill((l + 1) % 5)
		time.Sleep(5 * time.Second)
		c.Kill((l + 2) % 5)
		time.Sleep(250 * time.Millisecond)
		if err := rep.RemoveServer(within(t, time.Minute), c.ID((l+3)%5), false); code(err) != noun.Conflict {
			t.Errorf("removing one of three that live: %v", err)
		}
		if err := rep.RemoveServer(within(t, time.Minute), c.ID((l+2)%5), false); err != nil {
			t.Errorf("removing one that has just died: %v", err)
		}
		do(t, c.Client(), fsm.OpenSession{})
	})
}
