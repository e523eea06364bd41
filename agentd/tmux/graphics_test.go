package tmux

import (
	"strings"
	"testing"
	"time"
)

// A frame that a program draws with the special graphics of its terminal is one, also in a real tmux, and the
// letters of colours and of words beside it stay letters.
func TestFramesAreDrawn(t *testing.T) {
	got, err := ReadFrame("9 2 0 0 1\n\x0el\x1b[31mqk\x0f qk\x0e\x1b[1;32mx\x0f \x1b[m~x")
	if want := "┌\x1b[31m─┐ qk\x1b[1;32m│ \x1b[m~x"; err != nil || got.Text != want {
		t.Errorf("%q, %v, want %q", got.Text, err, want)
	}
	r := newRig(t, "/bin/sh", "-c", `printf 'lqk \033(0lqk\033[1mx~\033[m\033(B lqk'; exec sleep 60`)
	s := r.open()
	defer s.end()
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		painted, err := s.Paint()
		if err != nil {
			t.Fatal(err)
		}
		f, err := ReadFrame(painted)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f.Text, "lqk ┌─┐\x1b[1m│·") && strings.Contains(f.Text, " lqk") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the screen is %q", f.Text)
		}
	}
}
