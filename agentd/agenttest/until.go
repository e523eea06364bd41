package agenttest

import (
	"testing"
	"time"
)

// Until waits for something that tells nobody when it happens: it looks every so often, and what names it
// for whoever reads that it has not happened within limit. Only the goroutine of the test may call it.
func Until(t testing.TB, limit, every time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for end := time.After(limit); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited %s for: %s", limit, what)
		}
	}
}
