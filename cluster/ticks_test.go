package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// A leader proposes an empty entry when a deadline is due, at most five a second,
// and at once when more are due than one entry handles.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, st, _ := batching(t, s, nil)
		time.Sleep(time.Hour)
		if s.count() != 0 {
			t.Fatalf("%d entries for nothing", s.count())
		}
		s.answer(func(_ int, e *fsm.Entry) error {
			b.setNext(e.Stamp.Add(time.Millisecond)) // the next is always nearly due
			return nil
		})
		b.setNext(st.clock.now().Add(500 * time.Millisecond))
		b.signal()
		time.Sleep(499 * time.Millisecond)
		if s.count() != 0 {
			t.Error("ticked early")
		}
		time.Sleep(10 * time.Second)
		if n := s.count(); n < 45 || n > 52 {
			t.Errorf("%d ticks in 10 s", n)
		}
	})
}

func TestManyCallersAndManyStints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{reply: func(n int, _ *fsm.Entry) error {
			if n%5 == 4 {
				return raft.ErrLeadershipLost
			}
			return nil
		}}
		b, st, _ := batching(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for w := range 20 {
			wg.Go(func() {
				for n := 1; ctx.Err() == nil; n++ {
					req := fsm.Request{Session: 1, Seq: uint64(w*1_000_000 + n),
						Cmd: fsm.OpenSession{Client: fmt.Sprint(w)}}
					out, err := b.submit(ctx, req)
					if err == nil && uint64(out.Task) != req.Seq {
						t.Errorf("caller %d got the answer of %d", req.Seq, out.Task)
					}
					if err != nil {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			b.close(noun.ErrNotLeader)
			time.Sleep(10 * time.Millisecond)
			b.open(&stint{ctx: st.ctx, term: 7, clock: st.clock})
		}
		wg.Wait()
	})
}
