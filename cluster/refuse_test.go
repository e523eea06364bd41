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
	if well >= 0 && s.Leader() != well {
		if err := s.Replica(s.Leader()).Transfer(within(t, time.Minute), s.ID(well)); err != nil {
			t.Fatal(err)
		}
		s.Await("the server leads", func() bool { return s.Leader() == well })
	}
	leader := s.Replica(s.Leader())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if out, err := leader.Submit(ctx, s.request); (err == nil) != (well >= 0) {
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

// L8, L12: an entry that no server can apply is passed over by all of them, in logs of both kinds:
// what was acknowledged before holds, and after; its own write is answered with the refusal, once and for
// ever; a new server that replays the log gets it, and so does one that starts anew from its log or its
// snapshot.
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
		if out.Code != noun.Conflict || !strings.Contains(out.Detail, "this request is refused") ||
			out.Index != s.broken.Index {
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

// ends waits until a server has ended by itself, and wants the error and its words.
func (s *stuck) ends(i int, want error, words ...string) {
	s.t.Helper()
	var err error
	s.Await("a server ends", func() (ended bool) { ended, err = s.Ended(i); return ended })
	if !errors.Is(err, want) {
		s.t.Fatalf("server %d ended with %v, want %v", i, err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.t.Errorf("server %d ended with %v, want %q in it", i, err, w)
		}
	}
}

// L12: where two of three servers refuse an entry, the third stays out, whatever it makes of it, and says what to do.
func TestL12AServerThatDoesNotRefuseWithTheOthersStaysOut(t *testing.T) {
	if testing.Short() {
		t.Skip("servers on disk, in real time")
	}
	s := newStuck(t, -1)
	s.allFall(0, 1, 2)
	s.refuseAll(0, 1)
	for i := range 3 {
		s.Restart(i)
	}
	do(t, s.client, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
	s.ends(2, cluster.ErrBrokenInvariant, "CreateTask")
	s.hale[2] = true // a version that can apply it comes too late
	s.Restart(2)
	s.ends(2, cluster.ErrOtherRefusals, "skip-entry", "this server no entry")
	s.hale[2] = false
	s.refuseAll(2)
	s.Restart(2)
	do(t, s.client, fsm.CreateTask{Room: "r", Role: "builder", Title: "later"})
	s.Agree()
	if got := titles(s.Replica(2)); !slices.Equal(got, []string{"after", "before", "later"}) {
		t.Errorf("L8: the last server knows %v", got)
	}
	if err := s.Stop(0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.refuse(0, cluster.Refusing{Undo: true}); !errors.Is(err, cluster.ErrAgreed) {
		t.Errorf("take back what is agreed on: %v", err)
	}
	s.Restart(0)
}

// L8: what one server has applied and acknowledged no other one refuses: they hear it before they do anything, and
// the refusal is taken back.
func TestL8WhatAServerHasAppliedIsNotRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("servers on disk, in real time")
	}
	s := newStuck(t, 2)
	s.allFall(0, 1)
	s.refuseAll(0, 1)
	for i := range 2 {
		s.Restart(i)
		s.ends(i, cluster.ErrOtherRefusals, "server "+s.ID(2)+" has applied", "--undo")
	}
	for i := range 2 {
		if got, err := s.refuse(i, cluster.Refusing{Undo: true}); err != nil || !got.Known {
			t.Fatalf("take back: %+v, %v", got, err)
		}
		s.hale[i] = true
		s.Restart(i)
	}
	do(t, s.client, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
	s.Agree()
	if got := titles(s.Replica(0)); !slices.Equal(got, []string{"after", "before", poison}) {
		t.Errorf("L8: it knows %v", got)
	}
}

// A server that cannot be asked is waited for, unless an operator says that it is gone for good.
func TestL8ALostServerIsNotWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("servers on disk, in real time")
	}
	s := newStuck(t, -1)
	s.allFall(0, 1, 2)
	s.refuseAll(0, 1)
	s.Restart(0)
	s.Restart(1)
	if err := errors.Join(s.Stop(0), s.Stop(1)); err != nil { // it can be stopped while it waits
		t.Fatal(err)
	}
	for i := range 2 {
		if got, err := s.refuse(i, cluster.Refusing{Lost: []string{s.ID(2)}}); err != nil || !got.Known || got.Agreed {
			t.Fatalf("without the lost one: %+v, %v", got, err)
		}
		s.Restart(i)
	}
	do(t, s.client, fsm.CreateTask{Room: "r", Role: "builder", Title: "after"})
	if got := titles(s.Replica(s.Leader())); !slices.Equal(got, []string{"after", "before"}) {
		t.Errorf("L8: they know %v", got)
	}
}

// Only an entry that is named without doubt, and that this version cannot apply, is refused.
func TestOnlyWhatCannotBeAppliedIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("servers on disk, in real time")
	}
	s := newStuck(t, -1)
	s.allFall(0, 1, 2)
	for _, tt := range []struct {
		name string
		how  cluster.Refusing
		says string
	}{
		{"another sum", cluster.Refusing{Sum: strings.Repeat("0", 64)}, "its SHA-256 is " + s.broken.Sum},
		{"a short sum", cluster.Refusing{Sum: s.broken.Sum[:cluster.SumDigits-1]}, "its SHA-256 is"},
		{"behind the end", cluster.Refusing{Index: s.broken.Index + 1000}, "the log ends at entry"},
		{"not there any more", cluster.Refusing{Undo: true}, "nothing to take back"},
		{"raft's own", cluster.Refusing{Index: 1}, "raft itself wrote it"},
	} {
		for i := range 2 { // logs of both kinds
			if _, err := s.refuse(i, tt.how); !errors.Is(err, cluster.ErrNotRefused) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
	s.hale[0] = true
	if _, err := s.refuse(0, cluster.Refusing{}); !errors.Is(err, cluster.ErrNotRefused) ||
		!strings.Contains(err.Error(), "just start the server") {
		t.Errorf("an entry that this version applies: %v", err)
	}
	if _, err := cluster.Refuse(t.TempDir(), cluster.Refusing{Index: 1}); !errors.Is(err, cluster.ErrNothingToRecover) {
		t.Errorf("an empty directory: %v", err)
	}
}
