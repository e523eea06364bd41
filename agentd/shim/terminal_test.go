//go:build linux

package shim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// What is typed arrives at the program, and what it prints is seen; while the life is
// frozen nothing is typed, and nobody waits for it.
func TestTerminalIsTypedIntoAndLookedAt(t *testing.T) {
	r := newTerminalRig(t)
	spec := r.spec("unused")
	spec.Kind, spec.Path, spec.Args = "tmux", "/bin/cat", nil
	s, err := r.launcher().Start(spec, r.lock())
	if err != nil {
		t.Fatal(err)
	}
	const text = "are you there; $(id)?"
	if _, err := s.Terminal(t.Context(), TerminalRequest{Text: text, Enter: true}); err != nil {
		t.Fatal(err)
	}
	until(t, "the echo", func() bool {
		screen, err := s.Terminal(t.Context(), TerminalRequest{Look: true, Lines: 10})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(screen, text) == 2 // typed, and printed by cat
	})

	r.advance(time.Hour)
	until(t, "the freeze", s.Frozen)
	if _, err := s.Terminal(t.Context(), TerminalRequest{Text: text, Enter: true}); err == nil ||
		!strings.Contains(err.Error(), "frozen") {
		t.Errorf("typed into a frozen life: %v", err)
	}
	s.Stop(0, "the test is over")
	if exit := s.Wait(func(string) {}); !exit.Ordered {
		t.Errorf("%+v", exit)
	}
	if _, err := s.Terminal(t.Context(), TerminalRequest{Look: true}); err == nil {
		t.Error("a life that is over was looked at")
	}
}

// A life without a terminal says so at once, and one that is stopped does not hold up
// whoever asks.
func TestTerminalOfALifeWithoutOne(t *testing.T) {
	r := newRig(t)
	s, _, _ := r.start(r.spec("polite"))
	if _, err := s.Terminal(t.Context(), TerminalRequest{Look: true}); err == nil ||
		err.Error() != ErrNoTerminal.Error() {
		t.Fatalf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Terminal(ctx, TerminalRequest{Look: true}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	s.Stop(0, "the test is over")
	s.Wait(func(string) {})
}
