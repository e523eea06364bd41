package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/mcp"
	"vigil/rpc/client"
)

// snippets are the words of every `vigil` command in a file of configs/agents.
type snippets struct {
	mcp, hooks [][]string
	bound      time.Duration // of a call of a tool, as the file sets it; 0: it does not
}

// words splits a command as a shell does; the snippets have nothing but quotes.
func words(line string) (list []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|([^\s'"]+)`).FindAllStringSubmatch(line, -1) {
		list = append(list, m[1]+m[2]+m[3])
	}
	return list
}

// found sorts a command by what it is.
func (s *snippets) found(list []string) {
	if len(list) > 1 && list[1] == "mcp" {
		s.mcp = append(s.mcp, list)
		return
	}
	s.hooks = append(s.hooks, list)
}

// inJSON looks for commands in the objects of a file.
func (s *snippets) inJSON(t *testing.T, v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			s.inJSON(t, x)
		}
	case map[string]any:
		var list []string
		switch c := v["command"].(type) {
		case string:
			list = words(c)
		case []any: // OpenCode's
			for _, x := range c {
				list = append(list, fmt.Sprint(x))
			}
		}
		if args, ok := v["args"].([]any); ok {
			for _, x := range args {
				list = append(list, fmt.Sprint(x))
			}
		}
		if list != nil {
			s.found(list)
		}
		if ms, ok := v["timeout"].(float64); ok && v["args"] != nil { // Gemini CLI's, of the server
			s.bound = time.Duration(ms) * time.Millisecond
		}
		for _, x := range v {
			s.inJSON(t, x)
		}
	}
}

// readSnippets finds every command in a file.
func readSnippets(t *testing.T, name string) *snippets {
	t.Helper()
	text, s := string(must(os.ReadFile(name))(t)), &snippets{}
	switch filepath.Ext(name) {
	case ".json":
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.inJSON(t, v)
	case ".toml":
		args := regexp.MustCompile(`(?m)^command = "vigil"\nargs = (\[.*\])`).FindStringSubmatch(text)
		var list []string
		if len(args) < 2 || json.Unmarshal([]byte(args[1]), &list) != nil {
			t.Fatalf("%s does not start vigil mcp", name)
		}
		s.found(append([]string{"vigil"}, list...))
		for _, m := range regexp.MustCompile(
			`(?m)^command = "(vigil .*)"$|^notify = .*\| (vigil [^"]*)"`).FindAllStringSubmatch(text, -1) {
			s.found(words(m[1] + m[2]))
		}
		if m := regexp.MustCompile(`(?m)^tool_timeout_sec = (\d+)$`).FindStringSubmatch(text); m != nil {
			s.bound = time.Duration(must(strconv.Atoi(m[1]))(t)) * time.Second
		}
	case ".js":
		if !strings.Contains(text, `spawn(program, [...words, "--best-effort"]`) {
			t.Fatalf("%s: hooks are started in a way that this test does not know", name)
		}
		for _, m := range regexp.MustCompile(`(?m)^\s*vigil\((.*)\);$`).FindAllStringSubmatch(text, -1) {
			s.found(append(append([]string{"vigil"}, words(strings.ReplaceAll(m[1], `", "`, `" "`))...),
				"--best-effort"))
		}
	case ".md":
		for _, m := range regexp.MustCompile("(?m)^\\|.*\\| `(vigil .*)` \\|").FindAllStringSubmatch(text, -1) {
			s.found(append(words(m[1]), "--best-effort"))
		}
	}
	return s
}

// understood fails unless the program has such a command with such flags and arguments.
func understood(t *testing.T, list []string, hook bool, bound time.Duration) {
	t.Helper()
	if list[0] != "vigil" {
		t.Errorf("%q does not start vigil", list)
		return
	}
	cmd, rest, err := newRootCmd(&cli.App{Getenv: func(string) string { return "" }}).Find(list[1:])
	if err != nil || cmd.HasSubCommands() {
		t.Errorf("%q is no command: %v", list, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%q: %v", list, err)
		return
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%q: %v", list, err)
	}
	if hook {
		if yes, err := cmd.Flags().GetBool("best-effort"); err != nil || !yes {
			t.Errorf("%q may stop the tool that runs it: --best-effort is missing", list)
		}
		return
	}
	wait, err := cmd.Flags().GetDuration("wait")
	if err != nil || wait < time.Second || wait > mcp.MaxWait || bound > 0 && wait >= bound {
		t.Errorf("%q waits for %s, the tool for %s (%v)", list, wait, bound, err)
	}
}

// eachSnippet calls fn with the commands of every file, and fails when a folder has none.
func eachSnippet(t *testing.T, fn func(t *testing.T, s *snippets)) {
	root := filepath.Join("..", "..", "configs", "agents")
	for _, dir := range must(os.ReadDir(root))(t) {
		if !dir.IsDir() {
			t.Run(dir.Name(), func(t *testing.T) {
				s := readSnippets(t, filepath.Join(root, dir.Name()))
				if len(s.hooks) == 0 {
					t.Error("no commands were found")
				}
				fn(t, s)
			})
			continue
		}
		t.Run(dir.Name(), func(t *testing.T) {
			var mcp, hooks int
			for _, file := range must(os.ReadDir(filepath.Join(root, dir.Name())))(t) {
				s := readSnippets(t, filepath.Join(root, dir.Name(), file.Name()))
				mcp, hooks = mcp+len(s.mcp), hooks+len(s.hooks)
				fn(t, s)
			}
			if mcp != 1 || hooks < 5 { // one for each moment
				t.Errorf("found vigil mcp %d times and %d hooks", mcp, hooks)
			}
		})
	}
}

func TestEveryCommandOfTheSnippetsExists(t *testing.T) {
	t.Parallel()
	eachSnippet(t, func(t *testing.T, s *snippets) {
		for _, list := range s.mcp {
			understood(t, list, false, s.bound)
		}
		for _, list := range s.hooks {
			understood(t, list, true, 0)
		}
	})
}

// In a session that is no agent hooks do nothing and hold up nobody; in an agent that has
// a task they work.
func TestHooksOfTheSnippetsRun(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	f.task("builder", "Build it", "")
	w := must(client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "web/builder"}))(t)
	t.Cleanup(func() { _ = w.Leave(context.Background(), "the test ends") }) // the server ends too
	must(w.Wait(f.ctx()))(t)
	agent := map[string]string{"VIGIL_ADDR": f.addr, "VIGIL_AGENT": w.Agent(),
		"VIGIL_INCARNATION": client.FormatIncarnation(w.Incarnation()), "XDG_RUNTIME_DIR": t.TempDir()}
	nobody := map[string]string{"VIGIL_ADDR": freeAddr(t), "XDG_RUNTIME_DIR": t.TempDir()}
	eachSnippet(t, func(t *testing.T, s *snippets) {
		for _, list := range s.hooks {
			r := terminalRun{env: nobody, in: `{"session_id": "one", "thread-id": "two"}`}
			if code, out, _ := r.do(t, list[1:]...); code != 0 || out != "" {
				t.Errorf("%q without an agent: exit code %d, printed %q", list, code, out)
			}
			r.env = agent
			if code, out, errs := r.do(t, append(list[1:], "--timeout", mcpPatience.String())...); code != 0 ||
				out != "" || errs != "" {
				t.Errorf("%q in an agent: exit code %d, printed %q and %q", list, code, out, errs)
			}
		}
	})
	// What a hook has declared another one ends; what the model has declared stays, however many tools it uses.
	eachSnippet(t, func(t *testing.T, s *snippets) {
		var asks, ends [][]string
		for _, list := range s.hooks {
			switch {
			case slices.Contains(list, "needs-input") && list[2] == "needs-input":
				asks = append(asks, list)
			case slices.Contains(list, "--said"):
				ends = append(ends, list)
			}
		}
		if len(asks) == 0 || slices.ContainsFunc(asks, func(list []string) bool { return len(list) < 5 }) {
			return // a page, or what only starts vigil mcp
		}
		run := func(lists ...[]string) {
			for _, list := range lists {
				if code, _, errs := (terminalRun{env: agent}).do(t, append(list[1:], "--timeout",
					mcpPatience.String())...); code != 0 || errs != "" {
					t.Errorf("%q: exit code %d, printed %q", list, code, errs)
				}
			}
		}
		run([]string{"vigil", "declare", "needs-input", "which one?"})
		run(ends...)
		if d := f.agent("web/builder").GetDeclaration(); d.GetWaiting() != "needs_input" || d.GetText() != "which one?" {
			t.Errorf("the model asks, and hooks make of it %v", d)
		}
		for _, end := range ends {
			run(asks[0], end)
			if d := f.agent("web/builder").GetDeclaration(); d.GetWaiting() != "none" {
				t.Errorf("%q leaves %v of what %q has declared", end, d, asks[0])
			}
		}
		if len(ends) < 2 {
			t.Errorf("only %q ends what was asked", ends)
		}
	})
	if g := f.agent("web/builder"); g.GetResumeBytes() == 0 || g.GetDeclaration() == nil {
		t.Errorf("the cluster has heard nothing of it: %v", g)
	}
}
