//go:build unix

package conf

import (
	"errors"
	"os"

	"vigil/agentd/runner"
	"vigil/cmd/vigil/cli"
)

// ReadPrompts gives the prompts that the file of a runner declares.
func ReadPrompts(name string) (runner.Prompts, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, cli.Usagef("read runner: %w", err)
	}
	one, doc, err := parseRunnerFile(name, string(text))
	if err != nil {
		return nil, err
	}
	prompts, err := runner.CompilePrompts(one.runner(name).Prompts)
	var faults runner.Faults
	switch {
	case errors.As(err, &faults):
		at := runnerPlace{document: doc}
		return nil, placed(name, doc.text, at.find(faults[0].Path), faults[0].Problem+": "+faults[0].Remedy)
	case len(prompts) == 0:
		return nil, cli.Usagef("%s declares no prompts: add them (docs/prompts.md)", name)
	}
	return prompts, nil
}
