package base

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever comes while rounds are under way waits for one that begins after that, all for the same one.
func TestRoundsAnswerOnlyWhoCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock atomic.Int64 // what a question finds is what was true when it was asked
		asked := 0
		r := rounds[int64]{ask: func() (int64, error) {
			asked++ // one at a time: see below
			now := clock.Load()
			time.Sleep(time.Millisecond)
			return now, nil
		}}
		for range maxRounds { // these take all places, one after the other so that asked is not raced for
			go r.join(t.Context())
			synctest.Wait()
		}
		clock.Store(7)
		got := make(chan int64)
		for range 100 {
			go func() {
				v, err := r.join(t.Context())
				if err != nil {
					t.Error(err)
				}
				got <- v
			}()
		}
		for range 100 {
			if v := <-got; v != 7 {
				t.Fatalf("an answer from before the question: %d", v)
			}
		}
		if synctest.Wait(); asked != maxRounds+1 || r.under != 0 {
			t.Errorf("%d questions for %d rounds and 100 who came meanwhile; %d under way", asked, maxRounds, r.under)
		}
	})
}

func TestRoundsEndWithWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		r := rounds[int]{ask: func() (int, error) {
			time.Sleep(time.Minute)
			return 0, broken
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.join(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gave up got %v", err)
		}
		if _, err := r.join(t.Context()); !errors.Is(err, broken) {
			t.Errorf("who waited got %v", err)
		}
	})
}
