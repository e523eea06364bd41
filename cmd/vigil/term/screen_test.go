package term

import (
	"strings"
	"testing"
	"time"
)

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 350 * time.Millisecond: "350ms", 12*time.Second + 300*time.Millisecond: "12s", time.Minute: "1m",
		200 * time.Second: "3m 20s", 25*time.Minute + 10*time.Second: "25m", 5*time.Hour + 2*time.Minute: "5h 2m",
		30 * time.Hour: "30h", 72 * time.Hour: "3d", -4 * time.Second: "-4s",
	} {
		if got := Short(d); got != want {
			t.Errorf("%s is shown as %q, want %q", d, got, want)
		}
	}
}

func TestTablesFitTheScreen(t *testing.T) {
	var b strings.Builder
	a := &Terminal{Out: &b, Screen: Screen{Width: 40}}
	tab := NewTable(">TASK", "STATE", "TITLE~")
	tab.Add("1", "PENDING", "a title that is much too long for this screen")
	tab.Add("12", "QUEUED", "tab\there\x1b[31m")
	if err := a.PrintTable(tab, ""); err != nil {
		t.Fatal(err)
	}
	want := "TASK  STATE    TITLE\n" +
		"   1  PENDING  a title that is much too…\n" +
		"  12  QUEUED   tab here?[31m\n"
	if b.String() != want {
		t.Errorf("printed\n%swant\n%s", b.String(), want)
	}
	a.Screen.Width = 0
	b.Reset()
	if err := a.PrintTable(tab, ""); err != nil || !strings.Contains(b.String(), "much too long for this screen\n") {
		t.Errorf("in a pipe it is cut: %s", b.String())
	}
}

func TestStatesAreColouredOnTerminalsOnly(t *testing.T) {
	line := "1  FAILED  FAILEDX"
	if got := (Screen{Color: true}).states(line); got != "1  \x1b[31mFAILED\x1b[0m  FAILEDX" {
		t.Errorf("got %q", got)
	}
	if got := (Screen{}).states(line); got != line {
		t.Errorf("got %q", got)
	}
}

func TestNoColour(t *testing.T) {
	if s := newScreen(&strings.Builder{}, func(string) string { return "" }); s.Color || s.Width != 0 {
		t.Errorf("a pipe is taken for a terminal: %+v", s)
	}
}
