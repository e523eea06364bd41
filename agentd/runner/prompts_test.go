package runner

import (
	"strings"
	"testing"
)

func compiledPrompts(t *testing.T, list ...Prompt) Prompts {
	t.Helper()
	set, err := compile([]Runner{{Name: "a", Program: "sh", Prompts: list}}, "")
	if err != nil {
		t.Fatal(err)
	}
	return set.Prompts("a")
}

// The first rule that fits counts, within its last lines, and line by line.
func TestMatch(t *testing.T) {
	p := compiledPrompts(t, Prompt{Kind: "permission", Pattern: "^Proceed\\?$"},
		Prompt{Kind: "idle", Pattern: "^> *$", Lines: 2}, Prompt{Kind: "error", Pattern: "(?i)fatal:"})
	works := compiledPrompts(t, Prompt{Kind: NoPrompt, Pattern: "to interrupt"}, Prompt{Kind: "idle", Pattern: "^> *$"})
	if _, ok := works.Match(">\nesc to interrupt"); ok {
		t.Error("a tool that works is said to be idle")
	}
	if m, ok := works.Match(">\n? for shortcuts"); !ok || m.Kind != "idle" || m.Rule != 1 {
		t.Errorf("%+v", m)
	}
	far := strings.Repeat("x\n", DefaultPromptLines)
	for text, want := range map[string]Match{
		"":                             {},
		"all is well":                  {},
		"y\nProceed?\n 1. Yes\n 2. No": {Kind: "permission", Text: "Proceed?", Below: 2},
		"> quoted: Proceed?":           {},
		"Proceed?\n>":                  {Kind: "permission", Text: "Proceed?", Below: 1},
		">\nx\ny":                      {},
		"x\n> \ny":                     {Kind: "idle", Rule: 1, Text: "> ", Below: 1},
		"Fatal: no":                    {Kind: "error", Rule: 2, Text: "Fatal:"},
		"Proceed?\n" + far + "end":     {},
	} {
		if got, ok := p.Match(text); got != want || ok != (want.Kind != "") {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// What a program paints becomes lines that can be compared, and nothing of it is control.
func TestTidy(t *testing.T) {
	for text, want := range map[string]string{
		"a  \n\n\n  b\t\n\n":                                         "a\n  b",
		"\x1b[31mred\x1b[0m\x1b[2K \x1b]0;title\x07x":                "red x",
		"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\ \x1b(B\x1b=\x1bM!": "link !",
		"10%\r50%\r100%\r\ndone\r\n":                                 "100%\ndone",
		"bad \xff bytes\x00\x07":                                     "bad  bytes",
		"":                                                           "",
	} {
		if got := Tidy(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := Tidy(strings.Repeat("line\n", 1000)); strings.Count(got, "\n") != MaxPromptLines-1 {
		t.Errorf("%d lines are left", strings.Count(got, "\n")+1)
	}
	if got := Tidy(strings.Repeat("é", maxText)); len(got) > maxText {
		t.Errorf("%d bytes are left", len(got))
	}
}

// A clock, a spinner, a bar and a frame change no letter; words do.
func TestLetters(t *testing.T) {
	same := []string{"⠋ Thinking (12 s) [===>  ] │", "⠙ Thinking (9:13 s) [====> ] ┃"}
	if Letters(same[0]) != Letters(same[1]) || Letters(same[0]) != "Thinkings" {
		t.Errorf("%q and %q", Letters(same[0]), Letters(same[1]))
	}
	if Letters("compiling a") == Letters("compiling b") {
		t.Error("words make no difference")
	}
}

// What a prompt asks about tells it from the next one, whatever else moves; without such lines it is the prompt alone.
func TestWords(t *testing.T) {
	ask := func(above, command, below string) string {
		return above + "\n Bash command\n " + command + "\nDo you want\nto proceed? 1. Yes\n" + below
	}
	m := Match{Kind: "permission", Text: "Do you want\nto proceed? 1.", Below: 2}
	words := m.Words(ask("x\n───", "rm a", " 2. No\n(12 s)"))
	if words != "BashcommandrmaDoyouwanttoproceedYes" {
		t.Errorf("%q", words)
	}
	for screen, same := range map[string]bool{
		ask("another agent runs\n───", "⠙ rm a", " 2. Perhaps\nso"): true,
		ask("x\n───", "rm b", " 2. No\n(12 s)"):                     false,
	} {
		if got := m.Words(screen); (got == words) != same {
			t.Errorf("%q, want the same: %v", got, same)
		}
	}
	if got := (Match{Text: "a", Below: 0}).Words("a"); got != "a" {
		t.Errorf("%q of a screen with one line", got)
	}
}

// Whatever an agent prints, cleaning and matching it ends and keeps within bounds.
func FuzzTidy(f *testing.F) {
	set, err := compile([]Runner{{Name: "a", Program: "sh", Prompts: []Prompt{{Kind: "idle", Pattern: "x.*y"}}}}, "")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "a\r\nb", "\x1b[", "\x1b]0;", "\x1bP x", "é\xff\r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tidy := Tidy(text)
		if len(tidy) > maxText || strings.ContainsAny(tidy, "\x1b\r\x00") || Tidy(tidy) != tidy {
			t.Errorf("%q became %q", text, tidy)
		}
		if m, ok := set.Prompts("a").Match(tidy); ok && !strings.Contains(m.Words(tidy), Letters(m.Text)) {
			t.Errorf("the words of %+v in %q are %q", m, tidy, m.Words(tidy))
		}
	})
}
