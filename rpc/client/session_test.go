package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Numbers of a session are given out once, lie within the window, and are there for
// everybody in the end.
func TestNumbersAreUniqueAndWithinTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Uint64
		p := &sessions{open: func(context.Context) (uint64, error) {
			time.Sleep(time.Millisecond)
			return opened.Add(1), nil
		}}
		var mu sync.Mutex
		seen := map[[2]uint64]bool{}
		low := map[uint64]map[uint64]bool{} // unanswered, by session
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				for range 50 {
					dst := make([]ticket, 1+rng.IntN(3)*rng.IntN(40))
					if err := p.take(t.Context(), t.Context(), dst); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, k := range dst {
						key := [2]uint64{k.s.id, k.seq}
						if seen[key] {
							t.Errorf("number %v was given out twice", key)
						}
						seen[key] = true
						if low[k.s.id] == nil {
							low[k.s.id] = map[uint64]bool{}
						}
						low[k.s.id][k.seq] = true
						for other := range low[k.s.id] {
							if max(other, k.seq)-min(other, k.seq) >= window {
								t.Errorf("numbers %d and %d of session %d are unanswered together", other,
									k.seq, k.s.id)
							}
						}
					}
					mu.Unlock()
					time.Sleep(time.Duration(rng.IntN(5000)) * time.Microsecond)
					mu.Lock()
					for _, k := range dst {
						delete(low[k.s.id], k.seq)
					}
					mu.Unlock()
					p.put(t.Context(), dst)
				}
			})
		}
		all.Wait()
	})
}

func TestFailureToOpenASessionIsToldToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &sessions{open: func(context.Context) (uint64, error) {
			time.Sleep(time.Millisecond)
			return 0, ErrDenied
		}}
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				if err := p.take(t.Context(), t.Context(), make([]ticket, 3)); !errors.Is(err, ErrDenied) {
					t.Errorf("error %v, want denied", err)
				}
			})
		}
		all.Wait()
	})
}

func TestWhoGivesUpWaitingTakesNoNumbersAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		p := &sessions{open: func(context.Context) (uint64, error) { <-ready; return 1, nil }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.take(ctx, t.Context(), make([]ticket, 5)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v, want the deadline", err)
		}
		close(ready)
		dst := make([]ticket, window)
		if err := p.take(t.Context(), t.Context(), dst); err != nil {
			t.Fatal(err)
		}
		if last := dst[window-1].seq; last != window {
			t.Errorf("last number is %d, want %d", last, window)
		}
	})
}

func BenchmarkNumberingAThousandWriters(b *testing.B) {
	var opened atomic.Uint64
	p := &sessions{open: func(context.Context) (uint64, error) { return opened.Add(1), nil }}
	b.SetParallelism(500)
	b.RunParallel(func(pb *testing.PB) {
		var dst [1]ticket
		for pb.Next() {
			if err := p.take(b.Context(), b.Context(), dst[:]); err != nil {
				b.Error(err)
			}
			p.put(b.Context(), dst[:])
		}
	})
	b.ReportMetric(float64(opened.Load()), "sessions")
}
