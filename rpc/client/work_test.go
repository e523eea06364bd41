package client_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// works has Work do tasks until all have ended, and gives how often do was called.
func works(t *testing.T, f *fakeCluster, c *client.Client, tasks int, do func() (string, error)) (calls int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range tasks {
		if _, err := create(ctx, c, "one"); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for left := 1; left > 0; {
			time.Sleep(time.Second)
			left = 0
			f.mu.Lock()
			for _, x := range f.tasks {
				if x.State != vigilv1.TaskState_COMPLETED && x.State != vigilv1.TaskState_FAILED {
					left++
				}
			}
			f.mu.Unlock()
		}
		cancel()
	}()
	err := client.Work(ctx, c, client.WorkerConfig{Agent: "web/builder"},
		func(context.Context, *client.Job) (string, error) { calls++; return do() })
	if err != nil {
		t.Errorf("the worker has ended: %v", err)
	}
	return calls
}

// The end of an attempt is said for as long as the life lasts, however long all servers are away.
func TestWorkSaysTheEndAfterALongOutage(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		n := works(t, f, c, 1, func() (string, error) {
			f.lead("")
			time.AfterFunc(20*time.Minute, func() { f.lead("b:1") })
			return "worked for hours", nil
		})
		if n != 1 || f.tasks[0].Result != "worked for hours" {
			t.Errorf("%d calls, result %q", n, f.tasks[0].Result)
		}
	})
}

// It is said again under a new number where the old one is forgotten.
func TestWorkSaysTheEndUnderANewNumber(t *testing.T) {
	for _, code := range []string{"too_old", "unknown_outcome"} {
		story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
			f.no[vigilv1.Work_Next_FullMethodName] = code
			if n := works(t, f, c, 1, func() (string, error) { return "done", nil }); n != 1 || f.tasks[0].Result != "done" {
				t.Errorf("%s: %d calls, result %q", code, n, f.tasks[0].Result)
			}
		})
	}
}

// A result or a hand-off that is refused fails its attempt, and the worker goes on.
func TestWorkOutlivesARefusedResult(t *testing.T) {
	for _, code := range []string{"invalid", "not_found", "too_large", "full"} {
		story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
			f.no[vigilv1.Work_Next_FullMethodName] = code
			n := works(t, f, c, 2, func() (string, error) { return "done", nil })
			want := "what it returned was refused: The answer is " + code + "."
			if n != 2 || f.tasks[0].Result != want || f.tasks[1].Result != "done" {
				t.Errorf("%s: %d calls, results %q and %q", code, n, f.tasks[0].Result, f.tasks[1].Result)
			}
			if after := f.failed.GetAfter().AsDuration(); f.failed.GetRetryable() != (code == "full") ||
				code == "full" && after != time.Minute {
				t.Errorf("%s: failed with %v", code, f.failed)
			}
		})
	}
}

// What is refused of the life ends the worker.
func TestWorkEndsWhenItsLifeIsRefused(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		f.no[vigilv1.Work_Next_FullMethodName] = "stopped"
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		err := client.Work(t.Context(), c, client.WorkerConfig{Agent: "web/builder"},
			func(context.Context, *client.Job) (string, error) { return "done", nil })
		if !errors.Is(err, client.ErrStopped) || f.failed != nil {
			t.Errorf("ended with %v, failed %v", err, f.failed)
		}
	})
}

// Texts that servers would not take are made ones that they take.
func TestWorkSendsWhatServersTake(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		n := 0
		works(t, f, c, 2, func() (string, error) {
			if n++; n == 1 {
				return "half \xff of it", nil
			}
			return "", errors.New(strings.Repeat("\xffä", 2000))
		})
		if f.tasks[0].Result != "half \uFFFD of it" {
			t.Errorf("the result is %q", f.tasks[0].Result)
		}
		reason := f.tasks[1].Result
		if !strings.HasPrefix(reason, "\uFFFDä") || len(reason) > 1024 || len(reason) < 1020 {
			t.Errorf("the reason has %d bytes: %q", len(reason), reason)
		}
	})
}

// A managed life that has to end while no server answers leaves its result with agentd, and does not put the task back.
func TestWorkLeavesItsResultWithAgentd(t *testing.T) {
	for _, managed := range []bool{true, false} {
		folder := t.TempDir()
		story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
			if _, err := create(t.Context(), c, "one"); err != nil {
				t.Fatal(err)
			}
			cfg := client.WorkerConfig{Agent: "web/builder", Spool: folder}
			if managed {
				cfg.Incarnation, cfg.Token = 1, "secret"
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := client.Work(ctx, c, cfg, func(context.Context, *client.Job) (string, error) {
				f.lead("")
				time.AfterFunc(7*time.Minute, cancel)
				time.AfterFunc(7*time.Minute+3200*time.Millisecond, func() { f.lead("a:1") }) // for its good-bye
				return "a result", nil
			})
			if _, _, left := f.figures(); err != nil || managed != (left == 0) {
				t.Errorf("ended with %v; it has left its room %d times", err, left)
			}
		})
		names, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil || !managed {
			if len(names) > 0 || err != nil {
				t.Errorf("by hand: %q, %v", names, err)
			}
			continue
		}
		if len(names) != 1 || !strings.HasSuffix(names[0], "-1-1.json") {
			t.Fatalf("left are %q", names)
		}
		text, err := os.ReadFile(names[0])
		want := `{"agent":"web/builder","incarnation":1,"task":1,"attempt":1,"result":"a result","token":"secret"}` + "\n"
		if err != nil || string(text) != want {
			t.Errorf("left is %s, %v", text, err)
		}
	}
}

// A panic of the function fails its attempt, for another one, before it ends the process.
func TestWorkSaysAPanic(t *testing.T) {
	story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
		if _, err := create(t.Context(), c, "one"); err != nil {
			t.Fatal(err)
		}
		what := func() (what any) {
			defer func() { what = recover() }()
			err := client.Work(t.Context(), c, client.WorkerConfig{Agent: "web/builder"},
				func(context.Context, *client.Job) (string, error) { panic(strings.Repeat("no such model ", 1000)) })
			t.Errorf("it has not panicked: %v", err)
			return nil
		}()
		if text, ok := what.(string); !ok || !strings.HasPrefix(text, "no such model") {
			t.Errorf("the panic was %v", what)
		}
		_, _, left := f.figures()
		f.mu.Lock()
		defer f.mu.Unlock()
		x := f.tasks[0]
		if left != 1 || !f.failed.GetRetryable() || !strings.HasPrefix(x.Result, "panic: no such model") ||
			len(x.Result) > 1<<10 {
			t.Errorf("left %d times, retryable %v: %.80s", left, f.failed.GetRetryable(), x.Result)
		}
	})
}
