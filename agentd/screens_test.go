package agentd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/agentd/tmux"
	"vigil/rpc/gen/vigilv1"
)

const secret = "rm -rf /srv/secret"

// easel is an agent whose terminal is painted by the test.
type easel struct {
	t *testing.T
	*rig
	one    *puppet
	mu     sync.Mutex
	screen string
	err    error
	looks  int

	figures *prometheus.Registry
}

func newEasel(t *testing.T, kind string, change ...func(*Config)) *easel {
	t.Helper()
	x := &easel{t: t, figures: prometheus.NewRegistry()}
	r, p := newPuppetRig(t, true, append([]func(*Config){func(c *Config) {
		c.Runners = []runner.Runner{{Name: "tool", Program: "sleep", User: runner.SameUser(), Kind: kind,
			Prompts: []runner.Prompt{
				{Kind: "permission", Pattern: `^Do you want to (proceed|edit)\?`},
				{Kind: "idle", Pattern: `^> *$`, Lines: 2},
			}}}
		c.Terminals = func() (string, error) { return "tmux 3.3a", nil }
		c.Registerer = x.figures
	}}, change...)...)
	x.rig, p.shows = r, x.show
	r.stream.orders(t, order("start", 1, 2, "tool"))
	x.one = next(t, p.started)
	next(t, r.starts)
	t.Cleanup(func() {
		select {
		case x.one.exit <- shim.Exit{}:
		default: // it has ended
		}
	})
	return x
}

// paint changes the terminal and has the output grow by what a terminal would get.
func (x *easel) paint(lines ...string) {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.screen = strings.Join(lines, "\n") + "\n\n\n"
	x.print(x.screen)
}

func (x *easel) print(text string) {
	x.t.Helper()
	path := x.logFile()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *easel) logFile() string { return filepath.Join(x.dir, "logs", "demo", "r1.log") }

func (x *easel) show() (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.looks++
	return x.screen, x.err
}

func (x *easel) fails(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
}

func (x *easel) looked() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.looks
}

// wants waits for the next report.
func (x *easel) wants(prompt string, quiet bool) {
	x.t.Helper()
	r := next(x.t, x.screens)
	if r.GetHost() != 7 || r.GetAgent() != 1 || r.GetIncarnation() != 2 || r.GetPrompt() != prompt ||
		r.GetQuiet() != quiet {
		x.t.Fatalf("reported %v, want %s, quiet %v", r, prompt, quiet)
	}
	if strings.Contains(r.String(), "secret") {
		x.t.Errorf("a report tells what stands there: %v", r)
	}
}

// steps has so many looks made, one after the other.
func (x *easel) steps(n int) {
	x.t.Helper()
	for range n {
		before := x.figure("vigil_agentd_looks_total")
		x.advance(DefaultLookEvery)
		until(x.t, "a look", func() bool { return x.figure("vigil_agentd_looks_total") > before })
	}
}

// figure is the value of a counter of the daemon.
func (x *easel) figure(name string) float64 {
	x.t.Helper()
	all, err := x.figures.Gather()
	if err != nil {
		x.t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	x.t.Fatalf("there is no figure %s", name)
	return 0
}

// A prompt that stands still from one look to the next is told, once, without its text; it is
// gone with the first look that does not find it. Reports are ten seconds apart.
func TestPromptIsToldWhenItStands(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.paint("working on " + secret)
	x.wants("none", false)

	x.paint("$ "+secret, "Do you want to proceed?", "❯ 1. Yes", "  2. No")
	x.steps(2)
	x.wants("permission", false)
	looks := x.looked()
	x.steps(3) // nothing was printed: nobody looks, and nothing is told
	if n := x.looked(); n != looks {
		t.Errorf("%d looks at a terminal on which nothing has changed", n-looks)
	}
	none(t, x.screens, "a report without a change")

	x.paint("$ "+secret, "Do you want to proceed?", "❯ 1. Yes", "  2. No", "12 s") // drawn anew
	x.steps(2)
	none(t, x.screens, "a report of a prompt that is drawn anew")

	x.paint("$ "+secret, "done")
	x.steps(2)
	x.wants("none", false)
	if strings.Contains(x.log.String(), "secret") {
		t.Error("what stands on a terminal is in the log of agentd")
	}
}

// asks is a permission prompt about a command, below what else the tool shows.
func asks(above, command string) []string {
	return []string{above, "────────", " Bash command", " " + command, "Do you want to proceed?",
		"❯ 1. Yes", "  2. No"}
}

// A permission prompt that takes the place of one that a human has answered between two looks is another one: none is
// told first, or the cluster would take both for one for which a human was called already. What moves around one
// that stands, and one that is drawn anew, make none.
func TestNextPermissionPromptInARowIsAnother(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.paint("begin")
	x.wants("none", false)
	x.paint(asks("⠋ running", "rm a")...)
	x.steps(2)
	x.wants("permission", false)
	for i := range 6 {
		x.paint(append(asks(strings.Repeat("another agent runs\n", i/2+1)+"⠙ running", "rm a"), "12 s")...)
		x.steps(1)
	}
	for i := range 4 { // words that move at each look are no prompt that stands
		x.paint(asks("⠋ running", "rm a "+strings.Repeat("x", i%2+1))...)
		x.steps(1)
	}
	x.paint(asks("⠋ running", "rm a")...)
	x.steps(2)
	none(t, x.screens, "a report of a prompt that stands")

	x.paint(asks("⠋ running", "rm b")...)
	x.steps(2)
	x.wants("none", false)
	x.steps(2)
	x.wants("permission", false)
	x.steps(3)
	none(t, x.screens, "a report of a prompt that stands")

	// Somebody takes over the terminal with a narrow window: what is asked about takes two lines now.
	x.paint("⠋ running", "────────", " Bash command", " rm", " b", "Do you want to proceed?",
		"❯ 1. Yes", "  2. No")
	x.steps(3)
	x.paint(asks("⠋ running", "rm b")...)
	x.steps(3)
	none(t, x.screens, "a report of a prompt that stands in a window of another size")
}

// That a permission prompt has gone is told before the next one is, also when the cluster takes no reports for a while.
func TestPermissionPromptThatHasGoneIsToldFirst(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.paint("begin")
	x.wants("none", false)
	x.paint(asks("", "rm a")...)
	x.steps(2)
	x.wants("permission", false)
	down, taken := true, []string(nil)
	x.set(func() {
		x.onScreen = func(r *vigilv1.ReportScreenRequest) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			if down {
				return no("unavailable")
			}
			taken = append(taken, r.GetPrompt())
			return nil
		}
	})
	x.paint("done")
	x.steps(1)
	x.paint(asks("", "rm b")...)
	x.steps(4)
	x.mu.Lock()
	down = false
	x.mu.Unlock()
	for last := ""; last != "permission"; last = next(t, x.screens).GetPrompt() {
		x.steps(1)
	}
	until(t, "none, and then the next prompt", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return slices.Equal(taken, []string{"none", "permission"})
	})
}

// A prompt is seen though the log does not tell of it: because somebody removed it, the disk is full, or nobody knows
// why.
func TestPromptIsSeenThoughTheLogIsSilent(t *testing.T) {
	prompt := []string{"$ " + secret, "Do you want to proceed?", "❯ 1. Yes", "  2. No"}
	for name, tt := range map[string]struct {
		happens func(t *testing.T, x *easel, free *atomic.Uint64)
		looks   int
	}{
		"the log is gone": {func(t *testing.T, x *easel, _ *atomic.Uint64) {
			if err := os.Remove(x.logFile()); err != nil {
				t.Fatal(err)
			}
		}, 2},
		"the disk is full": {func(t *testing.T, x *easel, free *atomic.Uint64) {
			free.Store(100 << 20)
			for next(t, x.pressures).GetReason() == "" {
				x.advance(2 * time.Second)
			}
		}, 2},
		"nobody knows why": {func(*testing.T, *easel, *atomic.Uint64) {}, int(maxTrust/DefaultLookEvery) + 2},
	} {
		t.Run(name, func(t *testing.T) {
			var free atomic.Uint64
			free.Store(1 << 30)
			x := newEasel(t, runner.KindTmux, func(c *Config) {
				c.MinFreeDisk, c.QuietAfter = 200<<20, time.Hour
				c.Disk = func() (Room, error) { return Room{Bytes: free.Load()}, nil }
			})
			x.paint("working")
			x.wants("none", false)
			x.steps(1)
			tt.happens(t, x, &free)
			x.mu.Lock()
			x.screen = strings.Join(prompt, "\n")
			x.mu.Unlock()
			x.steps(tt.looks)
			x.wants("permission", false)
		})
	}
}

// What vigil types by itself never answers a permission prompt, not even one that has come up
// since the last look, nor a dialog that no pattern knows, nor what nobody could look at.
func TestNudgesSpareAPermissionPrompt(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.wants("none", false)
	const theme = "Which theme?\n ❯ 1. Dark mode\n   2. Light mode"
	for i, tt := range []struct {
		screen, want string
	}{
		{"> ", ""},
		{"Do you want to proceed?", errPrompt.Error()},
		{theme, errChoice.Error()},
	} {
		x.paint(tt.screen)
		for _, r := range []*vigilv1.TerminalRequest{{Text: "How are you?"}, {Key: "enter"}, {Key: "interrupt"}} {
			r.Request, r.Agent, r.Incarnation, r.SparePrompt = uint64(100+i), 1, 2, true
			if d := x.stream.askTerminal(t, r); d.GetError() != tt.want {
				t.Errorf("%q: %q", tt.screen, d.GetError())
			}
		}
	}
}

// A terminal that cannot be looked at may show a permission prompt: nothing is typed there.
func TestNudgesSpareWhatCannotBeSeen(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.wants("none", false)
	x.fails(errors.New("tmux does not answer"))
	r := &vigilv1.TerminalRequest{Request: 100, Agent: 1, Incarnation: 2, Text: "How are you?", SparePrompt: true}
	if d := x.stream.askTerminal(t, r); !strings.HasPrefix(d.GetError(), "whether a permission prompt stands") {
		t.Errorf("%q", d.GetError())
	}
	x.fails(shim.ErrNoTerminal)
	if d := x.stream.askTerminal(t, r); d.GetError() != shim.ErrNoTerminal.Error() {
		t.Errorf("%q", d.GetError())
	}
}

// A runner without patterns has its dialogs spared, too.
func TestNudgesSpareDialogsWithoutPatterns(t *testing.T) {
	r, p := newPuppetRig(t, false)
	r.stream.orders(t, order("start", 1, 2, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	for i, tt := range []struct{ screen, want string }{{"$ ", ""}, {"Overwrite it? [y/N]", errChoice.Error()}} {
		one.shows = func() (string, error) { return tt.screen, nil }
		if d := r.stream.askTerminal(t, &vigilv1.TerminalRequest{Request: uint64(100 + i), Agent: 1, Incarnation: 2,
			Key: "enter", SparePrompt: true}); d.GetError() != tt.want {
			t.Errorf("%q: %q, want %q", tt.screen, d.GetError(), tt.want)
		}
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// False positives: text that quotes a prompt and scrolls on is none, however often it comes.
func TestQuotedPromptIsNone(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.paint("begin")
	x.wants("none", false)
	for i := range 6 {
		x.paint("log of yesterday:", "Do you want to proceed?", strings.Repeat("line\n", i+1)+"end")
		x.steps(1)
	}
	none(t, x.screens, "a report about text that scrolls on")
	x.paint(append([]string{"Do you want to proceed?"}, strings.Split(strings.Repeat("line ", 20), " ")...)...)
	x.steps(3) // further up than the pattern looks
	none(t, x.screens, "a report about text far above")
}

// While only a clock or a spinner moves an agent is quiet; new words end that.
func TestQuietMeansNothingNew(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.paint("⠋ thinking 0 s")
	x.wants("none", false)
	for i := range int(DefaultQuietAfter/DefaultLookEvery) + 1 {
		x.paint(fmt.Sprintf("%c thinking %d s", []rune("⠋⠙⠹")[i%3], i))
		x.steps(1)
	}
	x.wants("none", true)
	x.paint("compiling")
	x.steps(2)
	x.wants("none", false)
}

// Other kinds than tmux, and agents that were started without tmux, are seen by their output,
// with its control sequences taken out.
func TestPromptsInOutput(t *testing.T) {
	for _, kind := range []string{runner.KindExec, runner.KindTmux} {
		x := newEasel(t, kind)
		x.fails(shim.ErrNoTerminal) // only asked of one that should have a terminal
		x.print("\x1b[2J\x1b[1;1Hbegin\r\n")
		x.wants("none", false)
		x.print("\x1b[32m10%\r20%\r\x1b[1mDo you want to edit?\x1b[0m\r\n  1. Yes\r\n\r\n")
		x.steps(2)
		x.wants("permission", false)
		x.one.exit <- shim.Exit{}
		next(t, x.exits)
	}
}

// A look that fails changes nothing that is known, and is counted; the next one comes.
func TestLooksThatFail(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.wants("none", false)
	x.paint("> ")
	x.steps(2)
	x.wants("idle", false)
	x.fails(errors.New("the shim did not answer in time"))
	x.print("more")
	x.steps(2)
	none(t, x.screens, "a report of what nobody has seen")
	if n := x.figure("vigil_agentd_look_errors_total"); n == 0 {
		t.Error("no look is counted that failed")
	}
	x.fails(nil)
	x.paint("on it")
	x.steps(2)
	x.wants("none", false)
}

// What the cluster has not taken is told again, as it is then; and everything after a new
// registration.
func TestScreensAreToldAgain(t *testing.T) {
	x := newEasel(t, runner.KindTmux)
	x.set(func() { x.onScreen = func(*vigilv1.ReportScreenRequest) error { return no("unavailable") } })
	x.paint("begin")
	x.wants("none", false)
	x.paint("Do you want to proceed?")
	x.steps(3)
	var last *vigilv1.ReportScreenRequest
	x.set(func() { x.onScreen = nil })
	for last == nil || last.GetPrompt() != "permission" {
		x.advance(screenGap)
		last = next(t, x.screens)
	}
	gone := true
	x.set(func() {
		x.onBeat = func(r *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			defer func() { gone = false }()
			return &vigilv1.BeatResponse{HostGone: gone, Renewed: uint32(len(r.GetAgents()))}, nil
		}
	})
	next(t, x.registers) // the first
	x.advance(20 * time.Second)
	next(t, x.registers)
	x.advance(screenGap)
	x.wants("permission", false)
}

// A host says whether it has tmux when it begins, and when that changes while it runs.
func TestOverseerHostSaysWhetherItHasTmux(t *testing.T) {
	var mu sync.Mutex
	tool, err := "", error(fmt.Errorf("%w: it was not found", tmux.ErrMissing))
	x := newEasel(t, runner.KindTmux, func(c *Config) {
		c.Terminals = func() (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return tool, err
		}
	})
	wants := func(tool, why string) {
		t.Helper()
		r := next(t, x.terminals)
		if r.GetHost() != 7 || r.GetBoot() != "boot-1" || r.GetTool() != tool || r.GetWhy() != why ||
			fmt.Sprint(r.GetRunners(), r.GetWatched()) != "[tool] [tool]" {
			t.Errorf("%v, want %q, %q", r, tool, why)
		}
	}
	wants("", "no tmux")
	for _, to := range []struct {
		tool string
		err  error
		why  string
	}{{"tmux 3.4", nil, ""}, {"", errors.New("tmux cannot be used: its version is unknown"),
		"tmux cannot be used: its version is unknown"}} {
		mu.Lock()
		tool, err = to.tool, to.err
		mu.Unlock()
		x.advance(lookForTerminals)
		wants(to.tool, to.why)
	}
	if text := x.log.String(); !strings.Contains(text, "no terminals: no tmux") {
		t.Error("the log does not say that tmux is missing")
	}
}
