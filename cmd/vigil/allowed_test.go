package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
)

// agentVerbs are the commands that a shipped file may let an agent run without a question:
// its own words and its mail. Not among them is whatever runs programs, types into terminals
// or reads those of others.
var agentVerbs = []string{"wait-for-task", "task progress", "task complete", "task fail", "declare healthy",
	"declare busy", "declare degraded", "declare needs-input", "declare sleeping", "declare in-tool", "remember",
	"patrol report", "handoff", "mail read", "mail ack", "mail reply"}

// allowances finds what a value of a shipped file allows: rules of the form Tool(what), and
// names of tools of MCP.
func allowances(v any) (rules []string) {
	switch v := v.(type) {
	case string:
		rules = append(rules, regexp.MustCompile(`\b[A-Z][A-Za-z]+\([^()]*\)`).FindAllString(v, -1)...)
	case []any:
		for _, x := range v {
			rules = append(rules, allowances(x)...)
		}
	case map[string]any:
		for key, x := range v {
			if list, ok := x.([]any); ok && slices.Contains([]string{"allow", "allowedTools", "coreTools"}, key) {
				for _, one := range list {
					rules = append(rules, fmt.Sprint(one))
				}
				continue
			}
			rules = append(rules, allowances(x)...)
		}
	}
	return rules
}

// harmful tells why a rule must not be shipped; empty: it may.
func harmful(rule string) string {
	if rule == "mcp__vigil" || strings.HasPrefix(rule, "mcp__vigil__") {
		return "" // the words of MCP are those of agents
	}
	command, ok := strings.CutPrefix(rule, "Bash(")
	if !ok {
		return "it is no rule for vigil"
	}
	command, ok = strings.CutSuffix(command, ":*)")
	if !ok {
		command, _ = strings.CutSuffix(command, ")")
	}
	verb, ok := strings.CutPrefix(command, "vigil ")
	if !ok || !slices.Contains(agentVerbs, verb) {
		return "an agent may not run `" + command + "` without a question"
	}
	cmd, rest, err := newRootCmd(&cli.App{Getenv: func(string) string { return "" }}).Find(strings.Fields(verb))
	if err != nil || len(rest) > 0 || cmd.HasSubCommands() {
		return "`" + command + "` is not one command"
	}
	return ""
}

// No shipped file lets an agent run commands through vigil: exact verbs, or MCP only.
func TestS05ShippedFilesAllowExactVerbs(t *testing.T) {
	for _, rule := range []string{"Bash(vigil:*)", "Bash(*)", "Bash(vigil task:*)", "Bash(vigil run:*)",
		"Bash(vigil triage exec:*)",
		"Bash(vigil nudge:*)", "Bash(vigil agent screen:*)", "Bash(vigil *)", "Bash(vigil task complete *)",
		"Read(//etc/**)", "*"} {
		if harmful(rule) == "" {
			t.Errorf("%s passes", rule)
		}
	}
	found := 0
	check := func(name string, rules []string) {
		for _, rule := range rules {
			found++
			if why := harmful(rule); why != "" {
				t.Errorf("%s allows %s: %s", name, rule, why)
			}
		}
	}
	f := conf.DefaultAgentd()
	f.RunnersDir = "../../configs/runners.d"
	if err := f.ReadRunners(); err != nil {
		t.Fatal(err)
	}
	listed, err := conf.ReadAgentd("../../configs/agentd-runners.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob("../../configs/runners.d/*.yaml"); err != nil || len(files) != len(f.Runners) {
		t.Fatalf("%d of %d runners are read: %v", len(f.Runners), len(files), err)
	}
	for _, r := range append(f.Runners, listed.Runners...) {
		args := slices.Concat(r.Args, r.FreshArgs, r.ResumeArgs)
		for i, arg := range args {
			if arg == "--allowedTools" || arg == "--allowed-tools" {
				check(r.Name, strings.Split(args[i+1], ","))
			}
			if slices.Contains([]string{"--dangerously-skip-permissions",
				"--yolo", "--full-auto", "danger-full-access"}, arg) {
				t.Errorf("runner %s allows everything: %s", r.Name, arg)
			}
			check(r.Name, allowances(strings.ReplaceAll(arg, ",", " ")))
		}
	}
	root := filepath.Join("..", "..", "configs", "agents")
	err = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var v any
		if filepath.Ext(path) == ".json" {
			if err := json.Unmarshal(text, &v); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		} else {
			v = string(text)
		}
		check(path, allowances(v))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 5 {
		t.Errorf("only %d rules were found: the test does not see them any more", found)
	}
}
