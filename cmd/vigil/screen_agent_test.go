package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// What the dialogs of the shipped tools show is recognized, and what they show at work is not.
func TestRunnerExamplesKnowPrompts(t *testing.T) {
	prompts, err := runner.CompilePrompts(examples(t)["claude-code-tmux"].Prompts)
	if err != nil {
		t.Fatal(err)
	}
	box := strings.Repeat("─", 80)
	for screen, want := range map[string]string{
		"● Bash(make test)\n" + box + "\n Bash command\n   make test\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and don't ask again\n   3. No (esc)\n": "permission",
		"Do you want to make this edit to main.go?\n❯ 1. Yes\n  2. No":                                                                                       "permission",
		"│ Do you trust the files in this folder?      │\n│ ❯ 1. Yes, proceed │\n":                                                                           "permission",
		"I asked: Do you want to proceed? They said no.\n" + box + "\n> \n" + box + "\n  ? for shortcuts":                                                    "idle",
		"● You've hit your limit · resets 1pm\n" + box + "\n❯ \n" + box + "\n  ? for shortcuts":                                                              "usage_limit",
		"  ⎿ API Error: 500 overloaded\n" + box + "\n❯ \n" + box + "\n  ? for shortcuts":                                                                     "error",
		"● done\n" + box + "\n❯ \n" + box + "\n  ⏵⏵ accept edits on (shift+tab to cycle)":                                                                    "idle",
		"✻ Pondering… (12s · esc to interrupt)\n" + box + "\n❯ \n" + box + "\n  ⏵⏵ accept edits on (shift+tab to cycle)":                                     "",
		"$ make test\nok": "",
	} {
		m, ok := prompts.Match(runner.Tidy(screen))
		if got := map[bool]string{true: m.Kind}[ok]; got != want {
			t.Errorf("%q is taken for %q by rule %d, want %q", screen, got, m.Rule, want)
		}
	}
}

// Patterns are tried with a file, and their mistakes have a place.
func TestScreenMatch(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"ask.yaml":    "name: ask\nprogram: no-such-tool\nprompts:\n- {kind: idle, pattern: '^> *$'}\n",
		"none.yaml":   "name: ask\nprogram: sh\n",
		"bad.yaml":    "name: ask\nprogram: sh\nprompts:\n- {kind: idle, pattern: '('}\n",
		"idle.txt":    "\x1b[1mdone\x1b[0m\n> \n\n",
		"at-work.txt": "> wait\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--match ask.yaml --text idle.txt", cli.ExitOK, `idle prompt, by prompts[0], which fits ">"`},
		{"--match ask.yaml --text idle.txt --json", cli.ExitOK, `"idle"`},
		{"--match ask.yaml --text at-work.txt", cli.ExitFailed, "no prompt: none of the 1 patterns fits"},
		{"--match bad.yaml --text idle.txt", cli.ExitUsage, "bad.yaml:4:25: error parsing regexp"},
		{"--match none.yaml --text idle.txt", cli.ExitUsage, "declares no prompts"},
		{"--match gone.yaml --text idle.txt", cli.ExitUsage, "read runner"},
		{"--text idle.txt", cli.ExitUsage, "--match"},
		{"r/a --match ask.yaml --text idle.txt", cli.ExitUsage, "and not both"},
		{"--match ask.yaml", cli.ExitUsage, "name an agent"},
	} {
		var o, e bytes.Buffer
		code := run(context.Background(), append([]string{"agent", "screen"}, strings.Fields(tt.args)...), strings.NewReader(""), &o, &e)
		if code != tt.code || !strings.Contains(o.String()+e.String(), tt.want) {
			t.Errorf("%q: exit code %d, %s%s", tt.args, code, o.String(), e.String())
		}
	}
}

func TestScreenLine(t *testing.T) {
	for want, s := range map[string]*vigilv1.ScreenState{
		"":          nil,
		"no prompt": {Prompt: "none", Shown: durationpb.New(60e9)},
		"usage limit prompt for 1m; nothing new for 5m and more": {Prompt: "usage_limit", Shown: durationpb.New(60e9), Quiet: true, QuietFor: durationpb.New(300e9)},
	} {
		if got := screenLine(s, ""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := screenLine(nil, "degraded: no tmux"); got != "degraded: no tmux" {
		t.Errorf("%q", got)
	}
}
