package tmux

import (
	"strings"
	"syscall"
	"testing"
)

// Sessions of two lives have the same name and nothing else in common, since each has a server
// of its own: what is typed into one reaches no other, and the end of one ends no other.
func TestOverseerCommonIssuesWrongSession(t *testing.T) {
	boot, deacon := newRig(t, "/bin/cat"), newRig(t, "/bin/cat")
	a, b := boot.open(), deacon.open()
	if err := a.Send("for boot", true); err != nil {
		t.Fatal(err)
	}
	if err := b.Send("for deacon", true); err != nil {
		t.Fatal(err)
	}
	shows := func(s *Session, text string) bool {
		shown, err := s.Capture(10)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(shown, text)
	}
	until(t, "both echoes", func() bool { return shows(a, "for boot") && shows(b, "for deacon") })
	if shows(a, "for deacon") || shows(b, "for boot") {
		t.Error("words for one have reached the other")
	}
	if err := syscall.Kill(-a.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := a.Wait(); exit.Signal != "killed" {
		t.Errorf("boot ended as %+v", exit)
	}
	if err := b.Send("still here", true); err != nil {
		t.Error(err)
	}
	until(t, "its echo", func() bool { return shows(b, "still here") })
}

// The program of a host is asked for its version once, and again only when it has changed.
func TestFinder(t *testing.T) {
	path, err := Find()
	if err != nil {
		t.Skip(err)
	}
	f := &Finder{}
	first, err := f.Find()
	if err != nil || !strings.HasPrefix(first, "tmux ") || f.path != path {
		t.Fatalf("%q from %s, %v", first, f.path, err)
	}
	f.name = "tmux asked once"
	if again, err := f.Find(); err != nil || again != f.name {
		t.Errorf("%q, %v", again, err)
	}
	f.path = "/usr/bin/other" // it was replaced
	if again, err := f.Find(); err != nil || again != first {
		t.Errorf("%q, %v", again, err)
	}
}
