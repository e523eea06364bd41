package conf

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vigil/agentd/runner"
)

// sharedVigil hands each of two agents a task of its own, waits until both have theirs before either tool
// begins, and until both have an answer before either answer is taken.
const sharedVigil = `me=${VIGIL_AGENT#room/}
meet() {
	: >"$BIN/$1-$me"
	for i in $(seq 6000); do
		if [ -e "$BIN/$1-role" ] && [ -e "$BIN/$1-role.2" ]; then return; fi
		sleep 0.01
	done
	exit 99
}
case "$1 $2" in
"wait-for-task --start") if [ -e "$BIN/claimed-$me" ]; then exit 7; fi
	: >"$BIN/claimed-$me"
	printf 'task %d, attempt 1, for room/role: title\n\nthe text of %s\n' "${#me}" "$me"
	meet told ;;
"task exec") shift 3; "$@"; code=$?; meet answered; exit "$code" ;;
"task complete") cp "$a" "$BIN/result-$me" ;;
esac`

// A directory of a runner is that of all its agents. Each gets its own task there, and its answer is that to this
// task; the scripts leave nothing that a commit of everything would take in.
func TestRunnerExamplesShareADirectory(t *testing.T) {
	for name, c := range map[string]struct{ tool, script string }{
		"command":     {"wc", "cat"},
		"claude-code": {"claude", "cat; echo 'a warning' >&2"},
		"codex": {"codex", `echo '{"type":"thread.started","thread_id":"` + conversation + `"}'
			cat >"$out"; echo 'a warning' >&2`},
		"gemini-cli": {"gemini", "cat; echo 'a warning' >&2"},
		"opencode":   {"opencode", "cat; echo 'a warning' >&2"},
	} {
		b := newToolbox(t)
		b.put("vigil", sharedVigil)
		b.put(c.tool, c.script)
		lives := map[string]*exec.Cmd{}
		said := map[string]*strings.Builder{}
		for _, agent := range []string{"role", "role.2"} {
			files := filepath.Join(b.files, agent)
			if err := os.Mkdir(files, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := b.command(name, b.dir, runner.Life{Agent: "room/" + agent, Files: files})
			lives[agent], said[agent] = cmd, &strings.Builder{}
			cmd.Stdout, cmd.Stderr = said[agent], said[agent]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
		for agent, cmd := range lives {
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
				t.Errorf("%s: %s ended with %v, output %q", name, agent, err, said[agent])
			}
			result, err := os.ReadFile(filepath.Join(b.bin, "result-"+agent))
			if !strings.HasSuffix(string(result), "the text of "+agent+"\n") {
				t.Errorf("%s: the result of %s is %q, %v", name, agent, result, err)
			}
		}
		if left, err := os.ReadDir(b.dir); err != nil || len(left) > 0 {
			t.Errorf("%s has left %v in the directory, %v", name, left, err)
		}
	}
}

// Where others work, too, the newest session of the folder may be theirs: a conversation is gone on with there by
// its id only.
func TestConversationsInASharedDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		tool, resume, again string
		byID                bool
	}{
		"claude-code": {"claude", conversation, "--resume " + conversation, true},
		"codex":       {"codex", conversation, "resume " + conversation, true},
		"gemini-cli":  {"gemini", "latest", "--resume", false},
		"opencode":    {"opencode", "begun", "--continue", false},
	} {
		for _, directory := range []bool{false, true} {
			b := newToolbox(t)
			b.put(c.tool, `echo "`+c.tool+` $*" >>"$BIN/calls"; exit 3`)
			for _, of := range []string{"conversation", "thread", "session"} { // of the life before
				b.write(filepath.Join(b.files, of+"-of.txt"), "task 1\n")
			}
			dir := ""
			if directory {
				dir = b.dir
			}
			out, err := b.command(name, dir, runner.Life{Agent: "room/role", Resume: c.resume, Files: b.files}).CombinedOutput()
			calls, e := os.ReadFile(filepath.Join(b.bin, "calls"))
			if err == nil || e != nil || !strings.Contains(string(calls), c.tool+" ") {
				t.Errorf("%s: %v, %v, output %q, calls\n%s", name, err, e, out, calls)
			}
			if again := strings.Contains(string(calls), c.again); again != (c.byID || !directory) {
				t.Errorf("%s with a directory: %v, goes on with a conversation: %v, calls\n%s",
					name, directory, again, calls)
			}
			// Nor does it take the newest session for its own when it has the folder to itself again.
			_, e = os.Stat(filepath.Join(b.files, "session-of.txt"))
			if kept := e == nil; !c.byID && directory && kept {
				t.Errorf("%s: a session of a directory is kept as the agent's own", name)
			}
		}
	}
}

// An agent in a terminal has its results in its own folder, too, and may write there.
func TestResultsOfATerminalAreTheAgentsOwn(t *testing.T) {
	b := newToolbox(t)
	b.put("claude", `for a in "$@"; do echo "<$a>"; done`)
	out, err := b.command("claude-code-tmux", b.dir,
		runner.Life{Agent: "room/role", Resume: conversation, Files: b.files}).CombinedOutput()
	for _, want := range []string{"--result-file \"" + b.files + "/result.md\"", "<--add-dir>\n<" + b.files + ">\n<--"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("no %q in %v, %s", want, err, out)
		}
	}
}

// What a tool said at an attempt at which it gave no answer does not park the agent that ends with an error later.
func TestRunnerExamplesParkNobodyForAnEarlierAttempt(t *testing.T) {
	all := examples(t)
	const began = `echo '{"type":"thread.started","thread_id":"` + conversation + `"}'; `
	for _, c := range []struct{ name, says, word string }{
		{"claude-code", `printf "a\nYou've hit your limit · resets 1pm\n" >&2`, "hit your limit"},
		{"codex", began + `printf '%s\n' "{\"type\":\"error\",\"message\":\"You've hit your usage limit.\"}" '{"a":1}'`,
			"hit your usage limit"},
		{"codex", began + `echo "ERROR: You've hit your usage limit." >&2`, "hit your usage limit"},
		{"codex", began + `echo done >"$out"; echo "ERROR: You've hit your usage limit." >&2`, ""}, // an answer, then
		{"gemini-cli", `printf 'a\nApiErrors: RESOURCE_EXHAUSTED\n' >&2`, "RESOURCE_EXHAUSTED"},
		{"opencode", `printf 'a\nError: Rate limit exceeded\n' >&2`, "Rate limit"},
	} {
		b := newToolbox(t)
		tool, _, _ := strings.Cut(c.name, "-")
		b.put(tool, c.says)
		code, out, calls, _ := b.run(c.name, "") // the life ends when it asks for another task
		if code != 7 || !strings.Contains(out, c.word) || strings.Contains(calls, "vigil task fail --") != (c.word != "") {
			t.Errorf("%s after %s: code %d, output %q, calls\n%s", c.name, c.says, code, out, calls)
		}
		if u := parkedBy(all, c.name, out); u != nil {
			t.Errorf("%s is parked by %s after\n%s", c.name, u.Pattern, out)
		}
		if c.name == "codex" { // its own end is for that, though
			b.next("1")
			b.put(tool, c.says+"; exit 1")
			if code, out, _, _ := b.run(c.name, ""); code != 1 || parkedBy(all, c.name, out) == nil {
				t.Errorf("%s that fails after %s: code %d, output %q", c.name, c.says, code, out)
			}
		}
	}
	// An unfinished line hides no error that follows.
	const failed = `{"type":"turn.failed","error":{"message":"You have hit your usage limit."}}`
	for name, fails := range map[string]string{"claude-code": "echo 'API Error: 529 Overloaded'; exit 1",
		"codex":      began + `printf 'a warning' >&2; echo '` + failed + `'; exit 1`,
		"gemini-cli": "echo '[API Error: RESOURCE_EXHAUSTED' >&2; exit 1",
		"opencode":   "echo 'Error: Rate limit exceeded' >&2; exit 1"} {
		b := newToolbox(t)
		tool, _, _ := strings.Cut(name, "-")
		b.put(tool, "if [ -e \"$BIN/again\" ]; then "+fails+`; fi
			printf 'a warning' >&2; : >"$BIN/again"; rm "$BIN/claimed"`)
		code, out, calls, _ := b.run(name, "")
		if code != 1 || strings.Count(calls, "vigil task fail --") != 1 || parkedBy(all, name, out) == nil {
			t.Errorf("%s that fails after an attempt without an answer: code %d, output %q, calls\n%s",
				name, code, out, calls)
		}
	}
}

// Files that an earlier life has left, of another account perhaps, are replaced: one that cannot be written would end
// each life. A session without an answer is not gone on with, also when nothing of that reaches the cluster.
func TestRunnerExamplesReplaceWhatIsLeft(t *testing.T) {
	for name, tool := range map[string]string{"command": "wc", "claude-code": "claude", "codex": "codex",
		"gemini-cli": "gemini", "opencode": "opencode"} {
		for _, says := range []string{"done", ""} {
			b := newToolbox(t)
			for _, file := range []string{"task.txt", "result.txt", "errors.txt", "events.jsonl",
				"conversation-of.txt", "thread-of.txt", "session-of.txt"} {
				if err := os.Symlink(filepath.Join(b.bin, "none", file), filepath.Join(b.files, file)); err != nil {
					t.Fatal(err)
				}
			}
			b.put(tool, `if [ "$out" != /dev/null ]; then exec >"$out"; fi; printf '`+says+`'`)
			code, out, calls, result := b.run(name, "")
			if done := strings.Contains(calls, "task complete"); code != 7 || result != says ||
				done != (says != "" || name == "command") {
				t.Errorf("%s that says %q: code %d, output %q, result %q, calls\n%s", name, says, code, out, result, calls)
			}
			if _, err := os.Lstat(filepath.Join(b.files, "session-of.txt")); says == "" && err == nil &&
				(tool == "gemini" || tool == "opencode") {
				t.Errorf("%s: a session without an answer is gone on with", name)
			}
		}
	}
}
