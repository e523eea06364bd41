package cluster

import (
	"sync"
	"testing"
)

// F12: a snapshot of this server may be written to its end while one that was sent to it is loaded: what is kept
// of the log is known at every moment.
func TestF12TrailIsNeverEmpty(t *testing.T) {
	var tr trail
	tr.mark(1)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range uint64(300_000) {
			tr.restart(i + 1)
		}
	})
	for range 300_000 {
		if from := tr.from(func(uint64) bool { return false }, 1<<20); from == 0 {
			t.Fatal("the log is kept from nowhere on")
		}
	}
	all.Wait()
}
