//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
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
	return p.until(strings.Join(want, ", "), func(screen string) bool {
		for _, w := range want {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	})
}

func (p *paneOf) until(what string, ok func(screen string) bool) (screen string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if screen = p.tmux("capture-pane", "-p", "-e"); ok(screen) {
			return screen
		}
		if time.Now().After(end) {
			p.t.Fatalf("the terminal does not show %s:\n%s", what, screen)
		}
	}
}

// A person watches a real fleet in a terminal, looks why an agent runs, drains a host, loses the leader and a
// part of the terminal, and leaves; in a pipe one look is printed. Another one watches a table, which is drawn
// anew when something has happened, also after the loss of the leader, and left there at the end; in a pipe it
// comes again only when it has changed.
func TestFleetsAreWatchedInTerminals(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	defer d.quit()
	program := filepath.Join(d.dir, "bin", "vigil")
	once := exec.Command(program, "top")
	once.Env = environ(t)
	out, err := once.Output()
	if err != nil || !strings.Contains(string(out), "demo/checksum.2 ") || strings.Contains(string(out), "\x1b") {
		t.Fatalf("in a pipe: %v\n%s", err, out)
	}
	pipe := spawn(t, "watch", "host", "list", "--watch")
	pipe.shows(regexp.MustCompile(`west +ready`))
	table := newPane(t, "80", "12", program+" host list --watch; echo it ended with $?; read x")
	defer table.close() // before the demo, which looks for what is left
	table.shows("east", "ready", "Ctrl-C ends this")
	p := newPane(t, "80", "24", "NO_COLOR=1 "+program+" top; echo it ended with $?; read x")
	defer p.close()
	screen := p.shows("s1 leads", "of 5 run", "[1 Inbox 0]", "Nothing waits for a human.")
	if strings.Contains(screen, "\x1b") {
		t.Errorf("NO_COLOR is set and there are escapes: %q", screen)
	}
	p.press("2")
	p.until("the first agent", func(screen string) bool {
		p.press("g") // whichever was the first one at the first look stays chosen
		return strings.Contains(screen, "> demo/checksum ") && strings.Contains(screen, "r restart")
	})
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
	table.shows("draining", "drained by")
	pipe.shows(regexp.MustCompile(`drained by`))
	p.press("4")
	p.shows("EVENT", "agent.joined")
	p.tmux("resize-window", "-x", "40", "-y", "12")
	p.shows("[4 Events]")
	d.kill(d.pid(`server s1 +pid (\d+)`))
	p.until("another leader", func(screen string) bool {
		return strings.Contains(screen, "s2 leads") || strings.Contains(screen, "s3 leads")
	})
	if _, err := d.fleet.DrainHost(d.ctx(), &vigilv1.DrainHostRequest{Host: "west", By: "bert"}); err != nil {
		t.Fatal(err)
	}
	table.until("the second drain", func(screen string) bool { return strings.Count(screen, "draining") == 2 })
	p.press("q")
	p.shows("it ended with 0")
	table.press("C-c")
	table.shows("draining", "it ended with 130")
	pipe.signal(syscall.SIGINT)
	if code := pipe.end(); code != 130 {
		t.Errorf("the pipe ended with %d", code)
	}
	text := pipe.out.String()
	if n := strings.Count(text, "HOST "); n < 2 || n > 8 || strings.Contains(text, "\x1b") {
		t.Errorf("%d tables in a pipe:\n%s", n, text)
	}
}
