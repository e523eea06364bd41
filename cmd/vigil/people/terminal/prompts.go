//go:build unix

package terminal

import (
	"strings"

	"vigil/agentd/runner"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
)

// prompts are those that the file of a runner declares.
type prompts = runner.Prompts

// readPrompts reads them.
func readPrompts(file string) (prompts, error) { return conf.ReadPrompts(file) }

// printMatched tells which prompt stands at the end of a screen.
func printMatched(a *cli.App, prompts runner.Prompts, screen string) error {
	m, ok := prompts.Match(runner.Tidy(screen))
	if !ok {
		if err := a.Done(map[string]any{"prompt": "none"}, "no prompt: none of the %d patterns fits",
			len(prompts)); err != nil {
			return err
		}
		return cli.ExitWith(cli.ExitFailed, nil)
	}
	return a.Done(map[string]any{"prompt": m.Kind, "rule": m.Rule, "matched": m.Text},
		"%s prompt, by prompts[%d], which fits %q", strings.ReplaceAll(m.Kind, "_", " "), m.Rule, m.Text)
}
