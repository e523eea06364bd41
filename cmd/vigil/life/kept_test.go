package life

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
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

// Another container, or another host, with the same home only looks: the life of whoever works there stays known there.
func TestALifeWhoseOwnerRunsElsewhereIsKept(t *testing.T) {
	home := t.TempDir()
	a := &cli.App{Terminal: term.Terminal{Now: time.Now},
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	elsewhere := &Life{Agent: "web/b", Incarnation: 5, Task: 41, Attempt: 2, Owner: Process{PID: 1 << 30, Start: "1"}}
	if err := Save(a, elsewhere); err != nil {
		t.Fatal(err)
	}
	name, err := HomeFile(a, "web/b")
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := (&Flags{agent: "web/b"}).Current(a); err == nil {
		t.Errorf("it speaks as %+v", l)
	}
	if l, _, err := (&Flags{agent: "web/b"}).Joining(a, ProcessOf(os.Getpid())); err != nil || l.Incarnation != 0 {
		t.Errorf("it goes on with %+v, %v", l, err)
	}
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, before) {
		t.Errorf("kept is %q, %v", after, err)
	}
}
