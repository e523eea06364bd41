package tmux

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
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

// An agent that opens panes and windows beside its own, and works under another name, is still the one that is looked
// at, typed to and interrupted: what the session stands for is another pane then (claude-code#49184).
func TestAgentThatOpensPanes(t *testing.T) {
	for name, opens := range map[string]string{
		"a pane":   `tmux split-window "echo other; exec cat"`,
		"a window": `tmux new-window "echo other; exec cat"; tmux rename-session mine`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "/bin/sh", "-c", `trap 'stty size' WINCH; `+opens+
				`; echo ready; while :; do read -r line && echo "read <$line>"; done`)
			s := r.open()
			shows := func(text string) {
				t.Helper()
				until(t, text, func() bool {
					shown, err := s.Capture(10)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(shown, "other") {
						t.Fatalf("another pane is shown: %q", shown)
					}
					return strings.Contains(shown, text)
				})
			}
			shows("ready")
			if active, err := s.tmux(nil, "display-message", "-p", "#{pane_id}"); err != nil ||
				strings.TrimSpace(active) == agentPane {
				t.Fatalf("the active pane is %q, %v", active, err)
			}
			if err := s.Send("a nudge", true); err != nil {
				t.Fatal(err)
			}
			shows("read <a nudge>")
			if err := s.Type([]byte("keys\r")); err != nil {
				t.Fatal(err)
			}
			shows("read <keys>")
			if err := s.Resize(60, 20); err != nil {
				t.Fatal(err)
			}
			until(t, "the frame", func() bool {
				painted, err := s.Paint()
				if err != nil {
					t.Fatal(err)
				}
				f, err := ReadFrame(painted)
				return err == nil && f.Columns == 60 && strings.Contains(f.Text, " 60\n")
			})
			if err := s.Interrupt(); err != nil {
				t.Fatal(err)
			}
			if exit := s.Wait(); exit != (Exit{Code: -1, Signal: "interrupt"}) {
				t.Errorf("%+v", exit)
			}
		})
	}
}

// A pane that somebody has left in a mode of tmux, as who scrolls back and detaches, takes what is typed all the same:
// the mode would have had the Enter of a nudge and the key that interrupts (cli-agent-orchestrator#654).
func TestModesOfTheTerminalAreLeft(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", `echo ready; while read -r line; do echo "read <$line>"; done`)
	s := r.open()
	shows := func(text string) {
		t.Helper()
		until(t, text, func() bool {
			shown, err := s.Capture(10)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(shown, text)
		})
	}
	shows("ready")
	modes := [][]string{{"copy-mode"}, {"clock-mode"}, {"copy-mode", "clock-mode"}}
	for i, mode := range modes {
		for what, types := range map[string]func(text string) error{
			"nudge": func(text string) error { return s.Send(text, true) },
			"enter": func(text string) error { return errors.Join(s.Send(text, false), s.Send("", true)) },
			"keys":  func(text string) error { return s.Type([]byte(text + "\r")) },
		} {
			for _, m := range mode {
				if _, err := s.tmux(nil, m, "-t", agentPane); err != nil {
					t.Fatal(err)
				}
			}
			text := fmt.Sprintf("%s %d", what, i)
			if err := types(text); err != nil {
				t.Fatalf("%s in %q: %v", what, mode, err)
			}
			shows("read <" + text + ">")
		}
	}
	if _, err := s.tmux(nil, "copy-mode", "-t", agentPane); err != nil {
		t.Fatal(err)
	}
	if err := s.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if exit := s.Wait(); exit != (Exit{Code: -1, Signal: "interrupt"}) {
		t.Errorf("%+v", exit)
	}
}

// A server that stands still shows nothing and types nothing, which is no success: also not where how the client of
// tmux has ended is taken by somebody else first, as by a shim, which reaps whatever it sees.
func TestServerThatStandsStill(t *testing.T) {
	r := newRig(t, "/bin/sleep", "1000")
	s := r.open()
	if err := syscall.Kill(s.Server(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.limit = 20 * time.Millisecond
	s.config.Start = func(cmd *exec.Cmd) error {
		err := r.start(cmd)
		if err == nil {
			go func() { _, _ = syscall.Wait4(cmd.Process.Pid, nil, 0, nil) }() // it or who has started it
		}
		return err
	}
	for range 10 {
		if shown, err := s.Capture(0); err == nil || !strings.Contains(err.Error(), "has not answered within 20ms") {
			t.Fatalf("it shows %q, %v", shown, err)
		}
		if err := s.Send("go on", true); err == nil {
			t.Fatal("it was typed")
		}
	}
}

// Keys arrive at the program byte by byte as they were typed, whatever they would mean to tmux: its prefix, its
// separators, its formats, and what is no text at all.
func TestKeysArriveAsTheyAre(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", `stty raw -echo; echo ready; exec od -An -v -tx1 -w1`)
	s := r.open()
	until(t, "the program", func() bool {
		shown, err := s.Capture(0)
		return err == nil && strings.Contains(shown, "ready")
	})
	keys := []byte("\x02d;#{pane_id}\"'\\ \x1b[A\xff\x00é\r\x03")
	if err := s.Type(keys); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, b := range keys {
		want += fmt.Sprintf("%02x", b)
	}
	until(t, "every byte", func() bool {
		shown, err := s.Capture(200)
		if err != nil {
			t.Fatal(err)
		}
		_, shown, _ = strings.Cut(shown, "ready")
		return strings.Join(strings.Fields(shown), "") == want
	})
	for _, args := range r.ran {
		if strings.Contains(strings.Join(args, " "), "1b") {
			t.Errorf("keys stand in the list of processes: %q", args)
		}
	}
}

// A frame has the size, the cursor and the colours of the terminal.
func TestPaint(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", `printf 'one\n\033[31mred\033[0m two'; exec sleep 1000`)
	s := r.open()
	until(t, "the frame", func() bool {
		painted, err := s.Paint()
		if err != nil {
			t.Fatal(err)
		}
		f, err := ReadFrame(painted)
		return err == nil && f.Columns == 200 && f.Rows == 50 && f.X == 7 && f.Y == 1 && !f.Hidden &&
			strings.HasPrefix(f.Text, "one\n\x1b[31mred\x1b[39m two")
	})
}

// What a tmux says that belongs to the agent is believed within bounds only.
func TestReadFrameTrustsNothing(t *testing.T) {
	for painted, want := range map[string]Frame{
		"":                         {},
		"80 24\nx":                 {},
		"0 24 0 0 1\nx":            {},
		"80 100000 0 0 1\nx":       {},
		"80 24 0 0 1\nx":           {Text: "x", Columns: 80, Rows: 24},
		"80 24 999 -4 0\n\xff\nb":  {Text: "\uFFFD\nb", Columns: 80, Rows: 24, X: 79, Hidden: true},
		"80 24 1 1 1 1e9 $(id)\nx": {Text: "x", Columns: 80, Rows: 24, X: 1, Y: 1},
	} {
		got, err := ReadFrame(painted)
		if got != want || (err == nil) != (want.Columns > 0) {
			t.Errorf("%q: %+v, %v, want %+v", painted, got, err, want)
		}
	}
}

// A terminal gets the size that a human's window has, and its own again; its program is told of each. What is out of
// bounds changes nothing.
func TestResize(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", `trap 'stty size' WINCH; echo ready; while :; do read -r line && echo "$line"; done`)
	s := r.open()
	has := func(what string, columns, rows int, shown string) {
		t.Helper()
		until(t, what, func() bool {
			painted, err := s.Paint()
			if err != nil {
				t.Fatal(err)
			}
			f, err := ReadFrame(painted)
			return err == nil && f.Columns == columns && f.Rows == rows && strings.Contains(f.Text, shown)
		})
	}
	has("the program", ownColumns, ownRows, "ready")
	for _, c := range [][2]int{{19, 30}, {501, 30}, {80, 4}, {80, 201}, {-1, -1}, {0, 30}} {
		if err := s.Resize(c[0], c[1]); err == nil {
			t.Errorf("%d is taken", c)
		}
	}
	for _, c := range [][2]int{{60, 20}, {20, 5}, {500, 200}} {
		if err := s.Resize(c[0], c[1]); err != nil {
			t.Fatal(err)
		}
		has("a size", c[0], c[1], fmt.Sprintf("%d %d", c[1], c[0]))
	}
	if err := s.Resize(0, 0); err != nil {
		t.Fatal(err)
	}
	has("its own size", ownColumns, ownRows, fmt.Sprintf("%d %d", ownRows, ownColumns))
	how, err := s.tmux(nil, "show-options", "-w", "-t", sessionName, "window-size")
	if err != nil || strings.TrimSpace(how) != "" {
		t.Errorf("whoever attaches on this host keeps a window of their own size: %q, %v", how, err)
	}
}
