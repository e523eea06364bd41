package door

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Who has begun comes before all who wait for a first turn; among equals who came first. Nobody waits beyond
// their time, and a turn that came too late is not lost.
func TestTurnsFinishWhatWasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &turns{free: 1}
		if err := x.take(false, nil, nil); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		wait := func(name string, begun bool) {
			all.Go(func() {
				if err := x.take(begun, nil, nil); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				x.give()
			})
			synctest.Wait()
		}
		wait("new 1", false)
		until, stop := make(chan struct{}), make(chan struct{})
		var late, ended error
		all.Go(func() { late = x.take(false, until, nil) })
		all.Go(func() { ended = x.take(true, nil, stop) })
		wait("new 2", false)
		wait("begun 1", true)
		wait("begun 2", true)
		close(until)
		close(stop)
		synctest.Wait()
		if !errors.Is(late, context.DeadlineExceeded) || !errors.Is(ended, net.ErrClosed) {
			t.Errorf("after their time: %v, %v", late, ended)
		}
		x.give()
		all.Wait()
		if want := []string{"begun 1", "begun 2", "new 1", "new 2"}; !slices.Equal(order, want) {
			t.Errorf("the turns come as %q, want %q", order, want)
		}
		if x.free != 1 || len(x.queues[0])+len(x.queues[1]) != 0 {
			t.Errorf("%d turns are free, %v wait", x.free, x.queues)
		}
	})
}

// However turns and the ends of patience meet, as many are free in the end as there were.
func TestTurnsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &turns{free: 2}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i%7) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%11+1)*time.Millisecond)
				defer cancel()
				if x.take(i%3 == 0, ctx.Done(), nil) == nil {
					time.Sleep(time.Duration(i%5) * time.Millisecond)
					x.give()
				}
			})
		}
		all.Wait()
		if x.free != 2 || len(x.queues[0])+len(x.queues[1]) != 0 {
			t.Errorf("%d turns are free, %v wait", x.free, x.queues)
		}
	})
}
