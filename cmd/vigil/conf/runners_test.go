package conf

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vigil/agentd/runner"
	"vigil/cmd/vigil/cli"
)

// examples gives the shipped runners by name, as a host would read them.
func examples(t *testing.T) map[string]runner.Runner {
	t.Helper()
	f := DefaultAgentd()
	f.file = "../../../configs/agentd.yaml"
	if err := f.ReadRunners(); err != nil {
		t.Fatal(err)
	}
	all := map[string]runner.Runner{}
	for _, r := range f.runners() {
		if r.User != "" || r.Sudo {
			t.Errorf("S4: agents of runner %s share the account %q, sudo: %v", r.Name, r.User, r.Sudo)
		}
		r.User = runner.SameUser() // without root there are no others
		all[r.Name] = r
	}
	return all
}

// The shipped runners are without a fault on every host; a tool that is not there
// is a warning.
func TestRunnerExamples(t *testing.T) {
	all := examples(t)
	var list []runner.Runner
	for _, name := range []string{"claude-code", "claude-code-tmux", "codex", "command", "gemini-cli", "opencode",
		"triage"} {
		r, ok := all[name]
		if !ok || filepath.Base(r.From) != name+".yaml:"+line(t, r.From) {
			t.Errorf("runner %s comes from %q", name, r.From)
		}
		if tool := name != "command"; r.Optional != tool {
			t.Errorf("runner %s: optional is %v", name, r.Optional)
		}
		list = append(list, r)
	}
	set, err := runner.Compile(list, runner.Host{})
	if err != nil || len(all) != len(list) {
		t.Fatalf("%d runners, %v", len(all), err)
	}
	if !slices.Contains(set.Names(), "command") {
		t.Errorf("offered are %q, warnings %q", set.Names(), set.Warnings())
	}
}

func line(t *testing.T, from string) string {
	t.Helper()
	_, number, _ := strings.Cut(from, ".yaml:")
	if number == "" || strings.Trim(number, "0123456789") != "" {
		t.Errorf("%q names no line", from)
	}
	return number
}

// What the tools print when they are out of quota is recognized.
func TestRunnerExamplesKnowUsageLimits(t *testing.T) {
	all := examples(t)
	for _, c := range []struct{ runner, says, group, value string }{
		{"claude-code", "Claude AI usage limit reached|1750708800", "at", "1750708800"},
		{"claude-code", "You've hit your limit · resets 1pm (Europe/Lisbon)", "at", "1pm"},
		{"claude-code", "You've hit your weekly limit · resets 11:30am (UTC)", "at", "11:30am"},
		{"claude-code", "You've hit your weekly limit · resets Sep 18 at 3am (UTC)", "at", "Sep 18 at 3am"},
		{"claude-code", "You've hit your weekly limit · resets Thu 3pm (UTC)", "at", "Thu 3pm"},
		{"claude-code", "You've hit your limit", "", ""},
		{"claude-code", `API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "", ""},
		{"claude-code", "API Error: Repeated 529 Overloaded errors", "", ""},
		{"claude-code", "API Error: Connection error.", "", ""},
		{"claude-code", `Failed to authenticate. API Error: 401 {"type":"error","error":{"type":"authentication_error",` +
			`"message":"OAuth token has expired."}}`, "", ""},
		{"claude-code", "Invalid API key · Please run /login", "", ""},
		{"claude-code", "Credit balance is too low", "", ""},
		{"codex", `{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}`,
			"", ""},
		{"codex", "ERROR: exceeded retry limit, last status: 503 Service Unavailable", "", ""},
		{"gemini-cli", `[API Error: [{"error": {"code": 503, "message": "The model is overloaded. Please try again later.",` +
			` "status": "UNAVAILABLE"}}]]`, "", ""},
		{"codex", "ERROR: You've hit your usage limit. Upgrade to Pro or try again in 3 hours 14 minutes.", "hours", "3"},
		{"codex", `{"type":"error","message":"You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours."}`,
			"", ""},
		{"codex", `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Or try again at 3:05 PM."}}`,
			"at", "3:05 PM"},
		{"codex", "ERROR: You've hit your usage limit. Or try again at Sep 18th, 2026 3:05 PM.",
			"at", "Sep 18th, 2026 3:05 PM"},
		{"gemini-cli", `[API Error: {"error": {"status": "RESOURCE_EXHAUSTED",` + "\n" +
			`"message": "Please retry in 15.002899939s."`, "seconds", "15.002899939"},
		{"gemini-cli", "[API Error: You have exhausted your capacity on this model. Your quota will reset after 5h22m.]",
			"minutes", "22"},
		{"gemini-cli", "[API Error: [{\n  \"error\": {\n    \"code\": 429,\n    \"status\": " +
			"\"RESOURCE_EXHAUSTED\"\n", "", ""},
		{"opencode", "Error: Rate limit exceeded", "", ""},
		{"opencode", "\x1b[91m\x1b[1mError: \x1b[0mRate limit exceeded", "", ""},
	} {
		hit := slices.IndexFunc(all[c.runner].UsageLimits,
			func(u runner.UsageLimit) bool { return regexp.MustCompile(u.Pattern).MatchString(c.says) })
		if hit < 0 {
			t.Errorf("%s does not recognize %q", c.runner, c.says)
			continue
		}
		rule := all[c.runner].UsageLimits[hit]
		re := regexp.MustCompile(rule.Pattern)
		if i := re.SubexpIndex(c.group); c.group != "" && (i < 0 || re.FindStringSubmatch(c.says)[i] != c.value) {
			t.Errorf("%s: %q gives %q by %s", c.runner, c.says, re.FindStringSubmatch(c.says), rule.Pattern)
		}
		if c.group == "" && rule.After == 0 {
			t.Errorf("%s: nothing says how long after %q", c.runner, c.says)
		}
	}
}

// toolbox is a folder with stand-ins for vigil and the tools.
type toolbox struct {
	t               *testing.T
	bin, dir, files string
}

func newToolbox(t *testing.T) *toolbox {
	t.Helper()
	b := &toolbox{t: t, bin: t.TempDir(), dir: t.TempDir(), files: filepath.Join(t.TempDir(), "its files")}
	if err := os.Mkdir(b.files, 0o700); err != nil {
		t.Fatal(err)
	}
	// Gives one task, and then says that this life is superseded.
	b.put("vigil", `echo "vigil $*" >>"$BIN/calls"
case "$1 $2" in
"wait-for-task --start") test -e "$BIN/claimed" && exit 7; : >"$BIN/claimed"
	printf 'task %d, attempt 1, for room/role: title\n\nthe text\n' "$(cat "$BIN/task" 2>/dev/null || echo 1)" ;;
"task exec") shift 3; TRACEPARENT=traced exec "$@" ;;
"task complete") test -e "$BIN/refuse" && exit 7; cp "$a" "$BIN/result" ;;
esac`)
	return b
}

// put makes a stand-in. In $out it has the file that -o names, in $a its last argument.
func (b *toolbox) put(name, script string) {
	b.t.Helper()
	b.write(filepath.Join(b.bin, name), "#!/bin/sh\nout=/dev/null option=\n"+
		`for a in "$@"; do if [ "$option" = -o ]; then out=$a; fi; option=$a; done`+"\n"+script+"\n")
}

func (b *toolbox) write(path, text string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		b.t.Fatal(err)
	}
}

// next has the next life claim a task of this number, and forgets what was called.
func (b *toolbox) next(task string) {
	b.t.Helper()
	b.write(filepath.Join(b.bin, "task"), task)
	for _, file := range []string{"claimed", "calls", "result"} {
		if err := os.Remove(filepath.Join(b.bin, file)); err != nil && !errors.Is(err, os.ErrNotExist) {
			b.t.Fatal(err)
		}
	}
}

// run runs a shipped runner with a resume value and gives its exit code, what it
// printed, and the calls of vigil and the tools.
func (b *toolbox) run(name, resume string) (code int, out, calls, result string) {
	b.t.Helper()
	cmd := b.command(name, "", runner.Life{Agent: "room/role", Resume: resume, Files: b.files})
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(b.bin, file))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			b.t.Fatal(err)
		}
		return string(text)
	}
	if left, err := os.ReadDir(b.dir); err != nil || len(left) > 0 {
		b.t.Errorf("%s has left %v in the folder where it works, %v", name, left, err)
	}
	return cmd.ProcessState.ExitCode(), string(text), read("calls"), read("result")
}

// command is how agentd would start a life of a shipped runner that names this directory; "": none.
func (b *toolbox) command(name, directory string, life runner.Life) *exec.Cmd {
	b.t.Helper()
	r := examples(b.t)[name]
	r.Requires, r.Directory = nil, directory // the stand-ins are elsewhere
	set, err := runner.Compile([]runner.Runner{r}, runner.Host{})
	if err != nil {
		b.t.Fatal(err)
	}
	command, err := set.Command(name, life)
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(command.Path, command.Args...)
	cmd.Dir, cmd.Env = cmp.Or(command.Dir, b.dir), append(command.Env, "BIN="+b.bin, "PATH="+b.bin+":/usr/bin:/bin")
	return cmd
}

const conversation = "0198c6de-9d5f-7c5c-a54e-7b0e5b0d8f11"

// The shipped loops bring each task to the tool on standard input, in the trace of the task, its answer back,
// and the id of its conversation to the next life.
func TestRunnerExamplesWork(t *testing.T) {
	for _, c := range []struct {
		runner, tool, script, resume string
		want                         []string // in this order
	}{
		{"command", "wc", `echo "wc $*" >>"$BIN/calls"; cat`, "", []string{"wait-for-task", "wc -w", "task complete"}},
		{"claude-code", "claude", `echo "claude $*" >>"$BIN/calls"; cat`, "",
			[]string{"wait-for-task", "vigil remember ", "claude -p --session-id",
				"--permission-mode acceptEdits", "task complete", "vigil remember \n"}},
		{"claude-code", "claude", `echo "claude $*" >>"$BIN/calls"; cat`, conversation,
			[]string{"wait-for-task", "claude -p --resume " + conversation, "task complete", "vigil remember \n"}},
		{"codex", "codex",
			`echo "codex $*" >>"$BIN/calls"; cat >"$out"; echo '{"type":"thread.started","thread_id":"` +
				conversation + `"}'`, "",
			[]string{"wait-for-task", "codex exec", "-o ", "/result.txt -\n", "vigil remember " + conversation,
				"task complete", "vigil remember \n"}},
		{"codex", "codex",
			`echo "codex $*" >>"$BIN/calls"; cat >"$out"; echo '{"type":"thread.started","thread_id":"` +
				conversation + `"}'`, conversation,
			[]string{"wait-for-task", "codex exec", `sandbox_mode="workspace-write"`,
				"resume " + conversation + " -\n", "task complete"}},
		{"opencode", "opencode", `echo "opencode $*" >>"$BIN/calls"; cat`, "",
			[]string{"wait-for-task", "vigil remember begun",
				"opencode run --model anthropic/claude-sonnet-4-5\n", "task complete", "vigil remember \n"}},
		{"opencode", "opencode", `echo "opencode $*" >>"$BIN/calls"; cat`,
			"begun", []string{"wait-for-task", "--continue\n", "task complete"}},
		{"gemini-cli", "gemini", `echo "gemini $*" >>"$BIN/calls"; cat`, "",
			[]string{"wait-for-task", "vigil remember latest", "gemini --approval-mode auto_edit\n",
				"task complete", "vigil remember \n"}},
		{"gemini-cli", "gemini", `echo "gemini $*" >>"$BIN/calls"; cat`,
			"latest", []string{"wait-for-task", "--resume latest\n", "task complete"}},
	} {
		b := newToolbox(t)
		b.put(c.tool, `test "$TRACEPARENT" = traced || exit 99; `+c.script)
		for _, of := range []string{"conversation", "thread", "session"} { // an earlier life had the same task
			b.write(filepath.Join(b.files, of+"-of.txt"), "task 1\n")
		}
		code, out, calls, result := b.run(c.runner, c.resume)
		want := "task 1, attempt 1, for room/role: title\n\nthe text\n"
		if c.runner == "command" {
			want = "the text\n"
		}
		if code != 7 || result != want {
			t.Errorf("%s: exit code %d, result %q, output %q", c.runner, code, result, out)
		}
		rest := calls
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s with %q: no %q in its place among\n%s", c.runner, c.resume, want, calls)
				break
			}
			rest = after
		}
		if !strings.Contains(calls, "vigil task complete --task 1 --attempt 1 --unless-ended --result-file ") {
			t.Errorf("%s: the result is not said to be that of the task:\n%s", c.runner, calls)
		}
		if strings.Contains(calls, "the text") {
			t.Errorf("%s: the task is in the arguments:\n%s", c.runner, calls)
		}
	}
}

// A conversation is about one task: the next life goes on with it when it gets the same task again, and begins
// another one when it gets another. A result that is refused, since the task was taken away, ends it.
func TestConversationsAreGoneOnWithAtTheSameTask(t *testing.T) {
	const other = "11111111-2222-3333-4444-555555555555"
	for name, c := range map[string]struct{ tool, resume, again string }{
		"claude-code": {"claude", conversation, "--resume " + conversation},
		"codex":       {"codex", conversation, "resume " + conversation},
		"gemini-cli":  {"gemini", "latest", "--resume latest"},
		"opencode":    {"opencode", "begun", "--continue"},
	} {
		b := newToolbox(t)
		tool := func(thread, rest string) {
			b.put(c.tool, `echo "`+c.tool+` $*" >>"$BIN/calls"; echo '{"type":"thread.started","thread_id":"`+
				thread+`"}'; echo done >"$out"; `+rest)
		}
		tool(conversation, "exit 3")
		if code, out, calls, _ := b.run(name, ""); code != 3 || strings.Contains(calls, c.again) {
			t.Errorf("%s: the first life: code %d, %q\n%s", name, code, out, calls)
		}
		b.next("1")
		if code, out, calls, _ := b.run(name, c.resume); code != 3 || !strings.Contains(calls, c.again) {
			t.Errorf("%s: the same task after a crash: code %d, %q\n%s", name, code, out, calls)
		}
		b.next("2")
		tool(other, "exit 3")
		if code, out, calls, _ := b.run(name, c.resume); code != 3 || strings.Contains(calls, c.again) ||
			!strings.Contains(calls, c.tool+" ") {
			t.Errorf("%s: another task after a crash: code %d, %q\n%s", name, code, out, calls)
		}
		b.next("1")
		if _, out, calls, _ := b.run(name, c.resume); strings.Contains(calls, c.again) {
			t.Errorf("%s: the first task, when there is a newer conversation: %q\n%s", name, out, calls)
		}
		b.next("3")
		b.write(filepath.Join(b.bin, "refuse"), "")
		tool(conversation, "true")
		if code, out, calls, _ := b.run(name, ""); code != 7 || !strings.HasSuffix(calls, "vigil remember --best-effort \n") {
			t.Errorf("%s: a result that is refused: code %d, %q\n%s", name, code, out, calls)
		}
	}
}

// What a model says is no word of its tool: an agent whose task is about usage limits is not parked for that, also
// when its tool fails for another reason.
func TestRunnerExamplesKnowWhoSpeaksOfUsageLimits(t *testing.T) {
	const says = "usage limit reached|99999999999 You've hit your usage limit, try again in 3 hours; RESOURCE_EXHAUSTED: " +
		"retry in 60s, your quota will reset after 5h; the test wants 'Error: rate limit exceeded' of our API; " +
		"API Error: 529, Credit balance is too low, exceeded retry limit, last status: 429"
	for name, script := range map[string]string{
		"claude-code": "echo \"  $SAYS\"; exit 1",
		"codex": `echo '{"type":"thread.started","thread_id":"` + conversation + `"}'; ` +
			`echo "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"$SAYS\"}}"; exit 1`,
		"gemini-cli": `echo "[API Error: $SAYS"; echo "Error executing tool: $SAYS" >&2; exit 1`,
		"opencode": `echo "Error: $SAYS"; { echo "Error: $SAYS"; echo "| $SAYS"; echo 2; echo; ` +
			`echo "Error: no such model"; } >&2; exit 1`,
	} {
		b := newToolbox(t)
		tool, _, _ := strings.Cut(name, "-")
		b.put(tool, "SAYS='"+strings.ReplaceAll(says, "'", "")+"'\n"+script)
		code, out, _, _ := b.run(name, "")
		if code != 1 || !strings.Contains(out, "RESOURCE_EXHAUSTED") {
			t.Errorf("%s: exit code %d, output %q", name, code, out)
		}
		for _, u := range examples(t)[name].UsageLimits {
			if regexp.MustCompile(u.Pattern).MatchString(out) {
				t.Errorf("%s: out of quota by %s after\n%s", name, u.Pattern, out)
			}
		}
	}
}

// Tools were released that end well and say nothing. No answer is no result, and that to the task before, which stands
// in the same folder, is none at all: the attempt fails, what it said elsewhere can be seen, and the loop goes on.
func TestRunnerExamplesTakeNoSilenceForAnAnswer(t *testing.T) {
	for name, tool := range map[string]string{"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini",
		"opencode": "opencode"} {
		for _, says := range []string{"", ` \n\n\t\n`} {
			b := newToolbox(t)
			b.write(filepath.Join(b.files, "result.txt"), "the answer to the task before\n")
			b.put(tool, `printf '`+says+`'; echo 'a warning' >&2`)
			if name == "codex" { // which prints events, and writes what it says to a file, or no file
				b.put(tool, `echo '{"type":"thread.started","thread_id":"`+conversation+`"}'; echo 'a warning'`)
				if says != "" {
					b.put(tool, `echo '{"type":"thread.started","thread_id":"`+conversation+`"}'; echo 'a warning'
						printf '`+says+`' >"$out"`)
				}
			}
			code, out, calls, result := b.run(name, "")
			_, after, failed := strings.Cut(calls, "vigil task fail --task 1 --attempt 1 --unless-ended --retryable the tool said nothing")
			if !failed || strings.Contains(calls, "task complete") || result != "" || !strings.Contains(out, "a warning") {
				t.Errorf("%s that says %q: output %q, result %q, calls\n%s", name, says, out, result, calls)
			}
			if code != 7 || !strings.Contains(after, "vigil remember \n") || !strings.Contains(after, "wait-for-task") {
				t.Errorf("%s that says %q: code %d, the loop does not go on:\n%s", name, says, code, calls)
			}
		}
	}
	b := newToolbox(t) // of a plain command nothing may be right
	b.write(filepath.Join(b.files, "result.txt"), "the result of the task before\n")
	b.put("wc", "true")
	if code, out, calls, result := b.run("command", ""); code != 7 || result != "" ||
		!strings.Contains(calls, "task complete") {
		t.Errorf("a command that says nothing: code %d, output %q, result %q, calls\n%s", code, out, result, calls)
	}
}

// A tool that fails ends the life with its exit code, and what it said can be seen.
func TestRunnerExamplesFail(t *testing.T) {
	for name, tool := range map[string]string{"command": "wc", "claude-code": "claude", "codex": "codex",
		"opencode": "opencode", "gemini-cli": "gemini"} {
		b := newToolbox(t)
		b.put(tool, "echo 'out of quota'; exit 42")
		code, out, calls, _ := b.run(name, "")
		if code != 42 || !strings.Contains(out, "out of quota") || strings.Contains(calls, "task complete") {
			t.Errorf("%s: exit code %d, output %q, calls\n%s", name, code, out, calls)
		}
	}
	for says, gone := range map[string]bool{"No conversation found with session ID": true, "Prompt is too long": true,
		"the test says: Prompt is too long": false} {
		for _, to := range []string{"1", "2"} {
			b := newToolbox(t)
			b.write(filepath.Join(b.files, "conversation-of.txt"), "task 1\n")
			b.put("claude", "echo '"+says+"' >&"+to+"; exit 1")
			code, out, calls, _ := b.run("claude-code", conversation)
			if code != 1 || strings.Contains(calls, "vigil remember \n") != gone || !strings.Contains(out, says) {
				t.Errorf("after %q on %s: code %d, %q\n%s", says, to, code, out, calls)
			}
		}
	}
	b := newToolbox(t) // in a terminal
	b.put("claude",
		`echo "claude $*" >>"$BIN/calls"; echo "No conversation found with session ID: $VIGIL_RESUME" >&2; exit 1`)
	if code, out, calls, _ := b.run("claude-code-tmux", conversation); code != 1 ||
		!strings.Contains(calls, " --resume "+conversation+"\n") || !strings.HasSuffix(calls, "vigil remember \n") ||
		!strings.Contains(out, "No conversation found") {
		t.Errorf("a conversation that is gone is asked for again: code %d, output %q\n%s", code, out, calls)
	}
	for resume, says := range map[string]string{"": "No conversation found", conversation: "API Error"} {
		b := newToolbox(t)
		b.put("claude", `echo "claude $*" >>"$BIN/calls"; echo "`+says+`" >&2; exit 3`)
		if code, out, calls, _ := b.run("claude-code-tmux", resume); code != 3 || !strings.Contains(out, says) ||
			strings.Contains(calls, "vigil remember") || strings.Contains(calls, "--resume") != (resume != "") {
			t.Errorf("%q with %q: code %d, output %q\n%s", says, resume, code, out, calls)
		}
	}
	if err := os.Remove(filepath.Join(b.bin, "vigil")); err != nil {
		t.Fatal(err)
	}
	if code, out, _, _ := b.run("claude-code", ""); code != 127 {
		t.Errorf("without vigil: exit code %d, output %q", code, out)
	}
}

// Every mistake in a folder of runners has its place and its remedy.
func TestRunnerFileMistakes(t *testing.T) {
	const good = "name: a\nprogram: sh\n"
	for _, c := range []struct {
		files       map[string]string
		where, want string
	}{
		{map[string]string{"a.yaml": "name: a\nprogram: /no/such\n"},
			"a.yaml:2:10", "/no/such does not exist: install it"},
		{map[string]string{"a.yaml": "name: a\nprogram: no-such-program\n"}, "a.yaml:2:10", "say optional: true"},
		{map[string]string{"a.yaml": good + "requires: [sh, no-such-program]\n"}, "a.yaml:3:16", "was not found"},
		{map[string]string{"a.yaml": "name: a\nprogramm: sh\n"}, "a.yaml:2:1", `unknown key "programm"`},
		{map[string]string{"a.yaml": good + "limits:\n  memory_max: 2\n"}, "a.yaml:4:15", "such as 2GiB"},
		{map[string]string{"a.yaml": good + "limits: {memory: 1GiB}\n"}, "a.yaml:3:10", `unknown key "memory"`},
		{map[string]string{"a.yaml": good + "kind: screen\n"}, "a.yaml:3:7", "write exec or tmux"},
		{map[string]string{"a.yaml": good + "run_limit: 10000h\n"}, "a.yaml:3:12", "is not between"},
		{map[string]string{"a.yaml": good + "usage_limit:\n  - {after: 1h}\n"}, "a.yaml:4:6", "every exit would be"},
		{map[string]string{"a.yaml": good + "usage_limit:\n  - {exit_code: 256}\n"}, "a.yaml:4:17", "no exit code"},
		{map[string]string{"a.yaml": good + "usage_limit:\n  - {pattern: '('}\n"}, "a.yaml:4:15", "missing closing"},
		{map[string]string{"a.yaml": good + "usage_limit:\n  - {pattern: '(?P<days>.)'}\n"},
			"a.yaml:4:15", "seconds, minutes, hours, at"},
		{map[string]string{"a.yaml": good + "usage_limit:\n  - {exit_code: 1, after: 25h}\n"}, "a.yaml:4:27", "24h"},
		{map[string]string{"a.yaml": good + "fresh_args: ['${VIGIL_RESUME}']\n"},
			"a.yaml:3:14", "move it to resume_args"},
		{map[string]string{"a.yaml": good + "resume_args: ['${VIGIL_TOKEN}']\n"}, "a.yaml:3:15", "list of processes"},
		{map[string]string{"a.yaml": good + "resume_pattern: x\n"}, "a.yaml:3:17", "no argument holds"},
		{map[string]string{"a.yaml": good + "args: ['${VIGIL_RESUME}']\nresume_pattern: '('\n"},
			"a.yaml:4:17", "missing closing"},
		{map[string]string{"a.yaml": good, "b.yml": "program: sh\nname: a\n"},
			"b.yml:2:7", `"a" is declared twice, first in`},
		{map[string]string{"a.yaml": "- " + strings.ReplaceAll(good, "\n", "\n  ")}, "a.yaml:1:1", "without a dash"},
		{map[string]string{"a.yaml": good + "---\n" + good}, "a.yaml:", "one runner"},
		{map[string]string{"a.yaml": "# nothing\n"}, "a.yaml:1:1", "the file is empty"},
		{map[string]string{"a.yaml": good + "x: [\n"}, "a.yaml:", ""},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if code, errs := checkAgentdWith(t, dir); code != cli.ExitFailed ||
			!strings.Contains(errs, filepath.Join(dir, c.where)) || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d, want %q at %s, got\n%s", c.files, code, c.want, c.where, errs)
		}
	}
}

// checkAgentdWith checks agentd with a folder of runners in which something is wrong.
func checkAgentdWith(t *testing.T, runners string) (code int, errs string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	f := DefaultAgentd()
	f.RunnersDir, f.dirByFlag, f.DataDir = runners, true, data
	wrong, _ := f.Inspect()
	var lines []string
	for _, err := range wrong {
		code = cli.ExitFailed
		lines = append(lines, InOneLine(err))
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: the data directory was made", runners)
	}
	return code, strings.Join(lines, "\n")
}

// Nobody but their owner may say what runs on a host.
func TestRunnersThatAnybodyMayChangeAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte("name: a\nprogram: sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, dir} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
		if code, errs := checkAgentdWith(t, dir); code != cli.ExitFailed || !strings.Contains(errs, "chmod o-w "+path) {
			t.Errorf("exit code %d: %s", code, errs)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if code, errs := checkAgentdWith(t, file); code != cli.ExitFailed || !strings.Contains(errs, "is not a folder") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, errs := checkAgentdWith(t, dir+"/none"); code != cli.ExitFailed ||
		!strings.Contains(errs, "correct runners_dir") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if err := os.Mkdir(filepath.Join(dir, "b.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, errs := checkAgentdWith(t, dir); code != cli.ExitFailed || !strings.Contains(errs, "is not a file") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// The folder beside the configuration is read when there is one; a key is relative to
// the configuration, a flag to the current folder. The list comes first.
func TestRunnersFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agentd.yaml":       "runners:\n  - {name: listed, program: sh}\n",
		"other.yaml":        "runners_dir: more\n",
		"runners.d/b.yaml":  "name: b\nprogram: sh\n",
		"runners.d/a.yml":   "name: a\nprogram: sh\n",
		"runners.d/.c.yaml": "nonsense\n",
		"runners.d/README":  "nonsense\n",
		"more/d.yaml":       "name: d\nprogram: sh\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		config, flag string
		want         []string
	}{
		{"agentd.yaml", "", []string{"listed", "a", "b"}},
		{"other.yaml", "", []string{"d"}},
		{"other.yaml", "runners.d", []string{"a", "b"}},
		{"", "", nil},
	} {
		t.Chdir(dir)
		f := DefaultAgentd()
		if c.config != "" {
			var err error
			if f, err = ReadAgentd(filepath.Join(dir, c.config)); err != nil {
				t.Fatal(err)
			}
		}
		f.Override(&Agentd{RunnersDir: c.flag}, func(flag string) bool { return flag == "runners-dir" && c.flag != "" })
		if err := f.ReadRunners(); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range f.runners() {
			names = append(names, r.Name)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%+v: %q", c, names)
		}
	}
}
