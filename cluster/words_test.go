package cluster

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// What a word proves is in the entry of its command, once; when the entry is sealed too late
// for that, the command goes in alone.
func TestN26WordsAreSealedWithTheirCommandsWhileTheyAreFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, _, _ := batching(t, s, nil)
		hold := make(chan struct{})
		s.answer(func(n int, _ *fsm.Entry) error {
			if n < outstandingEntries {
				<-hold
			}
			return nil
		})
		var wg sync.WaitGroup
		say := func(n int, fresh time.Duration) {
			r := task(n)
			r.Word = fsm.Word{Agent: noun.AgentID(n), Inc: 1, Fresh: fresh}
			wg.Go(func() {
				if _, err := b.submit(t.Context(), r); err != nil {
					t.Errorf("word %d: %v", n, err)
				}
			})
			synctest.Wait()
		}
		say(1, time.Second) // these two fill the slots
		say(2, time.Second)
		say(3, 2*time.Second)
		say(4, time.Minute)
		time.Sleep(3 * time.Second)
		close(hold)
		wg.Wait()
		got := map[noun.AgentID]int{}
		sealed := 0
		for _, e := range s.entries {
			sealed += len(e.Requests)
			for w := range fsm.UnpackBeats(e.Words) {
				got[w.Agent]++
				if w.Inc != 1 || w.Kinds != fsm.BeatLease {
					t.Errorf("word %+v", w)
				}
			}
		}
		if sealed != 4 || got[1] != 1 || got[2] != 1 || got[3] != 0 || got[4] != 1 {
			t.Errorf("%d requests, words by agent %v; want 4 requests and the words of all but 3", sealed, got)
		}
	})
}
