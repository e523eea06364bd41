package client_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func join(t *testing.T, c *client.Client) *client.Worker {
	t.Helper()
	w, err := client.Join(t.Context(), c, client.WorkerConfig{Agent: "web/builder"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWorkerBeatsFourTimesPerLease(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w := join(t, c)
		time.Sleep(10*time.Minute + time.Second)
		if n := f.count(vigilv1.Work_Beat_FullMethodName); n != 40 {
			t.Errorf("%d beats in 10 min, want 40", n)
		}
		w.Detach()
	})
}

// N22: a short lease is not lost to a failure or two.
func TestN22FailedBeatIsSentAgainWithinATenthOfAShortLease(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.ttl = 2 * time.Second
		w := join(t, c)
		f.lead("")
		time.Sleep(510 * time.Millisecond) // the first was due at 500 ms
		before := f.count(vigilv1.Work_Beat_FullMethodName)
		time.Sleep(600 * time.Millisecond)
		if n := f.count(vigilv1.Work_Beat_FullMethodName) - before; n < 3 {
			t.Errorf("%d beats within 600 ms, want 3", n)
		}
		f.lead("b:1")
		time.Sleep(time.Second)
		w.Detach()
	})
}

// A lease of 3 s is kept although the leader and most of the other addresses swallow what is sent to them: no
// address may take the time of more than a third of a beat, nor of one beat after the other.
func TestShortLeaseOutlivesAddressesThatSwallowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a:1", "b:1", "c:1", "d:1", "e:1", "f:1")
		f.ttl = 3 * time.Second
		c := f.open(t, "a:1", "b:1", "c:1", "d:1", "e:1", "f:1")
		w := join(t, c)
		for _, addr := range []string{"a:1", "b:1", "c:1", "d:1", "e:1"} {
			f.blackhole(addr)
		}
		f.lead("f:1")
		before := f.count(vigilv1.Work_Beat_FullMethodName)
		time.Sleep(2900 * time.Millisecond)
		if n := f.count(vigilv1.Work_Beat_FullMethodName) - before; n < 1 {
			t.Errorf("no beat came through within a lease")
		}
		before = f.count(vigilv1.Work_Beat_FullMethodName)
		time.Sleep(time.Minute)
		if n := f.count(vigilv1.Work_Beat_FullMethodName) - before; n < 75 {
			t.Errorf("%d beats in the minute after, want 80", n)
		}
		w.Detach()
		c.Close()
		f.stop()
	})
}

func TestFailedBeatIsSentAgainAfterASecond(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w := join(t, c)
		f.lead("")
		time.Sleep(18500 * time.Millisecond)
		f.lead("b:1")
		time.Sleep(time.Second)
		if n := f.count(vigilv1.Work_Beat_FullMethodName); n < 5 {
			t.Errorf("%d beats since the first was due 4.5s ago, want 5", n)
		}
		if w.Context().Err() != nil {
			t.Errorf("an outage of the servers ended the worker: %v", context.Cause(w.Context()))
		}
		w.Detach()
	})
}

// L6: a superseded incarnation stops.
func TestSupersededWorkerEnds(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w := join(t, c)
		f.mu.Lock()
		f.beats["1"] = "superseded"
		f.mu.Unlock()
		_, err := w.Wait(t.Context())
		if !errors.Is(err, client.ErrSuperseded) || !errors.Is(context.Cause(w.Context()), client.ErrSuperseded) {
			t.Errorf("wait: %v, worker: %v; want superseded", err, context.Cause(w.Context()))
		}
	})
}

// I103: whoever beats with the token of another life is told so and stops; its beats
// carry what it was given.
func TestWorkerWithAWrongTokenEnds(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w, err := client.Join(t.Context(), c, client.WorkerConfig{Agent: "web/builder", Incarnation: 1, Token: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.beats["1"] = "denied"
		f.mu.Unlock()
		_, err = w.Wait(t.Context())
		if !errors.Is(err, client.ErrDenied) || !errors.Is(context.Cause(w.Context()), client.ErrDenied) {
			t.Errorf("wait: %v, worker: %v; want denied", err, context.Cause(w.Context()))
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if !slices.Equal(f.tokens, []string{"mine"}) {
			t.Errorf("beats carried the tokens %q", f.tokens)
		}
	})
}

func TestWorkerJoinsAgainAfterItsLeaseHasEnded(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w := join(t, c)
		f.mu.Lock()
		f.beats["1"] = "rejoin"
		f.mu.Unlock()
		time.Sleep(time.Minute)
		if _, n, _ := f.figures(); n != 2 {
			t.Errorf("joined %d times, want 2", n)
		}
		w.Detach()
	})
}

// A machine that has slept asks for mail before its next beat has joined again.
func TestAWaitForMailOutlivesTheLease(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w := join(t, c)
		end := func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.beats["1"], f.outside = "rejoin", true
		}
		end()
		began := time.Now()
		list, err := w.Mailbox().Wait(t.Context())
		if err != nil || len(list) != 1 || time.Since(began) > 5*time.Second {
			t.Errorf("%d mails, %v, after %s", len(list), err, time.Since(began))
		}
		// Somebody else beats for this life, in his own time.
		end()
		of := client.WorkerConfig{Agent: "web/builder", Incarnation: w.Incarnation(), Patience: time.Minute}
		if list, err = client.NewMailbox(c, of).Wait(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("of another process: %d mails, %v", len(list), err)
		}
		w.Detach() // now nobody does
		end()
		began = time.Now()
		if _, err = client.NewMailbox(c, of).Wait(t.Context()); !errors.Is(err, client.ErrRejoin) ||
			time.Since(began) < time.Minute {
			t.Errorf("without anybody who beats: %v after %s", err, time.Since(began))
		}
		if _, err = w.Mailbox().Wait(t.Context()); !errors.Is(err, client.ErrRejoin) {
			t.Errorf("of a worker that beats no more: %v", err)
		}
	})
}

// What was done while no server answered is not begun anew before agentd has delivered it.
func TestWaitHandsOutNothingWhoseResultIsLeftWithAgentd(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		spool := t.TempDir()
		f.mu.Lock()
		f.tasks = append(f.tasks, &vigilv1.Task{Id: 5, Attempt: 1, State: vigilv1.TaskState_PENDING})
		f.mu.Unlock()
		w, err := client.Join(t.Context(), c, client.WorkerConfig{Agent: "web/builder", Spool: spool})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Detach()
		job, err := w.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		one := client.Spooled{Agent: w.Agent(), Incarnation: w.Incarnation(), Task: job.Task.GetId(),
			Attempt: job.Attempt, Result: "done"}
		if err := one.Put(spool, time.Now()); err != nil {
			t.Fatal(err)
		}
		again := func() { // it is still held
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, x := range f.tasks {
				x.State, x.Attempt = vigilv1.TaskState_PENDING, job.Attempt-1
			}
		}
		again()
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if job, err := w.Wait(short); err == nil {
			t.Errorf("task %d, attempt %d is handed out again", job.Task.GetId(), job.Attempt)
		}
		files, err := filepath.Glob(filepath.Join(spool, "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("left %v, %v", files, err)
		}
		if err := os.Remove(files[0]); err != nil { // agentd has dealt with it
			t.Fatal(err)
		}
		again()
		if _, err := w.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitOutlivesServersAndLeaders(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w := join(t, c)
		got := make(chan *client.Job, 1)
		go func() {
			job, err := w.Wait(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- job
		}()
		time.Sleep(3 * time.Minute)
		f.kill("a:1")
		f.lead("b:1")
		time.Sleep(3 * time.Minute)
		f.kill("c:1")
		time.Sleep(3 * time.Minute)
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		job := <-got
		if err := job.Start(t.Context()); err != nil {
			t.Error(err)
		}
		if err := job.Complete(t.Context(), "done"); err != nil {
			t.Error(err)
		}
		if job.Context().Err() == nil {
			t.Error("the job's context goes on after it was finished")
		}
		f.mu.Lock()
		if f.tasks[0].State != vigilv1.TaskState_COMPLETED {
			t.Errorf("task is %s", f.tasks[0].State)
		}
		f.mu.Unlock()
		if err := w.Leave(t.Context(), "bye"); err != nil {
			t.Error(err)
		}
	})
}

// L5: every way out of Work leaves the room.
func TestWorkLeavesOnEveryExit(t *testing.T) {
	boom := errors.New("boom")
	for name, end := range map[string]struct {
		do   func(f *fakeCluster, cancel context.CancelFunc) error
		want error
	}{
		"cancel while it waits": {do: func(_ *fakeCluster, cancel context.CancelFunc) error { cancel(); return nil }},
		"failed task, then cancel": {do: func(f *fakeCluster, cancel context.CancelFunc) error {
			time.AfterFunc(time.Second, cancel)
			return boom
		}},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if _, err := create(ctx, c, "one"); err != nil {
					t.Fatal(err)
				}
				err := client.Work(ctx, c, client.WorkerConfig{Agent: "web/builder"},
					func(context.Context, *client.Job) (string, error) {
						return "", end.do(f, cancel)
					})
				if err != end.want {
					t.Errorf("error %v, want %v", err, end.want)
				}
				if _, _, n := f.figures(); n != 1 {
					t.Errorf("left %d times, want once", n)
				}
			})
		})
	}
}

func TestJobEndsWhenItsAttemptIsOver(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		w := join(t, c)
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		job, err := w.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.tasks[0].Attempt++
		f.mu.Unlock()
		if err := job.Start(t.Context()); !errors.Is(err, client.ErrSuperseded) {
			t.Errorf("start: %v, want superseded", err)
		}
		synctest.Wait()
		if !errors.Is(context.Cause(job.Context()), client.ErrSuperseded) {
			t.Errorf("job: %v, want superseded", context.Cause(job.Context()))
		}
		w.Detach()
	})
}

// L9: a human's cancel reaches a worker that says nothing.
func TestWorkIsToldThatItsTaskWasCanceled(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, title := range []string{"one", "two"} {
			if _, err := create(ctx, c, title); err != nil {
				t.Fatal(err)
			}
		}
		done := 0
		err := client.Work(ctx, c, client.WorkerConfig{Agent: "web/builder"},
			func(ctx context.Context, job *client.Job) (string, error) {
				if done++; job.Task.GetTitle() == "two" {
					time.Sleep(time.Minute)
					if ctx.Err() != nil {
						t.Errorf("a task that nobody has canceled ended: %v", context.Cause(ctx))
					}
					cancel()
					return "", nil
				}
				time.Sleep(time.Minute)
				f.mu.Lock()
				f.tasks[0].State = vigilv1.TaskState_CANCELED
				f.mu.Unlock()
				began := time.Now()
				<-ctx.Done()
				if told := time.Since(began); told > 6*time.Second || client.Code(context.Cause(ctx)) != "superseded" {
					t.Errorf("told after %s: %v", told, context.Cause(ctx))
				}
				return "late", nil
			})
		if err != nil || done != 2 || f.tasks[0].Result != "" {
			t.Errorf("%d jobs, error %v, result %q of what was canceled", done, err, f.tasks[0].Result)
		}
	})
}

func TestIncarnationsAreReadAsTheyAreWritten(t *testing.T) {
	for text, n := range map[string]uint64{"1": 1, "4294967295": 1<<32 - 1, "2.7": 2<<32 | 7} {
		got, err := client.ParseIncarnation(text)
		if err != nil || got != n || client.FormatIncarnation(n) != text {
			t.Errorf("%q is read as %d (%v) and written as %q", text, got, err, client.FormatIncarnation(n))
		}
	}
	for _, text := range []string{"", "x", "1.", ".1", "1.2.3", "-1", "1.4294967296"} {
		if _, err := client.ParseIncarnation(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestEnvironmentOfAManagedAgent(t *testing.T) {
	env := map[string]string{"VIGIL_AGENT": "web/builder.2", "VIGIL_INCARNATION": "3", "VIGIL_TOKEN": "secret"}
	cfg, err := client.WorkerFromEnv(func(k string) string { return env[k] })
	if err != nil || cfg.Agent != "web/builder.2" || cfg.Incarnation != 3 || cfg.Token != "secret" {
		t.Errorf("got %+v, %v", cfg, err)
	}
	env["VIGIL_INCARNATION"] = "three"
	if _, err := client.WorkerFromEnv(func(k string) string { return env[k] }); err == nil {
		t.Error("incarnation \"three\" was taken")
	}
}
