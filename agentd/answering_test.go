package agentd

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// tui is a tool that asks in dialogs, one after the other, and then sits at its idle prompt. A dialog has "1. Yes"
// highlighted, which Enter takes, and ignores pastes.
type tui struct {
	how string // "digits" and "letters" choose at once, "moves" moves what is highlighted, "lines" reads a line,
	// "deaf" hears Enter alone, "field" has a field for words highlighted

	mu     sync.Mutex
	asks   []string // what it asks about
	at     int      // the choice that is highlighted
	line   string   // what was typed
	chosen []string
	said   []string // pastes that it took at its idle prompt
}

var choices = []string{"Yes", "No", "Another way"}

func (x *tui) terminal(r shim.TerminalRequest) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Text != "" && len(x.asks) == 0 {
		x.said = append(x.said, r.Text)
	}
	keys, err := hex.DecodeString(r.Keys)
	if r.Enter {
		keys = append(keys, '\r')
	}
	for _, k := range string(keys) {
		x.key(k)
	}
	if !r.Look {
		return "", err
	}
	return strings.Repeat("scrolled out\n", r.Lines) + x.screen(), err
}

func (x *tui) key(k rune) {
	took := ""
	switch {
	case len(x.asks) == 0:
		return
	case x.how == "lines" || x.how == "field":
		if k != '\r' {
			x.line += string(k)
			return
		}
		took = x.line
	case k == '\r':
		took = choices[x.at]
	case k >= '1' && k <= '3' && x.how == "moves":
		x.at = int(k - '1')
		return
	case k >= '1' && k <= '3' && x.how == "digits":
		took = choices[k-'1']
	case strings.ContainsRune("yna", k) && x.how == "letters":
		took = string(k)
	default:
		return
	}
	x.chosen = append(x.chosen, x.asks[0]+": "+took)
	x.asks, x.at, x.line = x.asks[1:], 0, ""
}

func (x *tui) screen() string {
	if len(x.asks) == 0 {
		return "done\n\n> "
	}
	what := x.asks[0]
	if strings.HasSuffix(what, "[y/N]") {
		return "working\n" + what + " " + x.line
	}
	text := "──────\n Bash command\n\n   " + what + "\n\nDo you want to proceed?\n"
	at := x.at
	if x.how == "field" {
		at = len(choices)
	}
	for i, c := range append(slices.Clone(choices), "Type something") {
		mark := " "
		if i == at {
			mark = "❯"
		}
		if i == len(choices) && x.how == "field" && x.line != "" {
			c = x.line
		}
		text += fmt.Sprintf("%s %d. %s\n", mark, i+1, c)
	}
	if x.how == "lines" {
		text = strings.ReplaceAll(text, "❯", " ") + x.line
	}
	return text
}

// newAsker runs a life whose tool asks for permission.
func newAsker(t *testing.T) (*rig, *puppet) {
	t.Helper()
	r, p := newPuppetRig(t, false, func(c *Config) {
		c.Runners = []runner.Runner{{Name: "tool", Program: "sleep", User: runner.SameUser(), Kind: runner.KindTmux,
			Prompts: []runner.Prompt{{Kind: "permission", Pattern: `Do you want to proceed\?\n.*1\. Yes`}}}}
	})
	r.stream.orders(t, order("start", 1, 2, "tool"))
	one := next(t, p.started)
	next(t, r.starts)
	return r, one
}

// An answer reaches the prompt that stands, as keys, and nothing of it the one that comes up behind it: Enter follows
// only while that very prompt stands and has the answer. Where there is no prompt nothing is typed.
func TestAnswersAreForThePromptThatStands(t *testing.T) {
	r, one := newAsker(t)
	for i, tt := range []struct {
		how    string
		asks   []string
		answer string
		chosen string // the first one; nothing else was
		want   string // beginning of the error
	}{
		{"digits", []string{"rm a"}, "2", "rm a: No", ""},
		{"digits", []string{"rm a", "rm b"}, "2", "rm a: No", ""},
		{"digits", []string{"rm a", "rm b"}, "1", "rm a: Yes", ""},
		{"digits", []string{"rm a", "rm b"}, "22", "rm a: No", errCut.Error()},
		{"digits", []string{"rm a", "rm b"}, "no", "", errNotTaken.Error()},
		{"moves", []string{"rm a", "rm b"}, "2", "rm a: No", ""},
		{"moves", []string{"rm a", "rm b"}, "1", "rm a: Yes", ""},
		{"letters", []string{"rm a", "rm b"}, "no, make all", "rm a: n", errCut.Error()},
		{"deaf", []string{"rm a"}, "2", "", errNotTaken.Error()},
		{"deaf", []string{"rm a"}, "1", "rm a: Yes", ""},
		{"lines", []string{"rm a", "rm b"}, "yes", "rm a: yes", ""},
		{"lines", []string{"Overwrite it? [y/N]", "rm b"}, "y", "Overwrite it? [y/N]: y", ""},
		{"lines", []string{"Overwrite it? [y/N]"}, "no", "Overwrite it? [y/N]: no", ""},
		{"field", []string{"rm a", "rm b"}, "use make, not rm", "rm a: use make, not rm", ""},
		{"digits", nil, "1", "", errNoDialog.Error()},
		// the words at both prompts are the same, and what they are about stands further up
		{"digits", []string{"one\n1 }\n╌╌\n╌╌", "two\n1 }\n╌╌\n╌╌"}, "1", "one\n1 }\n╌╌\n╌╌: Yes", errChanged.Error()},
	} {
		x := &tui{how: tt.how, asks: slices.Clone(tt.asks)}
		one.acts(x.terminal)
		d := r.stream.askTerminal(t, &vigilv1.TerminalRequest{Request: uint64(100 + i), Agent: 1, Incarnation: 2,
			Text: tt.answer})
		if got := strings.Join(x.chosen, ", "); got != tt.chosen || len(x.said) > 0 ||
			!strings.HasPrefix(d.GetError(), tt.want) || (d.GetError() == "") != (tt.want == "") {
			t.Errorf("%s %q, answer %q: chosen %q, said %q, %q", tt.how, tt.asks, tt.answer, got, x.said, d.GetError())
		}
		if typed := tt.want != "" && tt.asks != nil; typed != (len(d.GetData()) > 0) {
			t.Errorf("%s %q, answer %q: that some of it was typed is not told", tt.how, tt.asks, tt.answer)
		}
	}
	// Enter alone is for a prompt, too.
	for _, asks := range [][]string{{"rm a"}, nil} {
		x := &tui{how: "digits", asks: slices.Clone(asks)}
		one.acts(x.terminal)
		d := r.stream.askTerminal(t, &vigilv1.TerminalRequest{Request: uint64(200 + len(asks)), Agent: 1, Incarnation: 2,
			Key: "enter"})
		if (d.GetError() == "") != (asks != nil) || len(x.chosen) != len(asks) {
			t.Errorf("Enter at %q: chosen %q, %q", asks, x.chosen, d.GetError())
		}
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// An answer that is for the prompt that was seen is typed at no other one: between a look and a click the tool may
// have been answered, and ask for the next thing.
func TestAnswersAreForThePromptThatWasSeen(t *testing.T) {
	r, one := newAsker(t)
	request := uint64(100)
	ask := func(q *vigilv1.TerminalRequest) *vigilv1.LogData {
		request++
		q.Request, q.Agent, q.Incarnation = request, 1, 2
		return r.stream.askTerminal(t, q)
	}
	for how, asks := range map[string][]string{"digits": {"make all", "rm all"}, // by its key
		// by Enter alone; and what tells the one from the other stands further up
		"deaf": {"make all \\\n a \\\n b \\\n c \\\n d", "rm all \\\n a \\\n b \\\n c \\\n d"}} {
		x := &tui{how: how, asks: slices.Clone(asks)}
		one.acts(x.terminal)
		seen := ask(&vigilv1.TerminalRequest{Look: true})
		if seen.GetDialog() == "" || strings.Contains(seen.GetDialog(), "make") {
			t.Fatalf("the prompt has the mark %q", seen.GetDialog())
		}
		answer := func() *vigilv1.LogData {
			q := &vigilv1.TerminalRequest{Text: "1", IfDialog: seen.GetDialog()}
			if how == "deaf" {
				q = &vigilv1.TerminalRequest{Key: "enter", IfDialog: seen.GetDialog()}
			}
			return ask(q)
		}
		if d := answer(); d.GetError() != "" || !slices.Equal(x.chosen, []string{asks[0] + ": Yes"}) {
			t.Errorf("%s: chosen %q, %q", how, x.chosen, d.GetError())
		}
		if d := answer(); d.GetError() != errOther.Error() || len(d.GetData()) > 0 || len(x.chosen) != 1 {
			t.Errorf("%s: the next prompt got the answer to the last one: chosen %q, %q", how, x.chosen, d.GetError())
		}
		next := ask(&vigilv1.TerminalRequest{Look: true}).GetDialog()
		if next == "" || next == seen.GetDialog() {
			t.Errorf("%s: marks %q and %q", how, seen.GetDialog(), next)
		}
		if far := ask(&vigilv1.TerminalRequest{Look: true, Lines: 9}).GetDialog(); far != next {
			t.Errorf("%s: the mark is %q, with what has scrolled out %q", how, next, far)
		}
		x.asks = nil
		if d := ask(&vigilv1.TerminalRequest{Look: true}); d.GetDialog() != "" {
			t.Errorf("%s: no prompt has the mark %q", how, d.GetDialog())
		}
		if d := answer(); d.GetError() != errNoDialog.Error() {
			t.Errorf("%s: no prompt stands, and %q", how, d.GetError())
		}
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
}
