package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/code"
)

// A process that was frozen, or whose machine slept, for longer than a call is repeated asks once more when it goes on.
func TestACallOutlivesAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Open(Config{Addrs: []string{"a:1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		try := &trial{began: time.Now(), sent: time.Now(), until: DefaultRetryFor, last: From(ErrUnavailable)}
		time.Sleep(DefaultRetryFor - time.Second)
		try.sent = time.Now()
		time.Sleep(2 * time.Second)
		if err := c.ended(t.Context(), try); err == nil {
			t.Error("a call goes on after its time, although it was asked all the time")
		}
		try.last = &Error{Code: code.NoLeader}
		time.Sleep(time.Hour)
		for range 2 { // in the time of one attempt
			if err := c.ended(t.Context(), try); err != nil {
				t.Errorf("nothing was asked after a gap: %v", err)
			}
			try.sent = time.Now()
			time.Sleep(DefaultAttempt / 2)
		}
		for range 2 {
			if err := c.ended(t.Context(), try); !errors.Is(err, &Error{Code: code.NoLeader}) {
				t.Errorf("after that: %v", err)
			}
			time.Sleep(time.Hour)
		}
	})
}

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
