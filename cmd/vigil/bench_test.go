package main

import (
	"bytes"
	"strings"
	"testing"

	"vigil/cmd/vigil/bench"
	"vigil/cmd/vigil/cli"
)

// vigilBench runs the command line without starting anything.
func vigilBench(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"bench"}, args...), strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestBenchRefusesWhatMakesNoSense(t *testing.T) {
	for _, c := range []struct {
		args []string
		word string
	}{
		{[]string{"nothing"}, "unknown command"},
		{[]string{"beats", "--rate", "5"}, "there is no flag --rate"},
		{[]string{"beats", "--count", "-1"}, "count"},
		{[]string{"beats", "--count", "many"}, "many"},
		{[]string{"tasks", "--batch", "5000"}, "batch"},
		{[]string{"writes", "--clients", "0"}, "clients"},
		{[]string{"writes", "--duration", "2h"}, "duration"},
		{[]string{"failover", "--addr", "127.0.0.1:1"}, "--addr"},
		{[]string{"wake", "extra"}, "extra"},
	} {
		code, out, errs := vigilBench(t, c.args...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.word) {
			t.Errorf("vigil bench %s: exit code %d, %q", strings.Join(c.args, " "), code, errs)
		}
	}
}

func TestBenchHelpListsEveryBenchmarkAndHidesTheAgent(t *testing.T) {
	code, out, _ := vigilBench(t, "--help")
	for _, spec := range bench.All() {
		if !strings.Contains(out, "  "+spec.Name+" ") {
			t.Errorf("%s is not in the help", spec.Name)
		}
	}
	var stdout bytes.Buffer
	run(t.Context(), []string{"--help"}, strings.NewReader(""), &stdout, &stdout)
	if code != cli.ExitOK || strings.Contains(stdout.String(), bench.AgentCommand) ||
		!strings.Contains(stdout.String(), "  bench ") {
		t.Errorf("help (%d):\n%s", code, stdout.String())
	}
}

func TestBenchAgentNeedsItsEnvironment(t *testing.T) {
	a := &cli.App{Getenv: func(string) string { return "" }}
	if err := bench.NewAgentCommand(a).ExecuteContext(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "VIGIL_AGENT") {
		t.Errorf("an agent without a name: %v", err)
	}
}
