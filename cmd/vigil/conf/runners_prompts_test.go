package conf

import (
	"strings"
	"testing"

	"vigil/agentd/runner"
)

// What the dialogs of the shipped tools show is recognized, and what they show at work is not.
func TestRunnerExamplesKnowPrompts(t *testing.T) {
	prompts, err := runner.CompilePrompts(examples(t)["claude-code-tmux"].Prompts)
	if err != nil {
		t.Fatal(err)
	}
	box := strings.Repeat("─", 80)
	for screen, want := range map[string]string{
		"● Bash(make test)\n" + box +
			"\n Bash command\n   make test\n Do you want to proceed?\n" +
			" ❯ 1. Yes\n   2. Yes, and don't ask again\n   3. No (esc)\n": "permission",
		"Do you want to make this edit to main.go?\n❯ 1. Yes\n  2. No":             "permission",
		"│ Do you trust the files in this folder?      │\n│ ❯ 1. Yes, proceed │\n": "permission",
		" Would you like to proceed?\n\n ❯ 1. Yes, and auto-accept edits\n" +
			"   2. Yes, and manually approve edits\n   3. No, keep planning\n": "permission",
		"□ Colour\n\nWhich colour?\n\n❯ 1. Red\n     The one of today\n  2. Blue\n     The other one\n" +
			"  3. Type something.\n\nEnter to select · Tab/Arrow keys to navigate · Esc to cancel": "permission",
		"Review your answers\n\n ● Which colour?\n   → Red\n\nReady to submit your answers?\n\n" +
			"❯ 1. Submit answers\n  2. Cancel\n": "permission",
		// A first start, page by page.
		"Welcome to Claude Code v2\n\n Let's get started.\n\n Choose the text style that looks best with your terminal\n" +
			" To change this later, run /theme\n\n ❯ 1. Dark mode ✔\n   2. Light mode\n" + box +
			"\n 1  function greet() {\n 2 -  old\n 2 +  new\n 3  }\n" + box + "\n Syntax theme: one\n": "permission",
		" Claude Code can be used with your Claude subscription or billed based on API usage.\n\n" +
			" Select login method:\n\n ❯ 1. Claude account with subscription\n   2. Anthropic Console account\n": "permission",
		" Browser didn't open? Use the url below to sign in\n\nhttps://example.com/oauth\n\n Paste code here if prompted >": "permission",
		" Security notes:\n\n 1. Claude can make mistakes\n\n Press Enter to continue…":                                     "permission",
		"● Bash(./install)\n  ⎿ Press Enter to continue\n" + box + "\n❯ \n" + box + "\n  ? for shortcuts":                   "idle",
		"I asked: Do you want to proceed? They said no.\n" + box + "\n> \n" + box +
			"\n  ? for shortcuts": "idle",
		"● You've hit your limit · resets 1pm\n" + box + "\n❯ \n" + box +
			"\n  ? for shortcuts": "usage_limit",
		"  ⎿ API Error: 500 overloaded\n" + box + "\n❯ \n" + box +
			"\n  ? for shortcuts": "error",
		"● done\n" + box + "\n❯ \n" + box +
			"\n  ⏵⏵ accept edits on (shift+tab to cycle)": "idle",
		"✻ Pondering… (12s · esc to interrupt)\n" + box + "\n❯ \n" + box +
			"\n  ⏵⏵ accept edits on (shift+tab to cycle)": "",
		"$ make test\nok": "",
	} {
		m, ok := prompts.Match(runner.Tidy(screen))
		if got := map[bool]string{true: m.Kind}[ok]; got != want {
			t.Errorf("%q is taken for %q by rule %d, want %q", screen, got, m.Rule, want)
		}
	}
}
