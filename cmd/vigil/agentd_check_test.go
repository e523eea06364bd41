package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vigil/agentd/runner"
	"vigil/cmd/vigil/cli"
)

// me is the account of this process as a runner names it: as root it must.
var me = strconv.Quote(runner.SameUser())

// look runs a command that only checks, in a folder with these files, on a host that has
// vigil on its PATH.
func look(t *testing.T, files map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "vigil"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", os.Getenv("PATH")+":"+bin)
	return lookOn(t, files, args...)
}

// lookOn is look on a host as it is.
func lookOn(t *testing.T, files map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := everything(t, dir)
	var o, e bytes.Buffer
	code = run(context.Background(), append(args, "--check"), strings.NewReader(""), &o, &e)
	if after := everything(t, dir); after != before {
		t.Errorf("%q: there were %s, now there are %s", args, before, after)
	}
	return code, o.String(), e.String()
}

func everything(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// Every mistake is told at once, in one line with its place and remedy, and nothing is
// touched.
func TestAgentdCheckTellsEverything(t *testing.T) {
	code, out, errs := look(t, map[string]string{
		"agentd.yaml": "servers: ['10.0.0.1:7420']\nstop_grace: 0s\nlogs: {keep: 1000}\n" +
			"gossip: {key_file: none.key, bind: '10.0.0.1:7422'}\ndata_dir: taken\nrunners:\n" +
			"- {name: a, program: sh, user: " + me + "}\n",
		"taken":               "",
		"runners.d/b.yaml":    "name: b\nprogram: /no/such\ndirectory: /no/such/folder\nuser: nobody-of-that-name\n",
		"runners.d/c.yaml":    "name: c\nprogramm: sh\n",
		"runners.d/good.yaml": "name: good\nprogram: sh\nuser: " + me + "\n",
		"runners.d/rare.yaml": "name: rare\nprogram: no-such-program\noptional: true\nuser: " + me + "\n",
	}, "agentd", "--insecure", "--config", "agentd.yaml")
	for _, want := range []string{"agentd.yaml:2:13: stop_grace is 0s", "agentd.yaml:3:14: logs.keep is 1000",
		"none.key: no such file", "data_dir: taken is not a folder",
		"10.0.0.1:7420, 10.0.0.1:7422: a host that is insecure keeps to the loopback interface",
		"runners.d/b.yaml:2:10: /no/such does not exist: install it",
		"runners.d/b.yaml:3:12: /no/such/folder does not exist: create it",
		`runners.d/b.yaml:4:7: there is no user "nobody-of-that-name"`,
		`runners.d/c.yaml:2:1: unknown key "programm"`, "note: runner rare is not offered"} {
		if n := strings.Count(out, want); n != 1 {
			t.Errorf("%q was told %d times", want, n)
		}
	}
	if code != cli.ExitFailed || strings.Count(out, "\n") != 10 || !strings.Contains(errs, "findings: 9") {
		t.Errorf("exit code %d, printed\n%s%s", code, out, errs)
	}
	code, out, _ = look(t, map[string]string{"agentd.yaml": "runners:\n- {name: a, program: sh, user: " +
		me + "}\n"}, "agentd", "--insecure", "--config", "agentd.yaml")
	if code != cli.ExitOK || out != "Nothing wrong was found.\n" {
		t.Errorf("exit code %d, printed\n%s", code, out)
	}
}

// A host whose agents would not find vigil is told so before one of them dies of it.
func TestN03CheckNoticesThatAgentsDoNotFindVigil(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	if _, err := os.Stat("/usr/bin/vigil"); err == nil {
		t.Skip("this host has vigil on its PATH")
	}
	_, out, _ := lookOn(t, map[string]string{"agentd.yaml": "runners:\n- {name: a, program: sh, user: " +
		me + "}\n"}, "agentd", "--insecure", "--config", "agentd.yaml")
	// this program has another name
	if want := "note: agents of runner a do not find vigil: "; strings.Count(out, want) != 1 {
		t.Errorf("printed\n%s", out)
	}
}

// Prompts are checked like everything else, with their place, and what is right is shown.
func TestAgentdCheckShowsPrompts(t *testing.T) {
	code, out, _ := look(t, map[string]string{
		"agentd.yaml": "look_every: 100ms\nquiet_after: 25h\n",
		"runners.d/good.yaml": "name: good\nprogram: sh\nuser: " + me +
			"\nprompts:\n- {kind: permission, pattern: 'ok\\?'}\n" +
			"- {kind: idle, pattern: '^> *$', lines: 1}\n- {kind: permission, pattern: y/n}\n",
		"runners.d/bad.yaml": "name: bad\nprogram: sh\nprompts:\n- {kind: idle, pattern: x}\n" +
			"- {kind: question, pattern: y}\n- kind: idle\n  pattern: '('\n" +
			"- {kind: idle, pattern: z, lines: 51}\n",
	}, "agentd", "--insecure", "--config", "agentd.yaml")
	for _, want := range []string{"agentd.yaml:1:13: look_every is 100ms: give 1s to 5m",
		"agentd.yaml:2:14: quiet_after is 25h", "note: runner good recognizes prompts: 2 permission, 1 idle\n",
		`bad.yaml:5:10: "question" is no kind of prompt: write permission, usage_limit, error, idle or none`,
		"bad.yaml:7:12: error parsing regexp: missing closing )", "bad.yaml:8:35: 51 lines are not 1 to 50"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q is not told:\n%s", want, out)
		}
	}
	if code != cli.ExitFailed {
		t.Errorf("exit code %d, printed\n%s", code, out)
	}
}

func TestServerCheck(t *testing.T) {
	for _, c := range []struct {
		text, want string
		args       []string
	}{
		{"id: s1\nfound: true\n", "", nil},
		{"id: s1\n", "", []string{"--join", "127.0.0.1:7420"}},
		{"id: s1\nnonsense: 1\n", `s.yaml:2:1: unknown key "nonsense"`, nil},
		{"found: true\n", "the server has no id", nil},
		{"id: s1\nfound: true\njoin: ['127.0.0.2:7420']\n", "exclude each other", nil},
		{"id: s1\nfound: true\nsettings: {host_ttl: soon}\n", "s.yaml:3:22:", nil},
		{"id: s1\nfound: true\ndata_dir: s.yaml\n", "is not a folder", nil},
		{"id: s1\nfound: true\ngossip: {key_file: none}\n", "vigil keygen", nil},
	} {
		code, out, errs := look(t, map[string]string{"s.yaml": c.text},
			append([]string{"server", "--insecure", "--config", "s.yaml"}, c.args...)...)
		if want := c.want != ""; want != (code == cli.ExitFailed) || !strings.Contains(out, c.want) || !want &&
			out != "Nothing wrong was found.\n" {
			t.Errorf("%q %q: exit code %d, printed\n%s%s", c.text, c.args, code, out, errs)
		}
	}
}
