package park

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// replica is an empty state.
type replica struct{ state *fsm.State }

func (r replica) Read(fn func(*fsm.View)) { fn(&r.state.View) }

func TestSignalsWakeWhoeverWaitsAtTheKey(t *testing.T) {
	e := Open(replica{fsm.New()}, nil)
	one, leave := e.Mail.Enter(1)
	two, leaveTwo := e.Mail.Enter(2)
	defer leaveTwo()
	rung := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	e.Applied(noun.Effects{Mail: []noun.AgentID{1, 1}})
	if !rung(one) || rung(one) || rung(two) {
		t.Error("a signal is one, at its key")
	}
	e.Applied(noun.Effects{Reset: true})
	if !rung(one) || !rung(two) {
		t.Error("a reset wakes everybody")
	}
	leave()
	e.Applied(noun.Effects{Mail: []noun.AgentID{1}})
	if rung(one) || e.Mail.Count() != 1 {
		t.Errorf("who has left is woken, or counted: %d", e.Mail.Count())
	}
}

// A spell looks soon, then seldom, at its end for the last time, and ends with the
// call or the server.
func TestSpellsLookAtTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		s := Open(replica{fsm.New()}, stop).Begin(45 * time.Second)
		defer s.End()
		began := time.Now()
		for i, want := range []time.Duration{time.Second, 31 * time.Second, 45 * time.Second} {
			woken, err := s.Rest(t.Context(), nil)
			if took := time.Since(began); woken || err != nil || took != want || s.Over() != (i == 2) {
				t.Errorf("look %d: woken %v, %v after %s, over %v", i, woken, err, took, s.Over())
			}
		}
		s = Open(replica{fsm.New()}, stop).Begin(time.Minute)
		defer s.End()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Rest(ctx, nil); err == nil {
			t.Error("it outlives its call")
		}
		close(stop)
		if _, err := s.Rest(t.Context(), nil); err == nil {
			t.Error("it outlives its server")
		}
	})
}
