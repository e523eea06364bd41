package conf

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vigil/agentd/runner"
)

// parkedBy gives the rule of a shipped runner by which an agent is parked whose tool has failed and printed this, as
// agentd looks for it; nil: none, the end is a crash.
func parkedBy(all map[string]runner.Runner, name, out string) *runner.UsageLimit {
	for _, u := range all[name].UsageLimits {
		if regexp.MustCompile(u.Pattern).MatchString(out) {
			return &u
		}
	}
	return nil
}

// errorPage is what a gateway says instead of the API.
const errorPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
	"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"

// claudeSays are errors of Claude Code that park its agent: by when (the group "at" of the rule) or for how long.
var claudeSays = []struct {
	says, at string
	after    time.Duration
}{
	{"Claude AI usage limit reached|1750708800", "1750708800", time.Hour},
	{"Claude usage limit reached. Your limit will reset at 3pm (America/Lima).", "3pm", time.Hour},
	{"You've hit your limit · resets 1pm (Europe/Lisbon)", "1pm", time.Hour},
	{"You've hit your session limit · resets 12:50am (America/Los_Angeles)", "12:50am", time.Hour},
	{"You’ve hit your weekly limit · resets Sep 18 at 3am (UTC)", "Sep 18 at 3am", time.Hour},
	{"You've hit your weekly limit · resets Mon 12:00am", "Mon 12:00am", time.Hour},
	{"You've hit your org's monthly usage limit", "", time.Hour},
	{"You've hit your monthly spend limit · raise it in the settings", "", time.Hour},
	{"You've reached your Fable 5 limit. Run /usage-credits to continue or switch models with /model", "", time.Hour},
	{"You're out of extra usage · resets 7pm (Europe/Berlin)", "7pm", time.Hour},
	{"You’re out of extra usage · resets Feb 4, 8pm (Europe/Budapest)", "Feb 4, 8pm", time.Hour},
	{"You're out of extra usage. Please retry later.", "", time.Hour},
	{"5-hour limit reached ∙ resets 3pm\n     /upgrade to increase your usage limit.", "3pm", time.Hour},
	{"Opus weekly limit reached ∙ resets Oct 6, 1pm", "Oct 6, 1pm", time.Hour},
	{"API Error: Rate limit reached", "", 2 * time.Minute},
	{"API Error: Request rejected (429) · this may be a temporary capacity issue.", "", 2 * time.Minute},
	{"API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited", "", 2 * time.Minute},
	{"API Error: Unable to connect to API (ECONNREFUSED)", "", 2 * time.Minute},
	{"API Error: Connection closed mid-response. The response above may be incomplete.", "", 2 * time.Minute},
	{"API Error: Response stalled mid-stream. The response above may be incomplete.", "", 2 * time.Minute},
	{"API Error: 529 Overloaded", "", 2 * time.Minute},
	{"API Error: 502 " + errorPage, "", 2 * time.Minute},
	{"Request timed out", "", 2 * time.Minute},
	{"Login expired · Please run /login", "", 15 * time.Minute},
	{"OAuth token revoked · Please run /login", "", 15 * time.Minute},
	{"Please run /login · API Error: 401 authentication_error", "", 15 * time.Minute},
	{"Failed to authenticate: OAuth session expired and could not be refreshed", "", 15 * time.Minute},
	{"Invalid API key · Fix external API key", "", 15 * time.Minute},
	{"Credit balance is too low", "", 15 * time.Minute},
}

// modelsSay are answers that speak of such errors. Each is one, and parks nobody when the tool fails after it, too.
var modelsSay = []string{
	"The log has `API Error: Rate limit reached` three times: the client does not wait between its requests.",
	"- You've hit your limit · resets 1pm is shown when the quota is used up",
	"> You're out of extra usage · resets 7pm (Europe/Berlin)",
	"You've hit your limit of three retries per request, so the fourth is refused.",
	"You've reached your daily limit. Upgrade to continue.",
	"You're out of luck: usage of the old API ends in May.",
	"Rate limit reached is what the server answers now.",
	"The weekly limit reached production today.",
	"Speed limit reached",
	"Invalid API keys are refused with 401 now, and the test shows it.",
	"Please run /login once in the container, then start the tests.",
	"Credit balances are rounded down.",
	"Request timed out after 30 s in 2 of 40 tests; the others pass.",
	"Done. Login expired sessions are removed; the page says: Please run /login.",
}

// Claude Code has printed errors in the place of the answer and ended with 0: the task is not done with that, and the
// agent is parked as after a failing exit.
func TestRunnerExamplesTakeNoErrorForAnAnswer(t *testing.T) {
	all := examples(t)
	for _, c := range claudeSays {
		b := newToolbox(t)
		b.write(filepath.Join(b.bin, "says"), c.says+"\n")
		b.put("claude", `cat "$BIN/says"`)
		code, out, calls, result := b.run("claude-code", "")
		if code != 1 || strings.Contains(calls, "task complete") || result != "" ||
			parkedBy(all, "claude-code", out) == nil {
			t.Errorf("%q with exit code 0: code %d, result %q, output %q, calls\n%s", c.says, code, result, out, calls)
		}
	}
	for _, says := range append([]string{
		"API Error: 529 is what the log shows at noon.\nIt follows three lines of the proxy:\n\none\ntwo",
		strings.Join(modelsSay, "\n") + "\nAPI Error: Rate limit reached",
		errorPage,
	}, modelsSay...) {
		b := newToolbox(t)
		b.write(filepath.Join(b.bin, "says"), says+"\n")
		b.put("claude", `cat "$BIN/says"`)
		if code, out, calls, result := b.run("claude-code", ""); code != 7 || result != says+"\n" {
			t.Errorf("the answer %q: code %d, result %q, output %q, calls\n%s", says, code, result, out, calls)
		}
	}
	b := newToolbox(t) // no outage: a crash, after which the conversation is another one
	b.put("claude", "echo 'Prompt is too long'")
	if code, out, calls, result := b.run("claude-code", ""); code != 1 || result != "" ||
		!strings.HasSuffix(calls, "vigil remember \n") || parkedBy(all, "claude-code", out) != nil {
		t.Errorf("a conversation that is too long: code %d, result %q, output %q, calls\n%s", code, result, out, calls)
	}
}

// The other tools say elsewhere that they have failed, and have ended with 0 after that, too.
func TestRunnerExamplesBelieveTheToolsThatTheyHaveFailed(t *testing.T) {
	all := examples(t)
	const began = `echo '{"type":"thread.started","thread_id":"` + conversation + `"}'; `
	const refused = `echo '[API Error: {"error": {"status": "RESOURCE_EXHAUSTED"}}]' >&2; `
	const red = `printf '\033[91m\033[1mError: \033[0m`
	for _, c := range []struct {
		runner, says string
		failed       bool
	}{
		{"codex", began + `echo '{"type":"turn.failed","error":{"message":"You have hit your usage limit."}}'`, true},
		{"codex", began + `echo half >"$out"
			echo '{"type":"turn.failed","error":{"message":"Selected model is at capacity. Try another."}}'`, true},
		{"codex", began + `echo done >"$out"; echo '{"type":"error","message":"Reconnecting... 1/5"}'
			echo '{"type":"item.completed","item":{"text":"{\"type\":\"turn.failed\"}"}}'
			echo '{"type":"turn.completed"}'`, false},
		{"gemini-cli", refused, true},
		{"gemini-cli", refused + "printf 'Attempt 1 failed.\\na\\nb\\n' >&2; echo done", false}, // it has tried again
		{"gemini-cli", "echo half; " + refused, true},
		{"gemini-cli", "echo half; echo 'Error when talking to Gemini API Full report available at: /x.json' >&2", true},
		{"gemini-cli", refused + "printf 'at a\\nat b\\nat c\\nat d\\n' >&2", true}, // nothing is no answer
		{"gemini-cli", "echo 'The log says: Error when talking to Gemini API' >&2; echo done", false},
		{"opencode", red + `Rate limit exceeded\n' >&2`, true},
		{"opencode", `echo half; echo '→ Read a.go' >&2; ` + red + `AI_APICallError: quota exceeded\n' >&2`, true},
		{"opencode", red + `File not found\n' >&2; echo done`, false}, // one of its own commands
		{"opencode", `printf 'Error: rate limit exceeded\n\033[31mError: usage limit\n' >&2; echo done`, false},
	} {
		b := newToolbox(t)
		tool, _, _ := strings.Cut(c.runner, "-")
		b.put(tool, c.says)
		code, out, calls, result := b.run(c.runner, "")
		switch {
		case !c.failed && (code != 7 || result != "done\n"):
			t.Errorf("%s, an answer by %s: code %d, result %q, output %q, calls\n%s",
				c.runner, c.says, code, result, out, calls)
		case c.failed && (code != 1 || strings.Contains(calls, "task complete") ||
			strings.Contains(calls, "vigil task fail --") || parkedBy(all, c.runner, out) == nil):
			t.Errorf("%s after %s: code %d, output %q, calls\n%s", c.runner, c.says, code, out, calls)
		}
	}
}

// What Claude Code says of limits, outages and logins parks its agent, until the time that it names. What a model
// writes of them does not.
func TestClaudeCodeIsParkedByItsOwnWordsOnly(t *testing.T) {
	all := examples(t)
	for _, c := range claudeSays {
		u := parkedBy(all, "claude-code", "before\n"+c.says+"\nafter\n")
		if u == nil {
			t.Errorf("%q is not recognized", c.says)
			continue
		}
		at := ""
		re := regexp.MustCompile(u.Pattern)
		if i := re.SubexpIndex("at"); i >= 0 {
			at = re.FindStringSubmatch(c.says)[i]
		}
		if at != c.at || u.After != c.after {
			t.Errorf("%q parks until %q, or for %s; want %q, %s", c.says, at, u.After, c.at, c.after)
		}
	}
	for _, says := range append([]string{
		"  API Error: Rate limit reached", "| You've hit your limit · resets 1pm", "API Errors: 529",
		"API Error: 400 invalid_request_error", "the API Error: Unable to connect to API (ECONNREFUSED)",
	}, modelsSay...) {
		if u := parkedBy(all, "claude-code", "before\n"+says+"\nafter\n"); u != nil {
			t.Errorf("%q parks by %s", says, u.Pattern)
		}
	}
}

// What Codex says of logins, accounts and broken connections parks its agent. What it says while it tries again is no
// end, and what its model and its commands say is not its own.
func TestCodexIsParkedForLoginsAndConnections(t *testing.T) {
	all := examples(t)
	for says, after := range map[string]time.Duration{
		`{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Missing bearer"}}`:          15 * time.Minute,
		`{"type":"error","message":"Your access token could not be refreshed. Please log out and sign in again."}`: 15 * time.Minute,
		`ERROR: Your access token could not be refreshed because your refresh token was already used.`:             15 * time.Minute,
		`{"type":"turn.failed","error":{"message":"Your session has ended. Log out and sign in again."}}`:          15 * time.Minute,
		`{"type":"turn.failed","error":{"message":"Your workspace is out of credits."}}`:                           15 * time.Minute,
		`{"type":"turn.failed","error":{"message":"stream disconnected before completion: error sending"}}`:        2 * time.Minute,
		`{"type":"error","message":"stream disconnected before completion: An error occurred"}`:                    2 * time.Minute,
		`ERROR: error sending request for url (https://example.org/responses)`:                                     2 * time.Minute,
		`{"type":"turn.failed","error":{"message":"stream disconnected: You've hit your usage limit."}}`:           time.Hour,
		`{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion: x)"}`:              0,
		// a thread that is too long is no outage
		`{"type":"error","message":"stream disconnected before completion: Your input exceeds the context window"}`: 0,
		`{"type":"item.completed","item":{"text":"401 Unauthorized, stream disconnected before completion"}}`:       0,
		`the log: ERROR: 401 Unauthorized`: 0,
	} {
		u := parkedBy(all, "codex", "before\n"+says+"\nafter\n")
		if (u != nil) != (after != 0) || u != nil && u.After != after {
			t.Errorf("%s parks by %+v, want %s", says, u, after)
		}
	}
}

// In its terminal the same words stand behind a mark, or in a menu; a text about them is none.
func TestClaudeCodeShowsItsLimitsInATerminal(t *testing.T) {
	prompts, err := runner.CompilePrompts(examples(t)["claude-code-tmux"].Prompts)
	if err != nil {
		t.Fatal(err)
	}
	box := strings.Repeat("─", 80)
	idle := "\n" + box + "\n❯ \n" + box + "\n  ? for shortcuts"
	menu := "❯ /rate-limit-options\n" + box + "\n What do you want to do?\n\n"
	const ask = "\n Enter to confirm · Esc to cancel"
	for screen, want := range map[string]string{
		"● You're out of extra usage · resets 7pm (Europe/Berlin)" + idle: "usage_limit",
		"  ⎿\u00a0 You’ve hit your session limit · resets 4:20am (Europe/Warsaw)\n" +
			"     /upgrade to go on." + idle: "usage_limit",
		"  ⎿  Session limit reached ∙ resets 9:30pm" + idle:                          "usage_limit",
		"⏺ You've reached your Fable 5 limit. Run /usage-credits to continue" + idle: "usage_limit",
		"Claude usage limit reached. Your limit will reset at 3pm." + idle:           "usage_limit",
		menu + " ❯ 1. Stop and wait for limit to reset\n   2. Request more\n" + ask:  "usage_limit",
		menu + " ❯ 1. Upgrade your plan\n   2. Stop and wait for limit to reset\n" +
			ask: "usage_limit",
		"● Login expired · Please run /login" + idle:                               "error",
		"● API Error: Rate limit reached" + idle:                                   "error",
		"● Say \"You've hit your limit · resets 1pm\" there." + idle:               "idle",
		"● The menu has these lines:\n  - Stop and wait for limit to reset" + idle: "idle",
		"● You've hit your limit of three retries, so the fourth fails." + idle:    "idle",
		"● Its message is now: usage limit reached, try again later" + idle:        "idle",
	} {
		m, ok := prompts.Match(runner.Tidy(screen))
		if got := map[bool]string{true: m.Kind}[ok]; got != want {
			t.Errorf("%q is taken for %q by rule %d, want %q", screen, got, m.Rule, want)
		}
		if strings.HasSuffix(screen, ask) && !runner.Chooses(runner.Tidy(screen)) {
			t.Errorf("a nudge would be typed into %q", screen)
		}
	}
}

// Claude Code denies what nobody has allowed, says so, and ends with 0. That is no result: its model can give the task
// up itself, and what it asks for in the place of an answer is told to people.
func TestClaudeCodeTakesNoRefusalForAnAnswer(t *testing.T) {
	for says, asks := range map[string]bool{
		"I need your permission to run `make test`. Please approve it.\nThen I go on.\n\n\n\n": true,
		"I need permission to use the Bash tool.":                                              true,
		"I’ll need your approval for the write to main.go — ünï.":                              true,
		"I still need permission to push.":                                                     true,
		"Done. I need permission to push next time.":                                           false,
		"The page says: I need your permission to use cookies.":                                false,
		"I need to say that the permission table is empty.":                                    false,
	} {
		b := newToolbox(t)
		b.write(filepath.Join(b.bin, "says"), says+"\n")
		b.put("claude", `cat "$BIN/says"`)
		code, out, calls, result := b.run("claude-code", "")
		_, after, failed := strings.Cut(calls, "vigil task fail --task 1 --attempt 1 --unless-ended it asks for a permission, "+
			"and nobody is there to give one: I")
		if code != 7 || failed != asks || (result == "") != asks || asks && (!strings.Contains(out, "| I") ||
			!strings.Contains(after, "vigil remember \n") || !strings.Contains(after, "wait-for-task")) {
			t.Errorf("%q: code %d, result %q, output %q, calls\n%s", says, code, result, out, calls)
		}
		if !utf8.ValidString(calls) {
			t.Errorf("the reason is no text: %q", calls)
		}
	}
	b := newToolbox(t)
	b.put("claude", `printf '%s\n' "$@" >>"$BIN/calls"; echo done`)
	_, out, calls, _ := b.run("claude-code", "")
	for _, want := range []string{"--allowedTools\nBash(vigil task fail:*)\n", "\n--append-system-prompt\nNobody is there",
		"run `vigil task fail \"why\"` and stop"} {
		if !strings.Contains(calls, want) {
			t.Errorf("no %q in\n%s%s", want, calls, out)
		}
	}
}

// The keys and tokens of Claude Code stand in files of the agent's own.
func TestClaudeCodeGetsItsTokensFromFiles(t *testing.T) {
	b := newToolbox(t)
	for _, file := range []string{"key", "token"} {
		b.write(filepath.Join(b.bin, file), "the "+file+"\n")
	}
	b.put("claude", `echo "$ANTHROPIC_API_KEY, $CLAUDE_CODE_OAUTH_TOKEN"`)
	for _, c := range []struct{ variable, file, want string }{{"", "", ", \n"},
		{"ANTHROPIC_KEY_FILE", "key", "the key, \n"}, {"CLAUDE_OAUTH_FILE", "token", ", the token\n"}} {
		b.next("1")
		cmd := b.command("claude-code", "", runner.Life{Agent: "room/role", Files: b.files})
		if c.variable != "" {
			cmd.Env = append(cmd.Env, c.variable+"="+filepath.Join(b.bin, c.file))
		}
		out, _ := cmd.CombinedOutput() // it ends when it asks for another task
		if result, err := os.ReadFile(filepath.Join(b.bin, "result")); err != nil || string(result) != c.want {
			t.Errorf("%s: the result is %q, %v; output %s", c.variable, result, err, out)
		}
	}
	cmd := b.command("claude-code", "", runner.Life{Agent: "room/role", Files: b.files})
	b.next("1")
	cmd.Env = append(cmd.Env, "CLAUDE_OAUTH_FILE="+filepath.Join(b.bin, "none"))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "none") {
		t.Errorf("without its token: %v, %s", err, out)
	}
	if calls, err := os.ReadFile(filepath.Join(b.bin, "calls")); err == nil {
		t.Errorf("without its token it has taken a task:\n%s", calls)
	}
}

// Claude Code kills what a turn has left in the background when the turn ends, so the shipped runner has it run all in
// the foreground, for long.
func TestClaudeCodeRunsNothingInTheBackground(t *testing.T) {
	b := newToolbox(t)
	b.put("claude", `echo "$CLAUDE_CODE_DISABLE_BACKGROUND_TASKS $BASH_DEFAULT_TIMEOUT_MS $BASH_MAX_TIMEOUT_MS"`)
	if code, out, _, result := b.run("claude-code", ""); code != 7 || result != "1 1800000 7200000\n" {
		t.Errorf("exit code %d, output %q: what it is told is %q", code, out, result)
	}
}
