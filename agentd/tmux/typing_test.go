package tmux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// asTool has the program of these tests be a tool in a terminal.
const asTool = "VIGIL_TEST_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		pastes()
		return
	}
	os.Exit(m.Run())
}

// pastes is a tool that takes keys that come within 100 ms of the end of a paste for a part of it, as Claude Code does.
func pastes() {
	raw := exec.Command("stty", "raw", "-echo")
	raw.Stdin = os.Stdin
	if err := raw.Run(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print("\x1b[?2004hready\r\n")
	keys := make(chan byte)
	go func() {
		one := make([]byte, 1)
		for {
			if _, err := io.ReadFull(os.Stdin, one); err != nil {
				os.Exit(0)
			}
			keys <- one[0]
		}
	}()
	const end = "\x1b[201~"
	line := ""
	for k := range keys {
		if k != '\r' {
			if line += string(rune(k)); !strings.HasSuffix(line, end) {
				continue
			}
			for window := time.After(100 * time.Millisecond); window != nil; {
				select {
				case k := <-keys:
					line += string(rune(k))
				case <-window:
					window = nil
				}
			}
			continue
		}
		fmt.Printf("sent %q\r\n", strings.NewReplacer("\x1b[200~", "", end, "").Replace(line))
		line = ""
	}
}

// A nudge is sent also by a tool that takes keys right behind a paste for a part of it, one line for each, whoever
// types at the same time.
func TestEnterAfterAPasteSends(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, self)
	r.config.Env = append(r.config.Env, asTool+"=1")
	s := r.open()
	until(t, "the tool", func() bool {
		shown, err := s.Capture(0)
		return err == nil && strings.Contains(shown, "ready")
	})
	nudge := func(text string) {
		if err := s.Send(text, true); err != nil {
			t.Error(err)
		}
	}
	// On a machine that is slow at that very moment the tool may see the paste so late that Enter comes right behind.
	sent := func(try int) bool {
		a, b := fmt.Sprintf("go on %d", try), fmt.Sprintf("and you? %d", try)
		var both sync.WaitGroup
		both.Go(func() { nudge(a) })
		both.Go(func() { nudge(b) })
		both.Wait()
		nudge("") // whatever stands there is sent
		nudge(fmt.Sprintf("end %d", try))
		nudge("")
		shown := ""
		until(t, "the last line", func() bool {
			var err error
			if shown, err = s.Capture(1000); err != nil {
				t.Fatal(err)
			}
			return strings.Contains(shown, fmt.Sprintf("end %d", try))
		})
		return strings.Contains(shown, fmt.Sprintf("sent %q", a)) && strings.Contains(shown, fmt.Sprintf("sent %q", b))
	}
	for try := 1; !sent(try); try++ {
		if try == 20 {
			shown, err := s.Capture(1000)
			t.Fatalf("it has sent %q, %v", shown, err)
		}
	}
}

// Nothing is typed, and nothing interrupted, while somebody types who is attached on the host, whom no server knows;
// who only looks is not in the way, nor is a human elsewhere whose keys are typed.
func TestHumanWhoIsAttachedHereIsLeftAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("script takes other options")
	}
	for _, readOnly := range []bool{false, true} {
		r := newRig(t, "/bin/sh", "-c", `echo ready; while read -r line; do echo "read <$line>"; done`)
		s := r.open()
		attached, err := Attach(r.config.Tmux, r.config.Folder, readOnly)
		if err != nil {
			t.Fatal(err)
		}
		// script gives it a terminal.
		quoted := ""
		for _, a := range attached.Args {
			quoted += quote(a) + " "
		}
		human := exec.Command("script", "-qec", quoted, "/dev/null")
		human.Env, human.Dir = append(attached.Env, "TERM=xterm", "PATH=/usr/bin:/bin"), attached.Dir
		in, err := human.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := human.Start(); err != nil {
			t.Skip(err)
		}
		until(t, "somebody is attached", func() bool {
			clients, err := s.tmux(nil, "list-clients")
			return err == nil && clients != ""
		})
		for what, does := range map[string]func() error{
			"nudge": func() error { return s.Send("a nudge", true) },
			"enter": func() error { return s.Send("", true) },
		} {
			if err := does(); errors.Is(err, ErrTyping) == readOnly || err != nil != errors.Is(err, ErrTyping) {
				t.Errorf("%s, somebody who only looks %v: %v", what, readOnly, err)
			}
		}
		if err := s.Type([]byte("keys\r")); err != nil {
			t.Error(err)
		}
		shown := ""
		until(t, "the keys", func() bool {
			if shown, err = s.Capture(10); err != nil {
				t.Fatal(err)
			}
			return strings.Contains(shown, "keys>")
		})
		if strings.Contains(shown, "a nudge") != readOnly {
			t.Errorf("it shows %q", shown)
		}
		if err := s.Interrupt(); errors.Is(err, ErrTyping) == readOnly {
			t.Errorf("interrupted, somebody who only looks %v: %v", readOnly, err)
		}
		in.Close()
		_ = human.Process.Kill()
		_ = human.Wait()
	}
}
