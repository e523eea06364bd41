package top

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// fakeHand notes orders.
type fakeHand struct {
	orders []order
	asked  []string
	screen *vigilv1.Screen // of every agent; nil: none has a terminal
	err    error
}

func (h *fakeHand) Do(_ context.Context, o order) (string, error) {
	h.orders = append(h.orders, o)
	return words(o.verb) + " done", h.err
}

func (h *fakeHand) Screen(_ context.Context, agent string) (*vigilv1.Screen, error) {
	if h.screen == nil {
		return nil, errors.New("no terminal")
	}
	return h.screen, nil
}

func (h *fakeHand) Text(_ context.Context, args ...string) string {
	h.asked = append(h.asked, strings.Join(args, " "))
	return "why it runs\n\tand a tab\x1b[31m"
}

// bench is a model with a hand and a clock of its own.
type bench struct {
	*model
	t    *testing.T
	hand *fakeHand
	now  time.Time
}

func newBench(t *testing.T, width, height int) *bench {
	b := &bench{t: t, hand: &fakeHand{}, now: time.Unix(1_700_000_000, 0)}
	b.model = newModel(t.Context(), b.hand, func() time.Time { return b.now }, lipgloss.NewRenderer(io.Discard))
	b.send(tea.WindowSizeMsg{Width: width, Height: height})
	return b
}

// send gives the model a message, and what follows from it.
func (b *bench) send(msg tea.Msg) {
	_, cmd := b.Update(msg)
	for cmd != nil {
		next := cmd()
		switch next.(type) {
		case saidMsg, textMsg, screenMsg:
			_, cmd = b.Update(next)
		default:
			cmd = nil
		}
	}
}

// press presses keys, each written as the library names it.
func (b *bench) press(keys ...string) {
	named := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "down": tea.KeyDown,
		"backspace": tea.KeyBackspace, "ctrl+u": tea.KeyCtrlU}
	for _, k := range keys {
		if kind, ok := named[k]; ok {
			b.send(tea.KeyMsg{Type: kind})
		} else {
			b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
		}
	}
}

func span(d time.Duration) *durationpb.Duration { return durationpb.New(d) }

// hostile is what an agent may write: escapes, line ends, what turns the direction of writing around, wide letters.
const hostile = "\x1b[31mred\x1b]0;title\a\u202etxt\n\u009b2J日本語\u0000"

// fleet is a look at a fleet with something of everything.
func fleet() *snapshot {
	agent := func(name, verdict, process, why string, fine bool) *vigilv1.Agent {
		return &vigilv1.Agent{Name: name, Room: "web", Process: process, Host: "east", Rev: 7, Desired: "running",
			Up: span(5 * time.Minute), Why: why, Verdict: &vigilv1.Verdict{Kind: verdict, Fine: fine}}
	}
	s := &snapshot{
		overview: &vigilv1.Overview{Leader: "s1", Clock: span(time.Hour), Agents: 4, AgentsWanted: 4, AgentsRunning: 3,
			Verdicts: map[string]uint32{"needs_input": 1, "healthy": 2, "offline": 1},
			Servers:  []*vigilv1.OverviewServer{{Id: "s1", Leader: true}, {Id: "s2"}, {Id: "s3", Diverged: true}},
			Tasks: []*vigilv1.TaskCount{{State: vigilv1.TaskState_PENDING, Count: 3, Oldest: span(time.Minute)},
				{State: vigilv1.TaskState_COMPLETED, Count: 12}},
			Hosts: map[string]uint32{"ready": 1, "lost": 1}, Brake: "2 of 3 hosts were lost within 30s"},
		inbox: []*vigilv1.InboxItem{
			{Key: "prompt/web/builder#3", Kind: "prompt", Priority: "high", Subject: "web/builder", Agent: "web/builder",
				Room: "web", Text: "a permission is asked for on its terminal", Said: hostile, Age: span(90 * time.Second),
				Lasts: true, Verdict: "needs_input", AgentRev: 7, Actions: []string{"answer", "restart", "stop"},
				Reasons: []*vigilv1.Reason{{Text: "it waits for a human", Bad: true}}},
			{Key: "escalation/4", Kind: "task_quarantined", Priority: "normal", Subject: "task 9", Task: 9, TaskRev: 2,
				Escalation: 4, Text: "nobody gets the task any more", Age: span(time.Hour), Lasts: true,
				Actions: []string{"unquarantine", "cancel", "ack", "close"}},
			{Key: "escalation/5", Kind: "budget", Priority: "normal", Subject: "web/tester", Room: "web", Role: "tester",
				Escalation: 5, Mail: 8, Text: "all of the budget is used", Age: span(time.Minute), Lasts: true,
				Actions: []string{"lift", "ack", "close"}},
		},
		agents: []*vigilv1.Agent{agent("web/api", "healthy", "running", "working on task 4", true),
			agent("web/builder", "needs_input", "running", hostile, false),
			agent("web/tester", "offline", "none", "no host fits", false),
			agent("web/"+strings.Repeat("long", 20), "healthy", "running", "waiting for a task", true)},
		hosts: []*vigilv1.Host{{Id: 1, Name: "east", State: "ready", Running: 3, Capacity: 8, Heard: span(time.Second)},
			{Id: 2, Name: "west", State: "lost", Capacity: 8, Heard: span(2 * time.Minute), SuspectWhy: "its lease ended"}},
	}
	s.agents[2].Parked = true
	return s
}

// full is a bench with that fleet.
func full(t *testing.T, width, height int) *bench {
	b := newBench(t, width, height)
	b.send(newsMsg{&vigilv1.News{Leader: "s1", Clock: span(time.Hour), Events: []*vigilv1.Event{
		{Seq: 1, Kind: "task.created", Room: "web", Task: 4, Text: "build it"},
		{Seq: 2, Kind: "host.lost", Host: "west", Text: hostile}}}})
	b.send(lookMsg{fleet()})
	b.hand.screen = &vigilv1.Screen{Text: "Do you want to proceed?\n1. Yes\n", Dialog: "mark"}
	return b
}

// fits fails when a screen has more lines or columns than there are, or steers the terminal.
func (b *bench) fits() {
	b.t.Helper()
	lines := strings.Split(b.View(), "\n")
	if len(lines) > max(b.height, 2) {
		b.t.Errorf("%d lines on a screen of %d:\n%s", len(lines), b.height, b.View())
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n > max(b.width, leastWidth) {
			b.t.Errorf("%d columns on a screen of %d: %q", n, b.width, line)
		}
		for _, r := range line {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				b.t.Errorf("%q holds %U", line, r)
			}
		}
	}
}

// What each view looks like, wide and narrow, with words of agents that would like to steer the terminal.
func TestScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 20}} {
		for tab, name := range []string{"inbox", "agents", "hosts", "events"} {
			b := full(t, size[0], size[1])
			b.press(fmt.Sprint(tab + 1))
			b.fits()
			file := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]))
			if *update {
				if err := os.WriteFile(file, []byte(b.View()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != b.View()+"\n" {
				t.Errorf("%s is another screen now (-update writes it):\n%s", file, b.View())
			}
		}
	}
}

// Whatever the size of the terminal, and however it changes, nothing is beyond its edges.
func TestEverySizeIsDrawn(t *testing.T) {
	b := full(t, 80, 24)
	for _, keys := range [][]string{nil, {"2"}, {"3"}, {"4"}, {"?"}, {"esc", "1", "a"}, {"long text"}, {"esc", "r"}} {
		b.press(keys...)
		for height := 1; height < 45; height += 3 {
			for width := 1; width < 130; width += 7 {
				b.send(tea.WindowSizeMsg{Width: width, Height: height})
				b.fits()
			}
		}
	}
}

// Keys give orders about the row that was chosen, as it was when it was looked at; grave ones are asked first.
func TestKeysOrder(t *testing.T) {
	for _, c := range []struct {
		what string
		keys []string
		want order // without a verb: none
		said string
	}{
		{"an answer", []string{"a", "y", "es", "enter"}, order{verb: "answer", text: "yes", agent: "web/builder",
			room: "web", agentRev: 7, dialog: "mark"}, "answer done"},
		{"an answer with a mistake", []string{"a", "no", "ctrl+u", "1x", "backspace", "enter"},
			order{verb: "answer", text: "1", agent: "web/builder", room: "web", agentRev: 7, dialog: "mark"}, "answer done"},
		{"no answer", []string{"a", "enter"}, order{}, "nothing was typed"},
		{"an answer that is given up", []string{"a", "y", "esc"}, order{}, "nothing was typed"},
		{"keys at once", []string{"ja"}, order{}, ""},
		{"a restart", []string{"r", "y"}, order{verb: "restart", agent: "web/builder", room: "web", agentRev: 7},
			"restart done"},
		{"a restart that is not meant", []string{"r", "n"}, order{}, "nothing was done"},
		{"acknowledged", []string{"j", "c"}, order{verb: "ack", task: 9, taskRev: 2, escalation: 4}, "ack done"},
		{"what is not possible", []string{"c"}, order{}, ""},
		{"mail", []string{"2", "m", "hello", "enter"}, order{verb: "mail", text: "hello", agent: "web/builder", room: "web",
			agentRev: 7}, "mail done"},
		{"mail without words", []string{"2", "m", " ", "enter"}, order{}, "nothing was typed"},
		{"a drain", []string{"3", "d", "y"}, order{verb: "drain", host: "east"}, "drain done"},
		{"given up", []string{"3", "G", "D", "y"}, order{verb: "confirm_dead", host: "west"}, "confirm dead done"},
		{"a budget", []string{"G", "b", "y"}, order{verb: "lift", room: "web", role: "tester", escalation: 5,
			mail: 8}, "lift done"},
		{"a budget that is not meant", []string{"G", "b", "n"}, order{}, "nothing was done"},
		{"grave ones first", []string{"2", "n", "enter"}, order{verb: "nudge", agent: "web/builder", room: "web",
			agentRev: 7}, "nudge done"},
	} {
		b := full(t, 80, 24)
		b.press(c.keys...)
		if c.want.verb == "" && len(b.hand.orders) > 0 || c.want.verb != "" &&
			(len(b.hand.orders) != 1 || b.hand.orders[0] != c.want) {
			t.Errorf("%s: ordered %+v, want %+v", c.what, b.hand.orders, c.want)
		}
		if b.said != c.said {
			t.Errorf("%s: it says %q, want %q", c.what, b.said, c.said)
		}
	}
}

// An answer is typed below the prompt that it is for, and is for no other one.
func TestAnAnswerIsForThePromptThatIsShown(t *testing.T) {
	b := full(t, 80, 24)
	b.hand.screen = &vigilv1.Screen{Dialog: "mark",
		Text: "Bash command\n  rm -rf build\x1b[31m\nDo you want to proceed?\n"}
	b.press("a")
	if v := b.View(); !strings.Contains(v, "rm -rf build") || !strings.Contains(v, "Do you want to proceed?") {
		t.Errorf("the prompt is not shown:\n%s", v)
	}
	b.fits()
	b.press("1", "enter")
	want := order{verb: "answer", text: "1", agent: "web/builder", room: "web", agentRev: 7, dialog: "mark"}
	if len(b.hand.orders) != 1 || b.hand.orders[0] != want {
		t.Errorf("ordered %+v, want %+v", b.hand.orders, want)
	}
	if v := b.View(); strings.Contains(v, "rm -rf build") {
		t.Errorf("the prompt stays:\n%s", v)
	}
	b.press("m") // to the same agent, and no answer to a prompt
	if v := b.View(); strings.Contains(v, "rm -rf build") {
		t.Errorf("a prompt above a mail:\n%s", v)
	}
	b.press("esc", "a", "esc")
	b.send(screenMsg{"web/builder", b.hand.screen}) // late
	if v := b.View(); strings.Contains(v, "rm -rf build") {
		t.Errorf("what comes late is shown:\n%s", v)
	}
	for _, screen := range []*vigilv1.Screen{nil, {Text: "working"}} { // a prompt may come up before it is typed
		b.hand.screen, b.hand.orders = screen, nil
		b.press("a", "1", "enter")
		if len(b.hand.orders) > 0 || !b.wrong || !strings.Contains(b.said, "no prompt was seen") {
			t.Errorf("an answer to nothing: ordered %+v, it says %q", b.hand.orders, b.said)
		}
	}
}

// Every answer that the inbox of the page offers has a key of its own, and the help names it.
func TestEveryAnswerOfThePageHasAKey(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "rpc", "web", "src", "answers.tsx"))
	if err != nil {
		t.Fatal(err)
	}
	answers := regexp.MustCompile(`case "(\w+)":`).FindAllStringSubmatch(string(source), -1)
	if len(answers) < 15 {
		t.Fatalf("the page has the answers %q", answers)
	}
	for _, a := range answers {
		v, ok := verbNamed(a[1])
		if !ok || !regexp.MustCompile(`(?m)(^|  )`+v.key+` +[a-z]`).MatchString(keysText) {
			t.Errorf("the answer %s has the key %q", a[1], v.key)
		}
		for _, other := range verbs {
			if other != v && other.key == v.key {
				t.Errorf("%s and %s have the key %s", a[1], other.name, v.key)
			}
		}
	}
}

// A text that is pasted where keys are orders is none, and in an answer is one line.
func TestPastesAreNoOrders(t *testing.T) {
	b := full(t, 80, 24)
	b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("ry"), Paste: true})
	b.press("a")
	b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("two\nlines\x1b"), Paste: true})
	b.press("enter")
	if len(b.hand.orders) != 1 || b.hand.orders[0].text != "two lines " {
		t.Errorf("ordered %+v", b.hand.orders)
	}
}

// A failure says that nothing was done, in the words of the server.
func TestFailuresAreShown(t *testing.T) {
	b := full(t, 80, 24)
	b.hand.err = errors.New("it has changed since\x1b[2J")
	b.press("r", "y")
	if want := "nothing was done: it has changed since?[2J"; !strings.HasSuffix(b.View(), want) {
		t.Errorf("the last line is not %q:\n%s", want, b.View())
	}
	b.fits()
}

// The chosen row stays the chosen one when others come and go, and the first one is chosen when it goes.
func TestTheChosenRowStays(t *testing.T) {
	b := full(t, 80, 24)
	b.press("down")
	s := fleet()
	s.inbox = append([]*vigilv1.InboxItem{{Key: "new", Kind: "prompt", Priority: "urgent", Subject: "web/new"}},
		s.inbox...)
	b.send(lookMsg{s})
	if !strings.Contains(b.View(), "> normal") {
		t.Errorf("another row is chosen:\n%s", b.View())
	}
	s = fleet()
	s.inbox = s.inbox[:1]
	b.send(lookMsg{s})
	if !strings.Contains(b.View(), "> high") {
		t.Errorf("no row is chosen:\n%s", b.View())
	}
}

// Who has moved nowhere orders about the row that was the first one when there was something to see: what is more
// urgent and comes a moment before the key does not get the order. Where the row has gone the order is asked about.
func TestOrdersAreAboutTheRowThatWasLookedAt(t *testing.T) {
	look := func(front ...*vigilv1.InboxItem) lookMsg {
		s := fleet()
		s.inbox = append(front, s.inbox[1:]...)
		return lookMsg{s}
	}
	newer := &vigilv1.InboxItem{Key: "escalation/9", Priority: "urgent", Subject: "web/new", Escalation: 9,
		Actions: []string{"ack", "close"}}
	b := newBench(t, 80, 24)
	b.send(look())
	b.send(look(newer))
	b.press("C")
	if len(b.hand.orders) != 1 || b.hand.orders[0].escalation != 4 {
		t.Errorf("with something new in front: ordered %+v", b.hand.orders)
	}
	for _, keys := range [][]string{nil, {"down"}} {
		b = newBench(t, 80, 24)
		b.send(look())
		b.press(keys...)
		s := fleet()
		s.inbox = []*vigilv1.InboxItem{newer}
		b.send(lookMsg{s})
		b.press("C")
		if len(b.hand.orders) != 0 || !strings.Contains(b.View(), "close escalation 9? y or n") {
			t.Errorf("after %q the row has gone: ordered %+v\n%s", keys, b.hand.orders, b.View())
		}
		b.press("y", "C")
		if len(b.hand.orders) != 2 || b.hand.orders[1].escalation != 9 {
			t.Errorf("after it was asked about: ordered %+v", b.hand.orders)
		}
	}
}

// Who only looks on sees what is first: a row that nobody went to is left when it sinks out of sight.
func TestOnlookersSeeWhatIsFirst(t *testing.T) {
	b := full(t, 80, 24)
	b.press("2")
	s := fleet()
	for i := range 40 {
		s.agents = append(s.agents, &vigilv1.Agent{Name: fmt.Sprintf("many/a.%02d", i), Parked: true,
			Verdict: &vigilv1.Verdict{Kind: "deaf"}})
	}
	b.send(lookMsg{s})
	if !strings.Contains(b.View(), "> many/a.00") {
		t.Errorf("the first row is not chosen:\n%s", b.View())
	}
	b.press("u")
	if len(b.hand.orders) != 0 || b.mode != asking {
		t.Errorf("a row that nobody chose: ordered %+v", b.hand.orders)
	}
}

// A host that is lost stays so under a drain, and can be given up; of a drain its end is offered in any state.
func TestADrainHidesNoLoss(t *testing.T) {
	for _, c := range []struct{ state, acts string }{
		{"lost", "undrain confirm_dead"}, {"suspect", "undrain"}, {"draining", "undrain"},
	} {
		r := hostRows([]*vigilv1.Host{{Name: "west", State: c.state, Drain: true}})[0]
		if got := strings.Join(r.acts, " "); got != c.acts || r.cells[1] != c.state ||
			(r.tone == bad) != (c.state == "lost") {
			t.Errorf("%s and drained: %q with tone %d, offered %q", c.state, r.cells[1], r.tone, got)
		}
	}
}

// Explain and details are read and left, and a list longer than the screen follows the chosen row.
func TestTextsAndLongLists(t *testing.T) {
	b := full(t, 80, 24)
	b.press("e")
	if len(b.hand.asked) != 1 || b.hand.asked[0] != "agent explain -- web/builder" ||
		!strings.Contains(b.View(), "why it runs\n    and a tab?[31m") {
		t.Errorf("asked %q and shows\n%s", b.hand.asked, b.View())
	}
	b.press("q", "enter")
	if !strings.Contains(b.View(), "against it: it waits for a human") {
		t.Errorf("no details:\n%s", b.View())
	}
	b.press("esc", "j", "T", "q", "G", "M", "q")
	if got := strings.Join(b.hand.asked[1:], ", "); got != "task show -- 9, mail show -- 8" {
		t.Errorf("asked %q", got)
	}
	b.press("2")
	s := fleet()
	for i := range 500 {
		s.agents = append(s.agents, &vigilv1.Agent{Name: fmt.Sprintf("many/a.%03d", i),
			Verdict: &vigilv1.Verdict{Kind: "idle", Fine: true}})
	}
	b.send(lookMsg{s})
	b.press("G")
	if !strings.Contains(b.View(), "> many/a.499") {
		t.Errorf("the last row is not shown:\n%s", b.View())
	}
	b.fits()
}

// What is shown is called old when no server answers, and nothing is when one does again; a lost leader is told.
func TestOldNewsAreCalledOld(t *testing.T) {
	b := full(t, 80, 24)
	b.send(lostMsg{client.ErrUnavailable})
	b.now = b.now.Add(5 * time.Second)
	b.send(tickMsg{})
	if !strings.Contains(b.View(), "! no server answers; what you see is 5s old") {
		t.Errorf("it is not called old:\n%s", b.View())
	}
	b.send(newsMsg{&vigilv1.News{Leaderless: span(7 * time.Second)}})
	if view := b.View(); strings.Contains(view, "what you see is") || !strings.Contains(view, "no server leads for 7s") {
		t.Errorf("no word of the lost leader:\n%s", view)
	}
}

// Without colours the same is told; with them the words are the same.
func TestNothingIsToldByColourAlone(t *testing.T) {
	b := full(t, 80, 24)
	bare := b.View()
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	b.paint = newPainter(r)
	if coloured := b.View(); coloured == bare || ansi.Strip(coloured) != bare {
		t.Errorf("with colours other words are shown:\n%s\n%s", bare, ansi.Strip(coloured))
	}
	if strings.Contains(bare, "\x1b") {
		t.Errorf("without colours there are escapes: %q", bare)
	}
}

// What an agent has asked in words is answered by a message; at a prompt on its terminal keys choose.
func TestQuestionsInWordsAreAnsweredByAMessage(t *testing.T) {
	for kind, words := range map[string]bool{"needs_input": true, "prompt": false, "permission_prompt": false} {
		rows := inboxRows([]*vigilv1.InboxItem{{Kind: kind, Agent: "web/builder", Actions: []string{"answer"}}})
		if got := rows[0].order.words; got != words {
			t.Errorf("%s: a message %v, want %v", kind, got, words)
		}
	}
}
