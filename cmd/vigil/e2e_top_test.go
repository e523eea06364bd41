//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// paneOf is a terminal that a test drives.
type paneOf struct {
	t      *testing.T
	socket string
}

// newPane starts a program in a terminal of its own, of that size.
func newPane(t *testing.T, width, height, line string) *paneOf {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	p := &paneOf{t, filepath.Join(t.TempDir(), "tmux")}
	p.tmux("-f", os.DevNull, "new-session", "-d", "-x", width, "-y", height, line)
	t.Cleanup(p.close)
	return p
}

// close ends the terminal and what runs in it.
func (p *paneOf) close() { _ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() } // it may have ended

func (p *paneOf) tmux(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...)
	cmd.Env = environ(p.t) // what runs in it inherits that
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *paneOf) press(keys ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys"}, keys...)...)
}

// shows waits until the terminal shows all of that, and gives what it shows.
func (p *paneOf) shows(want ...string) (screen string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		screen = p.tmux("capture-pane", "-p", "-e")
		missing := ""
		for _, w := range want {
			if !strings.Contains(screen, w) {
				missing = w
			}
		}
		if missing == "" {
			return screen
		}
		if time.Now().After(end) {
			p.t.Fatalf("the terminal does not show %q:\n%s", missing, screen)
		}
	}
}

// A person watches a real fleet in a terminal, looks why an agent runs, drains a host, loses the leader and a
// part of the terminal, and leaves; in a pipe one look is printed.
func TestTopInATerminal(t *testing.T) {
	d := newDemo(t)
	defer d.quit()
	program := filepath.Join(d.dir, "bin", "vigil")
	once := exec.Command(program, "top")
	once.Env = environ(t)
	out, err := once.Output()
	if err != nil || !strings.Contains(string(out), "demo/checksum.2 ") || strings.Contains(string(out), "\x1b") {
		t.Fatalf("in a pipe: %v\n%s", err, out)
	}
	p := newPane(t, "80", "24", "NO_COLOR=1 "+program+" top; echo it ended with $?; read x")
	defer p.close() // before the demo, which looks for what is left
	screen := p.shows("s1 leads", "of 5 run", "[1 Inbox 0]", "Nothing waits for a human.")
	if strings.Contains(screen, "\x1b") {
		t.Errorf("NO_COLOR is set and there are escapes: %q", screen)
	}
	p.press("2")
	p.shows("> demo/checksum ", "r restart")
	p.press("e")
	p.shows("verdict", "in the room", "q back")
	p.press("q", "3")
	p.shows("[3 Hosts 2]", "> east")
	p.press("d")
	p.shows("drain host east? y or n")
	p.press("y")
	p.shows("host east is drained", "1 draining")
	h, err := d.fleet.GetHost(d.ctx(), &vigilv1.GetHostRequest{Host: "east"})
	if err != nil || !h.GetDrain() {
		t.Fatalf("%v: %v", h, err)
	}
	p.press("4")
	p.shows("EVENT", "agent.joined")
	p.tmux("resize-window", "-x", "40", "-y", "12")
	p.shows("[4 Events]")
	d.kill(d.pid(`server s1 +pid (\d+)`))
	p.shows("3 servers", "of 5 run")
	for end := time.Now().Add(patience); !strings.Contains(p.shows("leads"), "s2 leads") &&
		!strings.Contains(p.shows("leads"), "s3 leads"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not follow another leader:\n%s", p.shows())
		}
	}
	p.press("q")
	p.shows("it ended with 0")
}
