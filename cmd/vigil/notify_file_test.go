package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
)

// Every mistake in a notifier is told with its place and what to write instead, and no
// message holds an address, which may hold a secret.
func TestNotifyMistakesNameThePlace(t *testing.T) {
	for text, says := range map[string]string{
		"notify:\n  - webhook: {url: https://x.example/}\n":                                       "s.yaml:1:1: notify: each entry needs a name",
		"notify:\n  - {name: Pager, mail: {to: ops/a}}\n":                                         "s.yaml:2:12: notify: \"Pager\": each entry needs a name of 1 to 64",
		"notify:\n  - name: pager\n":                                                              "s.yaml:2:11: notify: \"pager\": it has 0 of webhook, command and mail: write exactly one",
		"notify:\n  - name: a\n    mail: {to: ops/x}\n    command: {program: /bin/true}\n":        "it has 2 of webhook, command and mail",
		"notify:\n  - name: a\n    webhook: {url: ftp://hidden.example/, secret_file: k}\n":       "s.yaml:3:20: notify: \"a\": webhook.url is no address: write https://host/path",
		"notify:\n  - name: a\n    webhook: {url: http://hidden.example/, secret_file: k}\n":      "goes over the network without TLS",
		"notify:\n  - name: a\n    webhook: {url: https://u:hidden@x.example/, secret_file: k}\n": "holds a user or a password",
		"notify:\n  - name: a\n    webhook: {url: https://hidden.example/}\n":                     "webhook.secret_file is missing",
		"notify:\n  - name: a\n    command: {program: page}\n":                                    "s.yaml:3:24: notify: \"a\": command.program \"page\": give its whole path",
		"notify:\n  - name: a\n    mail: {to: ops}\n":                                             "s.yaml:3:16: notify: \"a\": mail.to \"ops\": give a role or an agent",
		"notify:\n  - {name: a, mail: {to: ops/x}, timeout: 1h}\n":                                "timeout 1h0m0s is out of range: write 100ms to 5m0s",
		"notify:\n  - {name: a, mail: {to: ops/x}}\n  - {name: a, mail: {to: ops/y}}\n":           "s.yaml:3:12: notify: \"a\": there are two of this name",
		"notify:\n  - {name: a, mail: {too: ops/x}}\n":                                            `s.yaml:2:22: unknown key "too"`,
		"notify:\n" + strings.Repeat("  - {name: a, mail: {to: ops/x}}\n", 17):                    "17 notifiers are too many",
	} {
		_, err := parseServerFile("s.yaml", text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is answered\n%v, want\n%s", text, err, says)
			continue
		}
		// The line of the file is shown below the message; the message itself stays clean.
		if first, _, _ := strings.Cut(err.Error(), "\n"); strings.Contains(first, "hidden") {
			t.Errorf("the message holds the address: %v", err)
		}
	}
}

// vigil server --check looks at what the machine has: files and programs.
func TestServerCheckLooksAtNotifiers(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	key, short, program, plain := file("key", "0123456789abcdef\n", 0o600), file("short", "secret", 0o600), file("page", "", 0o700), file("plain", "", 0o600)
	conf := func(webhook, command string) string {
		return file("server.yaml", fmt.Sprintf("id: s1\nbootstrap_expect: 1\ndata_dir: %s/data\nnotify:\n  - name: hook\n    webhook: {url: https://x.example/, secret_file: %s}\n"+
			"  - name: page\n    command: {program: %s, args: [a, 2]}\n  - {name: mail, mail: {to: ops/oncall.2}, timeout: 30s}\n", dir, webhook, command), 0o600)
	}
	check := func(name string) (int, string) {
		var out, errs bytes.Buffer
		code := run(context.Background(), []string{"server", "--check", "--config", name}, strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, said := check(conf(key, program)); code != 0 {
		t.Errorf("all is well, and it ends with %d: %s", code, said)
	}
	code, said := check(conf(short, plain))
	for _, want := range []string{"server.yaml:6:", "a secret needs at least 16", "openssl rand -hex 32", "server.yaml:8:", "is not executable", "chmod +x"} {
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("it ends with %d and says\n%s\nwithout %q", code, said, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("the check has made the data directory")
	}
	f, err := readServerFile(conf(key, program))
	if err != nil {
		t.Fatal(err)
	}
	list, wrong := f.notifiers(nil)
	if len(wrong) != 0 || len(list) != 3 || list[0].Name != "hook" || list[2].Timeout != 30*time.Second {
		t.Errorf("opened %+v, %v", list, wrong)
	}
	if _, err := openServer(mustRead(t, conf(filepath.Join(dir, "none"), program)), &bytes.Buffer{}); err == nil || cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), "server.yaml:6:") {
		t.Errorf("a server without its secret: %v", err)
	}
}

func mustRead(t *testing.T, name string) *serverFile {
	t.Helper()
	f, err := readServerFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
