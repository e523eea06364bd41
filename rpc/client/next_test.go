package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// worked has Work do all tasks of the fake, and gives how many it did.
func worked(t *testing.T, c *client.Client, f *fakeCluster, tasks int) {
	t.Helper()
	for i := range tasks {
		if _, err := create(t.Context(), c, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := 0
	err := client.Work(ctx, c, client.WorkerConfig{Agent: "web/builder"},
		func(_ context.Context, job *client.Job) (string, error) {
			if done++; done == tasks {
				cancel()
			}
			if job.Task.GetTitle() == "1" {
				return "", errors.New("boom")
			}
			return "result of " + job.Task.GetTitle(), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.tasks {
		want, result := vigilv1.TaskState_COMPLETED, "result of "+x.GetTitle()
		if i == 1 {
			want, result = vigilv1.TaskState_FAILED, "boom"
		}
		if x.GetState() != want || x.GetResult() != result || x.GetAttempt() != 1 {
			t.Errorf("task %d: %v", i, x)
		}
	}
}

// A life of tasks that are there costs one join, one wait, and one write a task.
func TestWorkCostsOneWriteATask(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		worked(t, c, f, 5)
		for method, want := range map[string]int{vigilv1.Work_Join_FullMethodName: 1, vigilv1.Work_Wait_FullMethodName: 1,
			vigilv1.Work_Next_FullMethodName: 4, vigilv1.Work_StartTask_FullMethodName: 0,
			vigilv1.Work_CompleteTask_FullMethodName: 1, vigilv1.Work_FailTask_FullMethodName: 0} {
			if n := f.count(method); n != want {
				t.Errorf("%s was called %d times, want %d", method, n, want)
			}
		}
	})
}

// Where servers of an older version are left the same is done in single steps.
func TestWorkOfOldServers(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.old = true
		worked(t, c, f, 3)
		if n := f.count(vigilv1.Work_StartTask_FullMethodName); n != 3 {
			t.Errorf("started %d tasks, want 3", n)
		}
	})
}

// What Next gives is the next job, or nil and a worker that waits already.
func TestNextJob(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		for _, name := range []string{"one", "two"} {
			if _, err := create(t.Context(), c, name); err != nil {
				t.Fatal(err)
			}
		}
		w := join(t, c)
		first, err := w.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second, _, err := first.Next(t.Context(), client.End{Result: "done"})
		if err != nil || second.Task.GetTitle() != "two" || first.Context().Err() == nil || second.Context().Err() != nil {
			t.Fatalf("%+v, %v", second, err)
		}
		none, _, err := second.Next(t.Context(), client.End{Failure: &client.Failure{Reason: "no"}})
		if err != nil || none != nil || second.Context().Err() == nil {
			t.Errorf("with no task left: %+v, %v", none, err)
		}
		_, before, _ := f.figures()
		if _, err := create(t.Context(), c, "three"); err != nil {
			t.Fatal(err)
		}
		if job, err := w.Wait(t.Context()); err != nil || job.Task.GetTitle() != "three" {
			t.Errorf("%+v, %v", job, err)
		}
		if _, after, _ := f.figures(); after != before {
			t.Errorf("it joined again %d times; Next had it wait already", after-before)
		}
		w.Detach()
	})
}
