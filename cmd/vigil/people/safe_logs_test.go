package people

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cluster/notify"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func TestS15LogsOfAgentsDoNotSteerTheTerminal(t *testing.T) {
	var out strings.Builder
	a := &cli.App{Terminal: term.Terminal{Out: &out}}
	pieces := []string{"one \x1b]0;title\atwo \x1b[31mred\x1b[", "0m \x1b]52;c;aGk=", "\athree\n"}
	next := func() (*vigilv1.LogChunk, error) {
		if len(pieces) == 0 {
			return nil, io.EOF
		}
		p := pieces[0]
		pieces = pieces[1:]
		return &vigilv1.LogChunk{Data: []byte(p)}, nil
	}
	if err := copyLogs(a, next); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "\x1b]") || strings.Contains(got, "aGk=") ||
		!strings.Contains(got, "\x1b[31mred\x1b[0m") ||
		!strings.HasSuffix(got, "three\n") {
		t.Errorf("printed %q, want the text with its colours and nothing else", got)
	}
}

func TestS15SecretsThatOthersReadAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(strings.Repeat("s", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := notify.ReadSecret(name); err != nil {
		t.Fatalf("a secret of its owner: %v", err)
	}
	for _, mode := range []os.FileMode{0o604, 0o622, 0o644} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := notify.ReadSecret(name); err == nil || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("mode %#o: %v, want a refusal with the remedy", mode, err)
		}
	}
}

func TestS15TheFolderOfLivesIsTheUsersOwn(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	elsewhere := t.TempDir()
	a := &cli.App{Getenv: func(string) string { return "" }}
	dir := filepath.Join(temp, fmt.Sprintf("vigil-%d", os.Getuid()))
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
	if name, err := life.HomeFile(a, "web/b"); err == nil {
		t.Errorf("a link of somebody: %s, want a refusal", name)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := life.HomeFile(a, "web/b"); err != nil {
		t.Errorf("a folder of its own: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if name, err := life.HomeFile(a, "web/b"); err == nil {
		t.Errorf("a folder that anybody may write: %s, want a refusal", name)
	}
}
