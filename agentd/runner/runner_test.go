package runner

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/agentd/proc"
	"vigil/agentd/shim"
	"vigil/agentd/tmux"
)

func ptr(s string) *string { return &s }

func TestCompileNamesEachFault(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	open := filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{plain: 0o644, open: 0o777} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		field, want string
		r           Runner
	}{
		{"name", "is not a name", Runner{Name: "A b"}},
		{"program", "no program is named", Runner{}},
		{"program", "does not exist", Runner{Program: filepath.Join(dir, "none")}},
		{"program", "was not found in /usr/local/sbin", Runner{Program: "no-such-program-here"}},
		{"program", "depends on the current folder", Runner{Program: "./sh"}},
		{"program", "cannot be executed", Runner{Program: plain}},
		{"program", "anybody on this host could replace it", Runner{Program: open}},
		{"program", "is not a file", Runner{Program: dir}},
		{"directory", "depends on the current folder", Runner{Directory: "x"}},
		{"directory", "does not exist", Runner{Directory: filepath.Join(dir, "none")}},
		{"directory", "is not a folder", Runner{Directory: plain}},
		{"user", "there is no user", Runner{User: "no-such-user-here"}},
		{"env.A B", "not the name of a variable", Runner{Env: map[string]string{"A B": ""}}},
		{"env.VIGIL_X", "belongs to vigil", Runner{Env: map[string]string{"VIGIL_X": ""}}},
		{"env_allow[1]", "belongs to vigil", Runner{EnvAllow: []string{"PATH", "VIGIL_TOKEN"}}},
		{"stop_grace", "is negative", Runner{StopGrace: -1}},
		{"args[0]", "has no end", Runner{Args: []string{"${VIGIL_ROOM"}}},
		{"args[1]", "is not declared", Runner{Args: []string{"x", "${param.model}"}}},
		{"args[0]", "list of processes", Runner{Args: []string{"--token=${VIGIL_TOKEN}"}}},
		{"args[0]", "${HOME} is unknown", Runner{Args: []string{"${HOME}"}}},
		{"kind", "is no kind of runner", Runner{Kind: "screen"}},
		{"run_limit", "is not between", Runner{RunLimit: -1}},
		{"requires[1]", "was not found", Runner{Requires: []string{"sh", "no-such-program-here"}}},
		{"requires[0]", "cannot be executed", Runner{Requires: []string{plain}, Optional: true}},
		{"limits.memory_max", "no program runs", Runner{Limits: proc.Limits{Memory: 512}}},
		{"resume_args[0]", "${HOME} is unknown", Runner{ResumeArgs: []string{"${HOME}"}}},
		{"fresh_args[1]", "without a resume value", Runner{FreshArgs: []string{"x", "${VIGIL_RESUME}"}}},
		{"resume_pattern", "missing closing", Runner{Args: []string{"${VIGIL_RESUME}"}, ResumePattern: "("}},
		{"resume_pattern", "no argument holds", Runner{ResumePattern: "x"}},
		{"usage_limit[0]", "every exit", Runner{UsageLimits: []UsageLimit{{After: 1}}}},
		{"usage_limit[1].exit_code", "no exit code", Runner{UsageLimits: []UsageLimit{{Code: 1}, {Code: 256}}}},
		{"usage_limit[0].pattern", "missing closing", Runner{UsageLimits: []UsageLimit{{Pattern: "("}}}},
		{"usage_limit[0].pattern", "says nothing", Runner{UsageLimits: []UsageLimit{{Pattern: "(?P<days>.)"}}}},
		{"usage_limit[0].after", "is not between",
			Runner{UsageLimits: []UsageLimit{{Code: 1, After: MaxRetryAfter + 1}}}},
		{"prompts[0].kind", "is no kind of prompt", Runner{Prompts: []Prompt{{Kind: "question", Pattern: "x"}}}},
		{"prompts[1].pattern", "missing closing",
			Runner{Prompts: []Prompt{{Kind: "idle", Pattern: "x"}, {Kind: "idle", Pattern: "("}}}},
		{"prompts[0].pattern", "fits an empty terminal", Runner{Prompts: []Prompt{{Kind: "idle", Pattern: "x*"}}}},
		{"prompts[0].pattern", "fits an empty terminal", Runner{Prompts: []Prompt{{Kind: "idle"}}}},
		{"prompts[0].lines", "51 lines are not", Runner{Prompts: []Prompt{{Kind: "idle", Pattern: "x", Lines: 51}}}},
		{"params.m.pattern", "missing closing", Runner{Params: map[string]Param{"m": {Pattern: "("}}}},
		{"params.m.default", "does not match", Runner{Params: map[string]Param{"m": {Default: ptr("--evil")}}}},
	} {
		if c.r.Name == "" {
			c.r.Name = "a"
		}
		if c.r.Program == "" && c.field != "program" {
			c.r.Program = "sh"
		}
		_, err := compile([]Runner{c.r}, "")
		var faults Faults
		if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Place() != "runners[0]."+c.field ||
			!strings.Contains(faults[0].Problem, c.want) || faults[0].Remedy == "" {
			t.Errorf("%s %q: %v", c.field, c.want, err)
		}
	}
	for from, want := range map[string]string{"": "runners[0]", "a.yaml:3": "a.yaml:3"} {
		if _, err := compile([]Runner{{Name: "a", Program: "sh", From: from}, {Name: "a", Program: "sh"}},
			""); err == nil ||
			!strings.Contains(err.Error(), `runners[1].name: "a" is declared twice, first in `+want+";") {
			t.Errorf("twice: %v", err)
		}
	}
}

// A tool that is not installed costs its own runner, not the host.
func TestOptionalRunners(t *testing.T) {
	set, err := compile([]Runner{
		{Name: "here", Program: "sh", Optional: true},
		{Name: "gone", Program: "no-such-program-here", Optional: true},
		{Name: "away", Program: filepath.Join(t.TempDir(), "none"), Optional: true},
		{Name: "half", Program: "sh", Requires: []string{"no-such-program-here"}, Optional: true},
	}, "")
	if err != nil || !slices.Equal(set.Names(), []string{"here"}) {
		t.Fatalf("offered are %q, %v", set.Names(), err)
	}
	warnings := set.Warnings()
	for i, name := range []string{"gone", "away", "half"} {
		if len(warnings) != 3 || !strings.HasPrefix(warnings[i], "runner "+name+" is not offered: ") ||
			!strings.HasSuffix(warnings[i], "; install it") {
			t.Fatalf("warnings %q", warnings)
		}
	}
	if _, err := set.Command("gone", Life{}); err == nil {
		t.Error("a runner that is not offered gave a command")
	}
}

// The resume value of an agent, which it has chosen itself, becomes an argument only
// when it looks like one of its tool.
func TestResume(t *testing.T) {
	set, err := compile([]Runner{
		{Name: "a", Program: "sh", Args: []string{"x"}, ResumeArgs: []string{"--resume", "${VIGIL_RESUME}"},
			FreshArgs: []string{"--new"}},
		{Name: "strict", Program: "sh", Args: []string{"${VIGIL_RESUME}"}, ResumePattern: "[0-9]*"},
		{Name: "env", Program: "sh"},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		runner, resume string
		want           []string // nil: refused
	}{
		{"a", "", []string{"x", "--new"}},
		{"a", "id-1", []string{"x", "--resume", "id-1"}},
		{"a", "--dangerous", nil},
		{"a", "id\n2", nil},
		{"strict", "", []string{""}},
		{"strict", "12", []string{"12"}},
		{"strict", "x", nil},
		{"env", "--anything at all", []string{}},
		{"env", "zero\x00", nil},
	} {
		command, err := set.Command(c.runner, Life{Agent: "room/role", Resume: c.resume})
		switch {
		case c.want == nil && err == nil:
			t.Errorf("%s: %q was accepted", c.runner, c.resume)
		case c.want == nil && c.runner != "env" &&
			!strings.Contains(err.Error(), "vigil agent start room/role --fresh"):
			t.Errorf("%s: no remedy in %v", c.runner, err)
		case c.want != nil && (err != nil || !slices.Equal(command.Args, c.want)):
			t.Errorf("%s with %q: %q, %v", c.runner, c.resume, command.Args, err)
		case c.want != nil && !slices.Contains(command.Env, "VIGIL_RESUME="+c.resume):
			t.Errorf("%s: environment %q", c.runner, command.Env)
		}
	}
}

// What a runner says about the life as a whole reaches the shim.
func TestCommandOfALife(t *testing.T) {
	limit := UsageLimit{Code: 75, Pattern: "wait (?P<minutes>[0-9]+)", After: time.Hour}
	set, err := compile([]Runner{
		{Name: "plain", Program: "sh"},
		{Name: "full", Program: "sh", Kind: KindTmux, PTY: true, RunLimit: time.Minute,
			UsageLimits: []UsageLimit{limit},
			Limits:      proc.Limits{Memory: 1 << 30, Pids: 9}},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := set.Command("plain", Life{})
	if err != nil || plain.Kind != KindExec || plain.PTY || plain.RunLimit != 0 || plain.Usage != nil {
		t.Errorf("%+v, %v", plain, err)
	}
	full, err := set.Command("full", Life{})
	if err != nil || full.Kind != KindTmux || !full.PTY || full.RunLimit != time.Minute || full.Limits.Pids != 9 ||
		!slices.Equal(full.Usage, []shim.UsageRule{{Code: 75, Pattern: limit.Pattern, After: time.Hour}}) {
		t.Errorf("%+v, %v", full, err)
	}
	// Where there is no tmux the host says so.
	if _, err := tmux.Find(); (err == nil) != (len(set.Warnings()) == 0) {
		t.Errorf("tmux: %v, warnings %q", err, set.Warnings())
	}
}

func TestCommand(t *testing.T) {
	t.Setenv("HOME", "/home/x")
	t.Setenv("LET_IN", "yes")
	t.Setenv("KEPT_OUT", "no")
	set, err := compile([]Runner{{Name: "a", Program: "sh", EnvAllow: []string{"LET_IN"},
		Env: map[string]string{"FIXED": "1"}, Args: []string{"-c", "${param.what}",
			"a${VIGIL_ROLE}b${VIGIL_AGENT}", "$${VIGIL_ROOM}", "$x", "${param.tone}", "${VIGIL_FILES}/x"},
		Params: map[string]Param{"what": {Pattern: ".*"}, "tone": {Default: ptr("calm")}}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	life := Life{Room: "demo", Role: "r", Agent: "demo/r", Files: "/its files",
		Params: map[string]string{"what": "rm -rf / ; $(x) ${VIGIL_ROOM}"}}
	c, err := set.Command("a", life)
	if err != nil {
		t.Fatal(err)
	}
	// A value is one argument, whatever it holds, and is not looked into again.
	want := []string{"-c", "rm -rf / ; $(x) ${VIGIL_ROOM}", "arbdemo/r", "${VIGIL_ROOM}", "$x", "calm", "/its files/x"}
	if !slices.Equal(c.Args, want) {
		t.Errorf("arguments %q, want %q", c.Args, want)
	}
	wantEnv := []string{"FIXED=1", "LET_IN=yes", "VIGIL_ADDR=", "VIGIL_AGENT=demo/r",
		"VIGIL_FILES=/its files", "VIGIL_INCARNATION=", "VIGIL_RESUME=", "VIGIL_ROLE=r", "VIGIL_ROOM=demo"}
	// Those of the account, which root must name, come too.
	c.Env = slices.DeleteFunc(c.Env, func(v string) bool {
		return SameUser() != "" && slices.Contains([]string{"HOME=/root", "LOGNAME=root", "USER=root"}, v)
	})
	if !slices.Equal(c.Env, wantEnv) {
		t.Errorf("environment %q, want %q", c.Env, wantEnv)
	}
	for _, bad := range []map[string]string{
		{},
		{"what": "x", "other": "y"},
		{"what": "x", "tone": "--option"},
		{"what": "x", "tone": "a b"},
		{"what": "two\nlines"},
		{"what": "zero\x00"},
		{"what": strings.Repeat("x", MaxValue+1)},
	} {
		life.Params = bad
		if _, err := set.Command("a", life); err == nil {
			t.Errorf("parameters %q were accepted", bad)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "a${b}c", "$${a}", "${", "$$${a}", "${a}${b}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		tpl, err := parse(arg)
		if err != nil {
			return
		}
		if !strings.Contains(arg, "${") && tpl.fill(nil) != arg {
			t.Errorf("%q became %q", arg, tpl.fill(nil))
		}
		if len(tpl)%2 != 1 {
			t.Errorf("%q has %d parts", arg, len(tpl))
		}
	})
}

// Agents find vigil in the folder of agentd's own program, whatever is on their PATH, and
// the host says when they do not.
func TestN03AgentsFindVigil(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	tools := t.TempDir()
	runners := []Runner{
		{Name: "passed", Program: "sh"},
		{Name: "fixed", Program: "sh", Env: map[string]string{"PATH": "/opt/x"}},
		{Name: "none", Program: "sh", EnvAllow: []string{"HOME"}},
		{Name: "twice", Program: "sh", Env: map[string]string{"PATH": tools + ":/bin"}},
	}
	set, err := compile(runners, tools)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"passed": "/usr/bin:/bin:" + tools,
		"fixed": "/opt/x:" + tools, "none": SearchPath + ":" + tools, "twice": tools + ":/bin"} {
		if c, err := set.Command(name, Life{}); err != nil || !slices.Contains(c.Env, "PATH="+want) {
			t.Errorf("%s: %q, %v", name, c.Env, err)
		}
	}
	told := func(mode os.FileMode, want string) {
		t.Helper()
		if mode != 0 {
			if err := os.WriteFile(filepath.Join(tools, "vigil"), nil, mode); err != nil {
				t.Fatal(err)
			}
		}
		set, err := compile(runners, tools)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(set.Warnings(), "\n")
		if n := strings.Count(said, "do not find vigil: "); want == "" && n > 0 || want != "" &&
			(n != len(runners) || strings.Count(said, want) != n) {
			t.Errorf("warnings %q, want %q", set.Warnings(), want)
		}
	}
	if _, err := os.Stat("/usr/local/bin/vigil"); err == nil {
		t.Skip("this host has vigil on its PATH")
	}
	told(0, "the folder of agentd's own program; install it there")
	told(0o600, "chmod +x it")
	if err := os.Chmod(filepath.Join(tools, "vigil"), 0o700); err != nil {
		t.Fatal(err)
	}
	told(0, "")
	// In the home of another account it is out of reach.
	if err := os.Chmod(tools, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		for i := range runners {
			runners[i].User = "nobody"
		}
		told(0, "nobody cannot enter "+tools)
	}
}

// compile is Compile for runners that share the account of the test where they name none.
func compile(runners []Runner, tools string) (*Set, error) {
	runners = slices.Clone(runners)
	for i := range runners {
		runners[i].User = cmp.Or(runners[i].User, SameUser())
	}
	return Compile(runners, Host{Tools: tools})
}

// As root agents run as accounts of their own unless their runner names one, also when that is root; where
// there are none it must. Without root there is one account only.
func TestS04AgentsRunAsRootOnlyWhenThatIsSaid(t *testing.T) {
	_, err := Compile([]Runner{{Name: "a", Program: "sh"}}, Host{})
	if os.Geteuid() != 0 {
		if err != nil {
			t.Error(err)
		}
		return
	}
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != 1 || !slices.Equal(faults[0].Path, []any{"user"}) ||
		!strings.Contains(faults[0].Remedy, "user: root") {
		t.Fatalf("%v", err)
	}
	host := Host{DataDir: "/", Probe: 2_100_000_000}
	for _, user := range []string{"root", "nobody", ""} {
		set, err := Compile([]Runner{{Name: "a", Program: "sh", User: user}}, host)
		if err != nil {
			t.Fatal(err)
		}
		c, err := set.Command("a", Life{Agent: "demo/r.2", Home: "/homes/demo/r.2"})
		if err != nil || (c.Credential != nil) != (user == "nobody") || c.Own != (user == "") {
			t.Errorf("%s: %+v, %v", user, c, err)
		}
		if user == "" && (!slices.Contains(c.Env, "HOME=/homes/demo/r.2") || !slices.Contains(c.Env, "USER=r.2")) {
			t.Errorf("environment %q", c.Env)
		}
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for want, host := range map[string]Host{
		"chmod o+x":             {DataDir: closed, Probe: host.Probe},
		"no such accounts here": {DataDir: "/", NoAccounts: errors.New("no such accounts here")},
	} {
		if _, err := Compile([]Runner{{Name: "a", Program: "sh"}}, host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", host, err, want)
		}
	}
}

// A file with a secret that others could have read, or changed, is a fault with a remedy; so are names that
// vigil or env take. What is in the file is in no message.
func TestCredentialsOfARunner(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "geheim", 0o600)
	for want, credentials := range map[string]map[string]string{
		"":                           {"KEY_FILE": good, "OTHER_FILE": file("group", "geheim", 0o640)},
		"belongs to vigil":           {"VIGIL_X": good},
		"stands in env too":          {"FIXED": good},
		"give an absolute path":      {"KEY_FILE": "good"},
		"does not exist; make":       {"KEY_FILE": filepath.Join(dir, "none")},
		"is not a file":              {"KEY_FILE": dir},
		"anybody on this host":       {"KEY_FILE": file("open", "geheim", 0o604)},
		"its group can change it":    {"KEY_FILE": file("changed", "geheim", 0o660)},
		"has more than 65536 bytes":  {"KEY_FILE": file("long", strings.Repeat("geheim", 11000), 0o600)},
		"is empty":                   {"KEY_FILE": file("empty", "", 0o600)},
		"not the name of a variable": {"../KEY": good},
	} {
		set, err := compile([]Runner{{Name: "a", Program: "sh", Env: map[string]string{"FIXED": "1"},
			Credentials: credentials}}, "")
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim")) {
			t.Errorf("%v: %v, want %q", credentials, err, want)
		}
		if want == "" {
			if c, err := set.Command("a", Life{Agent: "demo/r"}); err != nil || len(c.Secrets) != 2 ||
				strings.Contains(strings.Join(c.Env, " "), "geheim") {
				t.Errorf("%+v, %v", c, err)
			}
		}
	}
	if os.Geteuid() == 0 {
		foreign := file("foreign", "geheim", 0o600)
		if err := os.Chown(foreign, 65534, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCredential(foreign); err == nil ||
			!strings.Contains(err.Error(), "belongs to account 65534; chown") {
			t.Error(err)
		}
	}
}
