package cluster_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
)

// Any member tells what each of them says of its part in raft, whom it hears, and who does not answer.
func TestEachServerTellsItsFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &atomic.Int64{}
		slow.Store(int64(time.Millisecond))
		c, d := withDoors(t,
			clustertest.WrapLog(func(_ int, s raft.LogStore) raft.LogStore { return &slowLog{s, slow} }))
		k := c.Client()
		do(t, k, fsm.PutServer{ID: c.ID(0), RaftAddr: c.Addr(0), Features: cluster.FeatureLevel})
		time.Sleep(5 * time.Second)
		lead := c.Leader()
		follower, other := (lead+1)%3, (lead+2)%3
		survey := func() map[string]cluster.Figures { return c.Replica(follower).Survey() }

		var was [3]cluster.Stats
		for i := range was {
			was[i] = c.Replica(i).Stats()
		}
		said := survey()
		if len(said) != 3 {
			t.Fatalf("%d of 3 servers tell: %+v", len(said), said)
		}
		for id, f := range said {
			i := slices.IndexFunc([]int{0, 1, 2}, func(i int) bool { return c.ID(i) == id })
			was, is := was[i], c.Replica(i).Stats() // an entry may come meanwhile
			within := func(a, b, c uint64) bool { return a <= b && b <= c }
			if f.Err != "" || f.State != is.State || f.Term != is.Term ||
				!within(was.CommitIndex, f.CommitIndex, is.CommitIndex) ||
				!within(was.AppliedIndex, f.AppliedIndex, is.AppliedIndex) ||
				!within(was.LastIndex, f.LogEntries, is.LastIndex) {
				t.Errorf("server %s tells %+v, was %+v and is %+v", id, f, was, is)
			}
			if leads := id == c.ID(lead); leads != (f.CommitP50 > 0) || leads != (f.CommitP99 > 0) {
				t.Errorf("server %s, which leads: %t, tells of commits in %v and %v", id, leads, f.CommitP50, f.CommitP99)
			}
			for i := range 3 {
				if since, ok := f.Hears[c.ID(i)]; c.ID(i) != id && (!ok || since > time.Second) {
					t.Errorf("server %s hears %s: %t, %v ago", id, c.ID(i), ok, since)
				}
			}
		}

		d.set(other, true)
		c.Cut(follower, other)
		if again := survey(); again[c.ID(other)].Err != "" {
			t.Error("what servers said a moment ago is asked again")
		}
		time.Sleep(10 * time.Second)
		said = survey()
		if f := said[c.ID(other)]; f.Err == "" || !strings.Contains(f.Err, c.ID(other)) || f.Term != 0 {
			t.Errorf("a server that cannot be asked tells %+v", f)
		}
		if since := said[c.ID(lead)].Hears[c.ID(other)]; since < 9*time.Second {
			t.Errorf("the leader hears a server whose API has been shut for 10 s: %v ago", since)
		}

		c.Heal()
		time.Sleep(2 * time.Minute) // what was committed before counts no more
		do(t, k, fsm.PutServer{ID: c.ID(1), RaftAddr: c.Addr(1), Features: cluster.FeatureLevel, Zone: "a"})
		if f := c.Replica(lead).Figures(); f.CommitP50 <= 0 {
			t.Errorf("a commit of this minute is not counted: %+v", f)
		}
	})
}
