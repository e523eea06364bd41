package door

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// leaderIf knows a leader while it is told so.
func leaderIf(known *atomic.Bool) func() Leader {
	return func() Leader {
		if known.Load() {
			return Leader{ID: "s1"}
		}
		return Leader{}
	}
}

// A server is alone after five seconds without a leader, not during an election and
// not because it was paused itself.
func TestAloneAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known atomic.Bool
		a := newAlone(leaderIf(&known), func() bool { return false })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.run(ctx)
		left := make(chan error, 1)
		wait := func() {
			go func() {
				left <- a.guard(t.Context(), func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}()
			synctest.Wait()
		}
		hangs := func(want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-left:
				if want || fault.Of(err).Code != code.NoLeader {
					t.Fatalf("the call ended: %v", err)
				}
			default:
				if !want {
					t.Fatal("the call still hangs")
				}
			}
		}
		wait()
		time.Sleep(4 * time.Second)
		known.Store(true)
		time.Sleep(time.Hour)
		hangs(true) // the election was shorter
		known.Store(false)
		time.Sleep(4 * time.Second)
		hangs(true)
		time.Sleep(1500 * time.Millisecond)
		hangs(false)
		wait()
		hangs(false) // nothing begins while it lasts
		known.Store(true)
		time.Sleep(time.Second)
		wait()
		hangs(true)
	})
}

// What a pause of this process takes is no time without a leader.
func TestAPausedServerIsNotAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(func() Leader { return Leader{} }, func() bool { return false })
		for range 100 {
			a.look()
			time.Sleep(time.Minute)
		}
		if a.ctx.Err() != nil {
			t.Error("a server that looks once a minute took itself for alone")
		}
	})
}

// A server that has no state yet knows nobody to wait for: whoever asks it goes on at once.
func TestAnEmptyServerIsAlone(t *testing.T) {
	var known atomic.Bool
	a := newAlone(leaderIf(&known), func() bool { return true })
	if a.look(); !a.is() {
		t.Error("an empty server waits for a leader")
	}
	known.Store(true)
	if a.look(); a.is() {
		t.Error("a server that has been taken in sends everybody away")
	}
}
