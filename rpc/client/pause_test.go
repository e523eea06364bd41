package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// I97: clients that lost their server at the same moment do not come back at the
// same moment, nor earlier than after half of the pause.
func TestPausesAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 200
		began := time.Now()
		ends := make(chan time.Duration, many)
		for range many {
			go func() {
				lost := &trial{tries: 3, began: began}
				lost.pause(context.Background(), nil)
				ends <- time.Since(began)
			}()
		}
		buckets := map[time.Duration]int{}
		for range many {
			d := <-ends
			if d < 40*time.Millisecond || d > 80*time.Millisecond {
				t.Fatalf("a pause of %s, 40 ms to 80 ms were expected", d)
			}
			buckets[d/(5*time.Millisecond)]++
		}
		for at, n := range buckets {
			if n > many/3 {
				t.Errorf("%d of %d come back within the 5 ms from %s", n, many, at*5*time.Millisecond)
			}
		}
	})
}
