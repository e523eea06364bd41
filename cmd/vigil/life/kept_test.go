package life

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"vigil/cmd/vigil/cli"
)

func TestS15TheFolderOfLivesIsTheUsersOwn(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	elsewhere := t.TempDir()
	a := &cli.App{Getenv: func(string) string { return "" }}
	dir := filepath.Join(temp, fmt.Sprintf("vigil-%d", os.Getuid()))
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
	if name, err := HomeFile(a, "web/b"); err == nil {
		t.Errorf("a link of somebody: %s, want a refusal", name)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := HomeFile(a, "web/b"); err != nil {
		t.Errorf("a folder of its own: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if name, err := HomeFile(a, "web/b"); err == nil {
		t.Errorf("a folder that anybody may write: %s, want a refusal", name)
	}
}
