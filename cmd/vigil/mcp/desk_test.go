package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
)

// The calls of one tool together have as much time as the wait for the join has. Whichever of the two is over
// first, the model is told what to do, not that a deadline was exceeded; a call that is canceled needs no answer.
func TestWhoHasNotJoinedIsToldSo(t *testing.T) {
	for name, c := range map[string]struct {
		bound time.Duration // of the call; the wait for the join has a second
		ends  error         // nil: with advice
	}{
		"the call's time is over first": {bound: 999 * time.Millisecond},
		"both at once":                  {bound: time.Second},
		"the wait is over first":        {bound: time.Minute},
		"the call is canceled":          {bound: time.Minute, ends: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &mcpDesk{App: &cli.App{}, life: &life.Life{Agent: "web/builder"}, gone: context.Background(),
					settled: make(chan struct{})}
				d.Timeout = time.Second
				ctx, cancel := context.WithTimeout(context.Background(), c.bound)
				defer cancel()
				if c.ends != nil {
					cancel()
				}
				w, err := d.member(ctx)
				if w != nil || err == nil {
					t.Fatalf("it has joined: %v", w)
				}
				advice := errors.As(err, new(mcpAdvice)) && strings.Contains(err.Error(), "vigil goes on trying")
				if advice != (c.ends == nil) || c.ends != nil && !errors.Is(err, c.ends) {
					t.Errorf("it says %q", err)
				}
			})
		})
	}
}
