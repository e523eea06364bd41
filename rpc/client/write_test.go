package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// L8: a write whose answer was lost is done once, under one number.
func TestLostAnswerIsAskedForUnderTheSameNumber(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lose[vigilv1.Fleet_CreateTask_FullMethodName] = 3
		task, err := create(t.Context(), c, "one")
		if err != nil {
			t.Fatal(err)
		}
		if n, _, _ := f.figures(); n != 1 || task.GetId() != 1 {
			t.Errorf("%d tasks, answer is task %d; want one task", n, task.GetId())
		}
		if n := f.count(vigilv1.Fleet_CreateTask_FullMethodName); n < 4 {
			t.Errorf("asked %d times, want at least 4", n)
		}
	})
}

// Whoever is told that nothing was executed does it again, under another number.
func TestAWriteWhoseAnswerWasLostMayHaveBeenDoneWhateverCameLast(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.mu.Lock()
		f.lose[vigilv1.Fleet_CreateTask_FullMethodName], f.falls = 1, true
		f.mu.Unlock()
		_, err := create(t.Context(), c, "one")
		if n, _, _ := f.figures(); n != 1 {
			t.Fatalf("%d tasks, want the one whose answer was lost", n)
		}
		wantOpen(t, err)
	})
}

func TestAnAttemptThatIsCutShortMayBeDoneWhateverCameBefore(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		if _, err := create(t.Context(), c, "one"); err != nil { // so there is a session
			t.Fatal(err)
		}
		f.lead("")
		time.AfterFunc(26*time.Second, func() { // an attempt may wait for 5 s, and begins within 2 s
			f.mu.Lock()
			f.leader, f.hangs = "a:1", true
			f.mu.Unlock()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := create(ctx, c, "two")
		wantOpen(t, err)
	})
}

// What no attempt can have done is told as it is: to do it again later is safe.
func TestAWriteThatNobodyTookIsKnownNotToBeDone(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lose[vigilv1.Work_OpenSession_FullMethodName], f.falls = 1, true // a session is no task
		if _, err := create(t.Context(), c, "one"); !errors.Is(err, client.ErrNoLeader) {
			t.Errorf("before there is a session: %v, want no_leader", err)
		}
		f.lead("a:1")
		if _, err := create(t.Context(), c, "two"); err != nil {
			t.Fatal(err)
		}
		f.lead("")
		if _, err := create(t.Context(), c, "three"); !errors.Is(err, client.ErrNoLeader) {
			t.Errorf("with a session: %v, want no_leader", err)
		}
	})
}

// A batch of which a part was done is not "nothing was executed".
func TestABatchOfWhichAPartWasDoneIsOpen(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.mu.Lock()
		f.lose[vigilv1.Work_Batch_FullMethodName], f.falls = 1, true
		f.mu.Unlock()
		one := &vigilv1.Write{Op: &vigilv1.Write_CreateTask{
			CreateTask: &vigilv1.CreateTaskRequest{Room: "web", Role: "builder", Title: "one"}}}
		_, err := vigilv1.NewWorkClient(c).Batch(t.Context(), &vigilv1.BatchRequest{Writes: []*vigilv1.Write{one}})
		wantOpen(t, err)
	})
}

// wantOpen wants an error that leaves open whether the call was carried out, and tells that nobody led at last.
func wantOpen(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, client.ErrUnknownOutcome) || !strings.Contains(err.Error(), "it may have been done") ||
		!strings.Contains(err.Error(), "_leader") {
		t.Errorf("the error is %q (%s), want unknown_outcome and that nobody led at last", err, client.Code(err))
	}
}

func TestForgottenSessionIsReplaced(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		clear(f.session)
		f.mu.Unlock()
		if _, err := create(t.Context(), c, "two"); err != nil {
			t.Fatal(err)
		}
		if n, _, _ := f.figures(); n != 2 {
			t.Errorf("%d tasks, want 2", n)
		}
	})
}

func TestSessionThatRestedIsNotUsedAgain(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		for range 2 {
			if _, err := create(t.Context(), c, "one"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(6 * time.Minute)
		}
		if n := f.count(vigilv1.Work_OpenSession_FullMethodName); n != 2 {
			t.Errorf("%d sessions were opened, want 2", n)
		}
	})
}

// F7: when the cluster has no session to spare a write goes without one, so that what frees
// the cluster can be said.
func TestF07WritesGoWithoutASessionWhenNoneIsToBeHad(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.mu.Lock()
		f.full = true
		f.mu.Unlock()
		if task, err := create(t.Context(), c, "one"); err != nil || task.GetTitle() != "one" {
			t.Errorf("a write without a session: %v, %v", task, err)
		}
		f.mu.Lock()
		f.lose[vigilv1.Fleet_CreateTask_FullMethodName] = 1
		f.mu.Unlock()
		if _, err := create(t.Context(), c, "two"); err == nil {
			t.Error("a write without a session whose answer was lost was repeated")
		}
		if n, _, _ := f.figures(); n != 2 {
			t.Errorf("%d tasks, want 2", n)
		}
	})
}

func TestIDOfTheCallerIsKept(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		in := &vigilv1.CreateTaskRequest{Room: "web", Id: &vigilv1.WriteId{Session: 99, Seq: 1}}
		if _, err := vigilv1.NewFleetClient(c).CreateTask(t.Context(), in); !errors.Is(err, client.ErrUnknownSession) {
			t.Errorf("write under an unknown session of the caller: %v, want unknown_session", err)
		}
	})
}

func TestRequestIsNotChanged(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		in := &vigilv1.CreateTaskRequest{Room: "web", Role: "builder", Title: "same"}
		before := proto.Clone(in)
		for range 2 {
			if _, err := vigilv1.NewFleetClient(c).CreateTask(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		if !proto.Equal(in, before) {
			t.Errorf("request is %v now, was %v", in, before)
		}
		if n, _, _ := f.figures(); n != 2 {
			t.Errorf("%d tasks, want 2: the request was sent twice", n)
		}
	})
}

func TestAThousandWritersOnOneClient(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.lose[vigilv1.Fleet_CreateTask_FullMethodName] = 200
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				for n := range 3 {
					if _, err := create(t.Context(), c, fmt.Sprint(i, n)); err != nil {
						t.Errorf("writer %d: %v", i, err)
					}
				}
			})
		}
		all.Wait()
		if n, _, _ := f.figures(); n != 3000 {
			t.Errorf("%d tasks, want 3000", n)
		}
		for id, n := range f.done {
			if n != 1 {
				t.Errorf("number %d of session %d was carried out %d times", id[1], id[0], n)
			}
		}
		if n := f.count(vigilv1.Work_OpenSession_FullMethodName); n > 100 {
			t.Errorf("%d sessions for 1,000 writers, want at most 100", n)
		}
	})
}

func TestBatchIsRepeatedWriteByWrite(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		batch := &vigilv1.BatchRequest{}
		for i := range 500 {
			batch.Writes = append(batch.Writes, &vigilv1.Write{Op: &vigilv1.Write_CreateTask{
				CreateTask: &vigilv1.CreateTaskRequest{Room: "web", Role: "builder", Title: fmt.Sprint(i)}}})
		}
		batch.Writes[3].GetCreateTask().Room = ""
		work := vigilv1.NewWorkClient(c)
		for round := range 3 {
			if round == 1 {
				f.mu.Lock()
				delete(f.session, 1)
				delete(f.session, 2)
				f.lose[vigilv1.Work_Batch_FullMethodName] = 2
				f.mu.Unlock()
			}
			out, err := work.Batch(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(out.GetResults()); n != 500 {
				t.Fatalf("%d results, want 500", n)
			}
			for i, r := range out.GetResults() {
				if e := client.FromInfo(r.GetError()); (i == 3) != errors.Is(e, client.ErrInvalid) &&
					(i == 3 || e != nil) {
					t.Errorf("round %d, write %d: %v", round, i, e)
				}
			}
		}
		if n, _, _ := f.figures(); n != 3*499 {
			t.Errorf("%d tasks, want %d", n, 3*499)
		}
	})
}
