package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/agentd/results"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/term"
)

// Every mistake has its place and its remedy, and nothing is touched.
func TestAgentdFileMistakes(t *testing.T) {
	mine := "    user: " + me + "\n"
	for _, c := range []struct{ text, where, want string }{
		{"serverz: []\n", "1:1", `unknown key "serverz"`},
		{"name: a\nname: b\n", "2:1", "second time"},
		{"stop_grace: soon\n", "1:13", "duration like 60s"},
		{"stop_grace: 5\n", "1:13", "duration like 60s"},
		{"frozen_limit: 9000h\n", "1:15", "at most 365d"},
		{"logs:\n  keep: 1000\n", "2:9", "keep 1 to 100"},
		{"metrics: 0.0.0.0:1\n", "", "loopback"},
		{"log_level: loud\n", "", "write trace"},
		{"runners:\n  - name: a\n    program: /no/such\n" + mine, "3:14", "/no/such does not exist: install it"},
		{"runners:\n  - name: a\n" + mine, "2:5", "no program is named"},
		{"runners:\n  - name: a\n    program: sh\n    arg: [x]\n" + mine, "4:5", `unknown key "arg"`},
		{"runners:\n  - name: a\n    program: sh\n    args: [x, '${VIGIL_TOKEN}']\n" + mine,
			"4:15", "list of processes"},
		{"runners:\n  - name: a\n    program: sh\n    params:\n      x: {pattern: '('}\n" + mine,
			"5:20", "missing closing"},
		{"a: [\n", "1:4", ""},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "agentd.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		data := filepath.Join(dir, "data")
		args := []string{"agentd", "--insecure", "--config", file, "--data-dir", data}
		code := run(context.Background(), append(args, "--check"), strings.NewReader(""), &out, &errs)
		if code != cli.ExitFailed || !strings.Contains(out.String(), c.want) || c.where != "" &&
			!strings.HasPrefix(out.String(), file+":"+c.where+":") ||
			strings.Count(out.String(), "\n")-strings.Count(out.String(), "note: ") != 1 {
			t.Errorf("%q: exit code %d, want %q at %s, got\n%s%s", c.text, code, c.want, c.where, out.String(),
				errs.String())
		}
		if strings.HasPrefix(c.text, "runners:") && !strings.Contains(c.want, "unknown key") {
			continue // it costs the runner, not the daemon
		}
		code = run(context.Background(), args, strings.NewReader(""), &out, &errs)
		if code != cli.ExitUsage || !strings.Contains(errs.String(), c.want) || c.where != "" &&
			!strings.Contains(errs.String(), file+":"+c.where+":") {
			t.Errorf("%q: exit code %d, want %q at %s, got\n%s", c.text, code, c.want, c.where, errs.String())
		}
		if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the data directory was made", c.text)
		}
	}
}

// The unit leaves agents alone when agentd is stopped, and names flags that exist.
func TestA09AgentdUnit(t *testing.T) {
	_, settings := unit(t, "vigil-agentd.service")
	for key, want := range map[string]string{"KillMode": "process", "Delegate": "yes", "DelegateSubgroup": "agentd",
		// A9: agents end while the network is there, and a server
		"After":       "network-online.target vigil-server.service",
		"Environment": "HOME=/root GOTRACEBACK=crash", "Restart": "always", "RestartSec": "1s", "OOMPolicy": "continue",
		"StateDirectoryMode": "0711"} {
		if settings[key] != want {
			t.Errorf("%s=%s, want %s", key, settings[key], want)
		}
	}
	words := strings.Fields(settings["ExecStart"])
	if len(words) < 2 || words[1] != "agentd" {
		t.Fatalf("ExecStart=%s", settings["ExecStart"])
	}
	cmd, _, err := newRootCmd(&cli.App{Getenv: func(string) string { return "" }}).Find([]string{"agentd"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(words[2:]); err != nil {
		t.Error(err)
	}
	if dir := cmd.Flag("data-dir").Value.String(); dir != "/var/lib/"+settings["StateDirectory"] {
		t.Errorf("--data-dir %s, StateDirectory=%s", dir, settings["StateDirectory"])
	}
	// systemd must not lose patience with what agentd itself bounds.
	conf := conf.DefaultAgentd()
	patience, err := time.ParseDuration(strings.Replace(settings["TimeoutStopSec"], "min", "m", 1))
	if err != nil || patience < conf.DrainLimit.Span+conf.ShutdownLimit.Span {
		t.Errorf("TimeoutStopSec=%s (%v), a drain takes up to %s", settings["TimeoutStopSec"], err,
			conf.DrainLimit.Span+conf.ShutdownLimit.Span)
	}
}

// A result that no server takes is left with agentd, whole and for agentd alone.
func TestCompletionWithoutServersIsSpooled(t *testing.T) {
	spool := t.TempDir()
	silent := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	signaled, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			stop(cli.SignalError{Sig: syscall.SIGTERM})
		}
	}()
	life := map[string]string{"VIGIL_AGENT": "web/builder", "VIGIL_INCARNATION": "3", "VIGIL_TOKEN": "secret",
		"VIGIL_ADDR":      "127.0.0.1:1",
		"XDG_RUNTIME_DIR": t.TempDir(), results.Env: spool}
	for _, c := range []struct {
		what string
		env  map[string]string // instead
		args []string
		code int
	}{
		{"a signal while a server is silent", map[string]string{"VIGIL_ADDR": silent.Addr().String()},
			[]string{"--task", "7", "--attempt", "2", "--timeout", "5m"}, cli.ExitOK},
		{"a held task", nil, []string{"--task", "7", "--attempt", "2"}, cli.ExitOK},
		{"nobody knows which task", nil, nil, cli.ExitNoLeader},
		{"an agent without agentd", map[string]string{results.Env: ""},
			[]string{"--task", "7", "--attempt", "2"}, cli.ExitNoLeader},
		{"no token", map[string]string{"VIGIL_TOKEN": ""}, []string{"--task", "7", "--attempt", "2"}, cli.ExitNoLeader},
	} {
		var out, errs bytes.Buffer
		a := &cli.App{Terminal: term.Terminal{In: strings.NewReader(""), Out: &out, Err: &errs, Now: time.Now},
			Getenv: func(name string) string {
				if v, ok := c.env[name]; ok {
					return v
				}
				return life[name]
			}}
		ctx := t.Context()
		if c.env["VIGIL_ADDR"] != "" {
			ctx = signaled
		}
		code := runApp(ctx, a, append([]string{"--timeout", "300ms", "task", "complete", "the result"},
			c.args...))
		if code != c.code && (c.code == cli.ExitOK || code != cli.ExitTimeout) {
			t.Errorf("%s: exit code %d: %s%s", c.what, code, out.String(), errs.String())
		}
		files, _ := filepath.Glob(filepath.Join(spool, "*.json")) // beside them is what the life has ended
		if want := c.code == cli.ExitOK; want != (len(files) == 1) {
			t.Errorf("%s: spool %v", c.what, files)
		}
		for _, file := range files {
			var got results.Completion
			text, err := os.ReadFile(file)
			info, _ := os.Stat(file)
			if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil || info.Mode().Perm() != 0o600 ||
				filepath.Ext(file) != ".json" ||
				got != (results.Completion{Agent: "web/builder", Incarnation: 3, Task: 7, Attempt: 2,
					Result: "the result", Token: "secret"}) {
				t.Errorf("%s: %s holds %+v, %v, %v", c.what, file, got, info, err)
			}
			os.Remove(file)
		}
		if strings.Contains(out.String()+errs.String(), "secret") {
			t.Errorf("%s: the token is shown", c.what)
		}
	}
}
