package rpc

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link/linktest"
)

// The link of a follower to the leader goes dead without a word: first what goes over it is lost, and a new link
// works; then no new one works either. Its callers know within 2 s what became of their calls, also those
// that have all the time in the world.
func TestN28NoCallHangsOnADeadLinkToTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		between := &linktest.Network{}
		w := startOn(t, 2, between)
		w.room("demo", "builder", 1)
		session, err := w.work(0).OpenSession(t.Context(), &vigilv1.OpenSessionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		create := func() (string, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err := w.fleet(1).CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x",
				Id: &vigilv1.WriteId{Session: session.GetSession(), Seq: 1}})
			return codeOf(err), time.Since(began)
		}
		list := func() (string, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err := w.fleet(1).ListTasks(ctx, &vigilv1.ListTasksRequest{})
			return codeOf(err), time.Since(began)
		}
		for _, call := range []func() (string, time.Duration){create, list} {
			warm, _ := call()
			between.Cut(false)
			if got, took := call(); got != warm || took > 2*time.Second {
				t.Errorf("over a link that died, while a new one works: %q after %s, want %q within 2 s",
					got, took, warm)
			}
			between.Cut(true)
			if got, took := call(); !slices.Contains([]string{"no_leader", "unknown_outcome"}, got) ||
				took > 2*time.Second {
				t.Errorf("while no link works: %q after %s, want no_leader or unknown_outcome within 2 s", got, took)
			}
			between.Cut(false)
		}
	})
}
