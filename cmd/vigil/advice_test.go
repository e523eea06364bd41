package main

import (
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
)

// What an escalation advises can be typed as it stands: there is such a command, with such flags and arguments.
func TestN18EscalationsAdviseCommandsThatThereAre(t *testing.T) {
	seen := 0
	for kind := range noun.EscalationKinds {
		if noun.EscalationKinds[kind].Name == "" {
			continue
		}
		e := &noun.Escalation{ID: 7, Kind: noun.EscalationKind(kind), Subject: "s1", Agent: "web/builder",
			Host: "east", Room: "web", Task: 3, Facts: []noun.KV{{Key: "mail", Value: "4"}}}
		for _, line := range e.Commands() {
			seen++
			args := strings.Fields(line)
			cmd, rest, err := newRootCmd(&cli.App{}).Find(args[1:])
			if err == nil && cmd.HasSubCommands() {
				t.Errorf("%s: %q is no command", e.Kind, line)
				continue
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil || args[0] != "vigil" || strings.Contains(line, "{") {
				t.Errorf("%s: %q: %v", e.Kind, line, err)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d commands were looked at", seen)
	}
}
