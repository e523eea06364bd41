package tmux

import (
	"strings"
	"testing"
)

// Incident I115: a nudge whose Enter key was lost stands on the input line. The next rung
// presses Enter and types nothing, so it is read, and no later one is glued to it.
func TestI115StrandedNudgeIsNotGluedToTheNext(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", `while read -r line; do echo "read <$line>"; done`)
	s := r.open()
	for _, keys := range []struct {
		text  string
		enter bool
	}{{"first nudge", false}, {"", true}, {"second nudge", true}} {
		if err := s.Send(keys.text, keys.enter); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the second nudge", func() bool {
		shown, err := s.Capture(20)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(shown, "read <first nudge>") && strings.Contains(shown, "read <second nudge>")
	})
}
