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

	"vigil/cmd/vigil/conf"
)

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
	key, short, program, plain := file("key", "0123456789abcdef\n", 0o600), file("short", "secret", 0o600),
		file("page", "", 0o700), file("plain", "", 0o600)
	text := func(webhook, command string) string {
		return file("server.yaml",
			fmt.Sprintf("id: s1\ninsecure: true\nfound: true\ndata_dir: %s/data\nnotify:\n  - name: hook\n"+
				"    webhook: {url: https://x.example/, secret_file: %s}\n"+
				"  - name: page\n    command: {program: %s, args: [a, 2]}\n"+
				"  - {name: mail, mail: {to: ops/oncall.2}, timeout: 30s}\n", dir, webhook, command), 0o600)
	}
	check := func(name string) (int, string) {
		var out, errs bytes.Buffer
		code := run(context.Background(), []string{"server", "--check", "--config", name}, strings.NewReader(""),
			&out, &errs)
		return code, out.String() + errs.String()
	}
	if code, said := check(text(key, program)); code != 0 {
		t.Errorf("all is well, and it ends with %d: %s", code, said)
	}
	code, said := check(text(short, plain))
	for _, want := range []string{"server.yaml:7:", "a secret needs at least 16", "openssl rand -hex 32",
		"server.yaml:9:", "is not executable", "chmod +x"} {
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("it ends with %d and says\n%s\nwithout %q", code, said, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("the check has made the data directory")
	}
	f, err := conf.ReadServer(text(key, program))
	if err != nil {
		t.Fatal(err)
	}
	list, wrong := f.Notifiers(nil)
	if len(wrong) != 0 || len(list) != 3 || list[0].Name != "hook" || list[2].Timeout != 30*time.Second {
		t.Errorf("opened %+v, %v", list, wrong)
	}
}
