package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/logstore"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// poison is what a defect of the state machine cannot apply.
const poison = "poison"

// chokes does not see what is repeated: that is not executed.
func chokes(v *fsm.View, e *fsm.Entry) {
	for i := range e.Requests {
		if s := v.SessionTable.Get(e.Requests[i].Session); s != nil {
			if _, known := s.Answer(e.Requests[i].Seq); known {
				continue
			}
		}
		if c, ok := e.Requests[i].Cmd.(fsm.CreateTask); ok && c.Title == poison {
			panic("a law is broken")
		}
	}
}

// stuck is a cluster whose servers have met an entry that they cannot apply.
type stuck struct {
	*clustertest.Cluster
	t       *testing.T
	configs [4]cluster.Config
	client  *clustertest.Client
	request fsm.Request // that was in the entry
	broken  *cluster.BrokenInvariant
	hale    [4]bool // servers that run a version without the defect; read at each start
}

// newStuck makes one of three servers; well, if at least 0, can apply everything.
func newStuck(t *testing.T, well int) *stuck {
	s := &stuck{t: t}
	if well >= 0 {
		s.hale[well] = true
	}
	s.Cluster = clustertest.New(t, 3, clustertest.OnDisk(), clustertest.Spare(1),
		clustertest.Configure(func(i int, cfg *cluster.Config) {
			cfg.Defect = func(v *fsm.View, e *fsm.Entry) {
				if !s.hale[i] {
					chokes(v, e)
				}
			}
			s.configs[i] = *cfg
		}))
	for i := range 3 {
		announce(t, s.Cluster, i, cluster.FeatureLevel)
	}
	s.client = s.Client()
	s.Await("the feature level begins", func() (begun bool) {
		s.Replica(s.Leader()).Read(func(v *fsm.View) { begun = v.Level() == cluster.FeatureLevel })
		return begun
	})
	room(t, s.client)
	do(t, s.client, fsm.CreateTask{Room: "r", Role: "builder", Title: "before"})
	s.request = s.client.Next(fsm.CreateTask{Room: "r", Role: "builder", Title: poison})
	leader := s.Replica(s.Leader())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if out, err := leader.Submit(ctx, s.request); (err == nil) != (well >= 0 && leader == s.Replica(well)) {
		t.Errorf("the poison is answered %+v, %v", out, err)
	}
	return s
}

// allFall brings all servers given down at the entry: the last one that is left learns nothing any more without
// the others, and is stopped.
func (s *stuck) allFall(list ...int) {
	s.t.Helper()
	down := func() (n int) {
		for _, i := range list {
			if ended, err := s.Ended(i); ended {
				n++
				if b := (*cluster.BrokenInvariant)(nil); errors.As(err, &b) {
					s.broken = b
				}
			}
		}
		return n
	}
	s.Await("all servers but one are down", func() bool { return down() >= len(list)-1 })
	for _, i := range list {
		if s.Replica(i) != nil {
			if err := s.Stop(i); err != nil && !errors.Is(err, cluster.ErrBrokenInvariant) {
				s.t.Errorf("stop server %d: %v", i, err)
			}
		}
	}
	if s.broken == nil {
		s.t.Fatal("no server has said at which entry it stops")
	}
}

func (s *stuck) refuse(i int, how cluster.Refusing) (*cluster.Refusal, error) {
	how.Do, how.Defect = true, func(v *fsm.View, e *fsm.Entry) {
		if !s.hale[i] {
			chokes(v, e)
		}
	}
	if how.Index == 0 {
		how.Index = s.broken.Index
	}
	if how.Sum == "" {
		how.Sum = s.broken.Sum
	}
	return cluster.Refuse(s.configs[i].DataDir, how)
}

func (s *stuck) refuseAll(list ...int) {
	s.t.Helper()
	for _, i := range list {
		got, err := s.refuse(i, cluster.Refusing{})
		if err != nil || got.What != "CreateTask" || !strings.Contains(got.Why, "a law is broken") || got.Known {
			s.t.Fatalf("server %d: %+v, %v", i, got, err)
		}
	}
}

// titles gives those of all tasks, as a server knows them.
func titles(r *cluster.Replica) (list []string) {
	r.Read(func(v *fsm.View) {
		for task := range v.Tasks(0) {
			list = append(list, task.Title)
		}
	})
	slices.Sort(list)
	return list
}

// L8, L12: an entry that no server can apply is passed over by all of them, in logs of both kinds: what was acknowledged
// before holds, and after; its own write is answered with the refusal, once and for ever; a new server that
// replays the log gets it, and so does one that starts anew from its log or its snapshot.
func TestL12AnEntryThatCannotBeAppliedIsRefusedByAll(t *testing.T) {
	s := newStuck(t, -1)
	s.allFall(0, 1, 2)
	for i := range 3 { // started again, they fall again
		s.Restart(i)
	}
	s.allFall(0, 1, 2)
	if s.broken.What != "CreateTask" || strings.Contains(s.broken.Error(), poison) {
		t.Errorf("it says %v", s.broken)
	}
	s.refuseAll(0, 1, 2)
	for i := range 3 {
		s.Restart(i)
	}
	do(t, s.client, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
	for range 2 {
		out := s.Submit(s.request)
		if out.Code != noun.Conflict || !strings.Contains(out.Detail, "this request is refused") || out.Index != s.broken.Index {
			t.Errorf("the write of the entry is answered %+v", out)
		}
	}
	s.Agree()
	s.Restart(3) // a new server, which gets the log from its beginning
	if err := s.Replica(s.Leader()).AddServer(within(t, time.Minute), s.ID(3), s.Addr(3)); err != nil {
		t.Fatal(err)
	}
	s.Agree()
	if err := cluster.TakeSnapshot(s.Replica(0)); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		s.Kill(i)
		s.Restart(i)
	}
	do(t, s.client, fsm.CreateTask{Room: "r", Role: "builder", Title: "later"})
	s.Agree()
	for i := range 4 {
		if got := titles(s.Replica(i)); !slices.Equal(got, []string{"after", "before", "later"}) {
			t.Errorf("L8: server %d knows %v", i, got)
		}
		s.Replica(i).Read(func(v *fsm.View) {
			want := []noun.Refusal{{Index: s.broken.Index, Sum: s.broken.Sum}}
			if got := v.Refused(v.LastIndex()); !slices.Equal(got, want) {
				t.Errorf("server %d has refused %v, want %v", i, got, want)
			}
		})
	}
	if _, err := s.refuse(0, cluster.Refusing{}); !errors.Is(err, logstore.ErrInUse) {
		t.Errorf("while the server runs: %v", err)
	}
}
