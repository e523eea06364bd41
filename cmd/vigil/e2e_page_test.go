//go:build linux

package main_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

// hostileTitle is a title that would do something if it were taken for markup.
const hostileTitle = `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">`

// npmFolder gives a folder with the programs of testdata/page from npm; the test is skipped where that cannot be.
func npmFolder(t *testing.T, programs ...string) string {
	t.Helper()
	npmOnly(t, programs...)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "page"))); err != nil {
		t.Fatal(err)
	}
	npmInstall(t, dir)
	return dir
}

// pageLink is the link that signs a browser in.
var pageLink = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/#code=\S+)`)

// shots is the folder for pictures of the page: where somebody wants to look at them.
func shots(t *testing.T) string {
	if dir := os.Getenv("VIGIL_SHOTS"); dir != "" {
		return dir
	}
	return t.TempDir()
}

// The page in a browser against a whole fleet: one link signs one browser in, every view is shown live in both
// sizes without a fault that axe-core knows, what an agent wrote is text, an answer from the inbox is carried
// out, and the page goes on when the leader dies, and when what serves it has stood still.
func TestPageInABrowserFromNPM(t *testing.T) {
	dir := npmFolder(t, "chromium")
	d := newDemo(t, "--every", "2s")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "smoke.mjs", d.find(pageLink.String()), shots(t))
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, os.Stderr, 5*time.Second
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		what, asked := strings.CutPrefix(lines.Text(), "please: ")
		if !asked {
			continue
		}
		switch server, kill := strings.CutPrefix(what, "kill "); {
		case kill:
			d.kill(d.pid(`server ` + regexp.QuoteMeta(server) + ` +pid (\d+)`))
		case what == "freeze":
			d.signal(syscall.SIGSTOP)
		case what == "thaw":
			d.signal(syscall.SIGCONT)
		default:
			if _, err := d.fleet.CreateTask(d.ctx(), &vigilv1.CreateTaskRequest{Room: "demo", Role: "words",
				Title: hostileTitle, Text: "no-such-file"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.WriteString(in, "done\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the browser's run ended with %v", err)
	}
	d.quit()
}

// I43 on a phone: an agent that sits at a permission prompt is in the inbox with its screen, and goes on, in the
// same life, with the answer that is given there.
func TestPagePromptIsAnsweredFromNPM(t *testing.T) {
	dir := npmFolder(t, "chromium")
	c := newAsking(t)
	c.role("perm", func(s *vigilv1.RoleSpec) { s.Runner, s.Ladder = "ask", "restart" })
	first := c.joined("perm/a", "")
	task := c.task("perm", "asks")
	ui := spawn(t, "ui", "ui", "--port", "0", "--addr", strings.Join(c.api, ","))
	link := pageLink.FindString(ui.shows(pageLink))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "prompt.mjs", link, shots(t), "perm/a")
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Fatal(err)
	}
	c.completed(task)
	if g := c.agent("perm/a"); g.GetIncarnation() != first.GetIncarnation() {
		t.Errorf("it is at life %s, was at %s", g.GetIncarnation(), first.GetIncarnation())
	}
}

// A human takes over the terminal of an agent on the page, by keyboard alone, and types there key by key; others
// hear who it is and type nothing meanwhile; the agent goes on in the same life with what was typed.
func TestPageTerminalIsTakenFromNPM(t *testing.T) {
	dir := npmFolder(t, "chromium")
	c := newAsking(t)
	c.role("perm", func(s *vigilv1.RoleSpec) { s.Runner, s.Ladder = "ask", "restart" })
	first := c.joined("perm/a", "")
	task := c.task("perm", "asks")
	ui := spawn(t, "ui", "ui", "--port", "0", "--addr", strings.Join(c.api, ","))
	link := pageLink.FindString(ui.shows(pageLink))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "terminal.mjs", link, shots(t), "perm/a")
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, os.Stderr, 5*time.Second
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		least, most := uint32(0), uint32(0)
		if n, _ := fmt.Sscanf(lines.Text(), "please: size %d to %d", &least, &most); n == 2 {
			c.screen("perm/a", func(columns, rows uint32) bool {
				return columns >= least && columns <= most && (columns == 200) == (rows == 50)
			})
			if _, err := io.WriteString(in, "done\n"); err != nil {
				t.Fatal(err)
			}
		}
		if lines.Text() != "please: look at it" {
			continue
		}
		if g := c.agent("perm/a"); g.GetTypist().GetGrant() == 0 || g.GetLadder().GetNext() == "nudge" {
			t.Errorf("while somebody types: %v, %v", g.GetTypist(), g.GetLadder())
		}
		_, err := c.fleet.NudgeAgent(c.ctx(), &vigilv1.NudgeAgentRequest{Agent: "perm/a", Text: "no"})
		if err == nil || !strings.Contains(err.Error(), "types at the terminal of perm/a") {
			t.Errorf("a nudge meanwhile: %v", err)
		}
		if _, err := io.WriteString(in, "done\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the browser's run ended with %v", err)
	}
	c.completed(task)
	if done, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: task}); err != nil ||
		done.GetResult() != "told: yes, é" {
		t.Errorf("the agent has read %q, %v", done.GetResult(), err)
	}
	if g := c.agent("perm/a"); g.GetIncarnation() != first.GetIncarnation() {
		t.Errorf("it is at life %s, was at %s", g.GetIncarnation(), first.GetIncarnation())
	}
	c.seen = 0
	c.sees("agent.terminal_taken", "perm/a", 0)
	c.sees("agent.terminal_released", "perm/a", 0)
}

// Every view and action of the page beside those of the test above, for `make ui`: pictures go to VIGIL_SHOTS.
func TestPageViewsFromNPM(t *testing.T) {
	if os.Getenv("VIGIL_UI") == "" {
		t.Skip("takes minutes: `make ui` runs it")
	}
	dir := npmFolder(t, "chromium")
	d := newDemo(t, "--every", "2s")
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "views.mjs", d.find(pageLink.String()), shots(t))
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Errorf("the browser's run ended with %v", err)
	}
	d.quit()
}

// The page of a server on a phone: the link of `vigil ui --phone` signs it in, it acts in the person's name, and
// when its server is killed it says that what it shows is old, and where the others are.
func TestPageOfAServerFromNPM(t *testing.T) {
	if os.Getenv("VIGIL_UI") == "" {
		t.Skip("takes minutes: `make ui` runs it")
	}
	dir := npmFolder(t, "chromium")
	d := newDemo(t, "--every", "2s")
	phone := regexp.MustCompile(`(https://\S+/#code=\S+)\s+This page of server (\S+) `)
	ask := exec.Command(vigil(t), "ui", "--phone")
	ask.Env = environ(t)
	text, err := ask.CombinedOutput()
	said := phone.FindStringSubmatch(string(text))
	if err != nil || said == nil {
		t.Fatalf("vigil ui --phone: %v: %s", err, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "server.mjs", said[1], shots(t))
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, os.Stderr, 5*time.Second
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		if lines.Text() == "please: kill" {
			d.kill(d.pid(`server ` + regexp.QuoteMeta(said[2]) + ` +pid (\d+)`))
			if _, err := io.WriteString(in, "done\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the browser's run ended with %v", err)
	}
	d.quit()
}

// The sources of the page keep to their types.
func TestPageHasItsTypesFromNPM(t *testing.T) {
	dir := npmFolder(t)
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join("..", "..", "rpc", "web", "src"))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "node_modules/typescript/bin/tsc", "-p", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
