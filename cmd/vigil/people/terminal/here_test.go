//go:build unix

package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
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
		a := &cli.App{Terminal: term.NewTerminal(strings.NewReader(""), &out, &errs, os.Getenv), Getenv: os.Getenv}
		cmd := NewAttachCommand(a)
		cmd.SetArgs([]string{c.agent, "--data-dir", c.dir})
		err := cmd.ExecuteContext(t.Context())
		cli.Report(&errs, err, false)
		code := cli.ExitCode(err)
		if strings.Contains(errs.String(), "tmux cannot be used") {
			t.Skip(errs.String())
		}
		if code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s in %s: exit code %d, %s", c.agent, c.dir, code, errs.String())
		}
	}
}
