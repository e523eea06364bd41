package duty

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Incident I115: nudges that are lost, said to be sent or not. No effect within the
// deadline is a failed nudge, whatever the terminal has answered: the next rung follows at
// the same moment as with a terminal that works and an agent that does not heed it.
func TestI115LostNudgeIsFollowedByTheNextRung(t *testing.T) {
	channels := map[string]func(context.Context) error{
		"heard and not heeded": func(context.Context) error { return nil },
		"refused":              func(context.Context) error { return errors.New("the agent has no tmux session") },
		"swallowed until the call is given up": func(ctx context.Context) error {
			pause(ctx, 10*time.Second)
			return errors.New("no answer")
		},
	}
	times := map[string][]time.Duration{}
	for name, channel := range channels {
		synctest.Test(t, func(t *testing.T) {
			f := newStuckFleet(t, 3)
			ctx, cancel := context.WithCancel(t.Context())
			hosted := make(chan struct{})
			go func() { f.serve(ctx); close(hosted) }()
			prod := func(ctx context.Context, _ string, _ noun.Incarnation, _ noun.Rung) error { return channel(ctx) }
			inStint(t, f.replica, Config{Prod: prod}, func(*Duty) {
				f.after(44 * time.Minute)
				cancel()
				<-hosted
			})
			var list []string
			list, times[name] = f.rungs()
			for _, kind := range []string{"agent.nudged", "agent.woken", "agent.interrupted", "agent.restarted_stuck"} {
				if n := len(list) - len(slices.DeleteFunc(slices.Clone(list),
					func(k string) bool { return k == kind })); n != 3 {
					t.Errorf("%s: %d of 3 agents: %s", name, n, kind)
				}
			}
			failed := len(f.happened("agent.rung_failed"))
			if want := map[bool]int{true: 0, false: 9}[name == "heard and not heeded"]; failed != want {
				t.Errorf("%s: %d rungs are known to have reached nobody, want %d", name, failed, want)
			}
			f.state(func(s *fsm.View) {
				for e := range s.Events(0) {
					if dumb := strings.Contains(e.Text, "nothing could be typed"); e.Kind ==
						"agent.restarted_stuck" && dumb != (failed > 0) {
						t.Errorf("%s: the restart says %q", name, e.Text)
					}
				}
			})
		})
	}
	want := times["heard and not heeded"]
	for name, at := range times {
		for i := range at {
			if late := at[i] - want[i]; late < 0 || late > 4*(10*time.Second+30*time.Second) {
				t.Errorf("%s: rung %d after %v, with a terminal that works after %v", name, i, at[i], want[i])
			}
		}
		if name == "refused" && !slices.Equal(at, want) {
			t.Errorf("%s: rungs at %v, with a terminal that works at %v", name, at, want)
		}
	}
}
