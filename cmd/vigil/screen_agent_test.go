package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

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
		code := run(context.Background(), append([]string{"agent", "screen"}, strings.Fields(tt.args)...),
			strings.NewReader(""), &o, &e)
		if code != tt.code || !strings.Contains(o.String()+e.String(), tt.want) {
			t.Errorf("%q: exit code %d, %s%s", tt.args, code, o.String(), e.String())
		}
	}
}
