package main

import (
	"context"
	"sync"
	"time"
)

// load is a closed loop: so many callers, each with one call under way.
type load struct {
	callers int
	warm    time.Duration // not counted
	lasting time.Duration // counted
}

// tally is what a load has measured.
type tally struct {
	samples
	ops     int64
	errors  int64
	first   error
	seconds float64
}

const (
	// settleLimit is how long calls under way may take after the end.
	settleLimit = 10 * time.Second
	// errorPause keeps a caller whose calls fail from spinning.
	errorPause = 10 * time.Millisecond
)

// drive runs the load. step does one operation; its time is one sample. Operations that end outside of
// the counted time are finished and not counted.
func (l load) drive(ctx context.Context, step func(ctx context.Context, caller int) error) *tally {
	ctx, cancel := context.WithTimeout(ctx, l.warm+l.lasting+settleLimit)
	defer cancel()
	total := &tally{seconds: l.lasting.Seconds()}
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := time.Now().Add(l.warm)
	end := begin.Add(l.lasting)
	for caller := range l.callers {
		all.Go(func() {
			own := l.caller(ctx, caller, begin, end, step)
			mu.Lock()
			defer mu.Unlock()
			total.join(own)
		})
	}
	all.Wait()
	return total
}

func (l load) caller(ctx context.Context, caller int, begin, end time.Time,
	step func(context.Context, int) error) *tally {
	own := &tally{}
	for ctx.Err() == nil {
		at := time.Now()
		if !at.Before(end) {
			break
		}
		err := step(ctx, caller)
		done := time.Now()
		if err != nil {
			if ctx.Err() == nil || own.first == nil {
				own.fail(err)
			}
			pause(ctx, errorPause)
			continue
		}
		if done.After(begin) && !done.After(end) {
			own.ops++
			own.add(done.Sub(at))
		}
	}
	return own
}

func (t *tally) fail(err error) {
	t.errors++
	if t.first == nil {
		t.first = err
	}
}

func (t *tally) join(other *tally) {
	t.ops += other.ops
	t.errors += other.errors
	if t.first == nil {
		t.first = other.first
	}
	t.merge(&other.samples)
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// warmUp is how long a measurement warms up.
func warmUp(lasting time.Duration) time.Duration {
	return min(max(lasting/5, 200*time.Millisecond), 2*time.Second)
}

// paced calls do so many times a second, each in a goroutine of its own so that a slow one holds up
// nobody, until the time is over; it returns when all have returned, with how late calls were begun.
func paced(ctx context.Context, rate int, lasting time.Duration, do func(i int)) (n int, late samples) {
	var all sync.WaitGroup
	defer all.Wait()
	begin := time.Now()
	step := time.Second / time.Duration(rate)
	for ; ctx.Err() == nil; n++ {
		due := time.Duration(n) * step
		if due >= lasting {
			break
		}
		if wait := due - time.Since(begin); wait > 0 {
			pause(ctx, wait)
		}
		late.add(max(time.Since(begin)-due, 0))
		i := n
		all.Go(func() { do(i) })
	}
	return n, late
}
