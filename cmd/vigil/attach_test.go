package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

// The life that is attached to is the newest that has not ended.
func TestAttachFindsTheLife(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"lives/1-1/intent.json":     `{"AgentName":"web/a","Incarnation":1}`,
		"lives/1-2/intent.json":     `{"AgentName":"web/a","Incarnation":2}`,
		"lives/1-3/intent.json":     `{"AgentName":"web/a","Incarnation":3}`,
		"lives/1-3/exit.json":       `{}`,
		"lives/2-9/intent.json":     `{"AgentName":"web/b","Incarnation":9}`,
		"lives/2-9/tmux/sock":       "",
		"lives/3-1/intent.json":     `{"Agent`,
		"lives/.gone-4-1/else.json": `{}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if folder, err := lifeHere(dir, "web/a"); err != nil || folder != filepath.Join(dir, "lives/1-2") {
		t.Errorf("%s, %v", folder, err)
	}
	if names := agentsHere(dir); !slices.Equal(names, []string{"web/a", "web/a", "web/b"}) {
		t.Errorf("offered for completion: %q", names)
	}
	for _, c := range []struct {
		agent, dir string
		code       int
		want       string
	}{
		{"web/a", dir, cli.ExitFailed, "not of kind tmux"},
		{"web/b", dir, cli.ExitUsage, "attach needs a terminal"},
		{"web/c", dir, cli.ExitNotFound, "does not run on this host"},
		{"web", dir, cli.ExitUsage, "room/role"},
		{"web/a", dir + "/none", cli.ExitUsage, "--data-dir"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), []string{"agent", "attach", c.agent, "--data-dir", c.dir}, strings.NewReader(""), &out, &errs)
		if strings.Contains(errs.String(), "tmux cannot be used") {
			t.Skip(errs.String())
		}
		if code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s in %s: exit code %d, %s", c.agent, c.dir, code, errs.String())
		}
	}
}

func TestRememberRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		want string
	}{
		{[]string{strings.Repeat("x", maxResume+1)}, "", "put it into a file"},
		{[]string{"-"}, strings.Repeat("x", maxResume+9), "put it into a file"},
		{nil, "", "VALUE"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"remember", "--agent", "web/a", "--incarnation", "1"}, c.args...), strings.NewReader(c.in), &out, &errs)
		if code != cli.ExitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%.20q: exit code %d, %s", c.args, code, errs.String())
		}
	}
}
