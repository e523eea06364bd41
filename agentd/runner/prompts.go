package runner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Prompt recognizes what stands at the end of an agent's terminal (KindTmux), or of its
// output (all others).
type Prompt struct {
	// Kind is one of PromptKinds, or NoPrompt.
	Kind string
	// Pattern (RE2) is looked for in the last lines that are not empty, joined by line
	// feeds; ^ and $ are the ends of a line.
	Pattern string
	// Lines is how many, up to MaxPromptLines; 0: DefaultPromptLines.
	Lines int
}

// Lines that are matched.
const (
	DefaultPromptLines = 15
	MaxPromptLines     = 50
)

// maxText bounds what is matched, in bytes: its end.
const maxText = 32 << 10

// PromptKinds are what a prompt can be: a human must allow something; the tool is out of
// quota; it has stopped with an error; it waits for its next instruction.
func PromptKinds() []string { return []string{"permission", "usage_limit", "error", "idle"} }

// NoPrompt is the kind of a rule that says that what the rules below it would find is none:
// the tool works. RE2 cannot say "but not with".
const NoPrompt = "none"

// Prompts are those of one runner, in the order of their declaration. They are safe for
// concurrent use.
type Prompts []prompt

type prompt struct {
	Prompt
	re *regexp.Regexp
}

// Match is a prompt that was found.
type Match struct {
	Kind  string
	Rule  int    // index in the declaration
	Text  string // what the pattern has matched
	Below int    // lines below it
}

// Match gives the first prompt whose pattern fits the end of a screen. The text is cleaned
// by Tidy before.
func (p Prompts) Match(screen string) (Match, bool) {
	lines := strings.Split(screen, "\n")
	for i, one := range p {
		last := strings.Join(lines[max(0, len(lines)-one.Lines):], "\n")
		if at := one.re.FindStringIndex(last); at != nil {
			return Match{one.Kind, i, last[at[0]:at[1]], strings.Count(last[at[1]:], "\n")}, one.Kind != NoPrompt
		}
	}
	return Match{}, false
}

// linesAbove is how many lines above what a pattern has matched still tell one prompt from the next: a dialog names
// there what it asks about. Further up other things may move while it stands.
const linesAbove = 3

// Words gives the letters of the lines that were matched on a screen, and of some above them: another prompt of the
// same kind has others, while a clock or a spinner that moves changes none.
func (m Match) Words(screen string) string { return m.around(screen, linesAbove) }

// linesBefore is how many lines above belong to what a human has read before an answer: of a command or a change of a
// file the last lines may be those of the one before it.
const linesBefore = 8

// Asked gives the letters of what a human has read before an answer. Where other things move above a dialog it may
// have changed while the dialog is the same.
func (m Match) Asked(screen string) string { return m.around(screen, linesBefore) }

func (m Match) around(screen string, above int) string {
	lines := strings.Split(screen, "\n")
	end := max(0, len(lines)-m.Below)
	begin := max(0, end-1-strings.Count(m.Text, "\n")-above)
	return Letters(strings.Join(lines[begin:end], "\n"))
}

// control finds what moves a cursor, colours or titles, as it stands in raw output.
var control = regexp.MustCompile(
	`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]+[0-~]|[0-~])`)

// Tidy makes what a terminal shows, or what a program has printed, comparable: valid text
// without control sequences and trailing blanks, its last lines that are not empty, 32 KiB
// at most. Of a line that was written over the last version counts.
func Tidy(text string) string {
	text = strings.ToValidUTF8(text[max(0, len(text)-maxText):], "")
	var lines []string
	for line := range strings.SplitSeq(control.ReplaceAllString(text, ""), "\n") {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		line = strings.TrimRightFunc(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\t' {
				return -1
			}
			return r
		}, line), unicode.IsSpace)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-MaxPromptLines):], "\n")
}

// Letters is what is left of a screen without digits, spinners and frames: while only a clock
// or a spinner moves it stays the same.
func Letters(screen string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, screen)
}

// Kind is KindExec or KindTmux; empty: there is no such runner.
func (s *Set) Kind(name string) string {
	if r := s.byName[name]; r != nil {
		return r.kind()
	}
	return ""
}

// Prompts gives those of a runner; nil: it has none, or there is no such runner.
func (s *Set) Prompts(name string) Prompts {
	if r := s.byName[name]; r != nil {
		return r.prompts
	}
	return nil
}

// WithTerminal lists the runners whose agents get a terminal, Watched those with prompts;
// both are sorted.
func (s *Set) WithTerminal() []string {
	return s.those(func(r *compiled) bool { return r.Kind == KindTmux })
}

// Watched is explained at WithTerminal.
func (s *Set) Watched() []string {
	return s.those(func(r *compiled) bool { return len(r.prompts) > 0 })
}

func (s *Set) those(is func(*compiled) bool) (names []string) {
	for _, name := range s.Names() {
		if is(s.byName[name]) {
			names = append(names, name)
		}
	}
	return names
}

// CompilePrompts is Compile for prompts alone, to try them. The error is of type Faults.
func CompilePrompts(list []Prompt) (Prompts, error) {
	c := &checker{runner: &compiled{Runner: Runner{Prompts: list}}}
	if c.checkPrompts(); len(c.faults) > 0 {
		return nil, c.faults
	}
	return c.runner.prompts, nil
}

func (c *checker) checkPrompts() {
	c.runner.prompts = nil
	for i, p := range c.runner.Prompts {
		if !slices.Contains(PromptKinds(), p.Kind) && p.Kind != NoPrompt {
			c.fault(fmt.Sprintf("%q is no kind of prompt", p.Kind),
				"write "+strings.Join(PromptKinds(), ", ")+" or "+NoPrompt, "prompts", i, "kind")
		}
		if p.Lines < 0 || p.Lines > MaxPromptLines {
			c.fault(fmt.Sprintf("%d lines are not 1 to %d", p.Lines, MaxPromptLines),
				fmt.Sprintf("leave it out for %d", DefaultPromptLines), "prompts", i, "lines")
		}
		if p.Lines == 0 {
			p.Lines = DefaultPromptLines
		}
		re, err := regexp.Compile("(?m:" + p.Pattern + ")")
		switch {
		case err != nil:
			if _, plain := regexp.Compile(p.Pattern); plain != nil {
				err = plain // without what was put around it
			}
			c.fault(err.Error(), "write a regular expression as in https://golang.org/s/re2syntax", "prompts", i,
				"pattern")
		case re.MatchString(""):
			c.fault("the pattern fits an empty terminal, so it fits every one",
				"name words that stand in the prompt", "prompts", i, "pattern")
		default:
			c.runner.prompts = append(c.runner.prompts, prompt{p, re})
		}
	}
}
