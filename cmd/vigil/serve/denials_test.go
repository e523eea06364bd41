package serve

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The list of refused calls never takes more than twice its bound, its lines stay whole, and nobody
// else may read it.
func TestDenialsAreRotated(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, denialsFile)
	if err := os.WriteFile(name, []byte("{\"old\":1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := openDenials(dir)
	if err != nil {
		t.Fatal(err)
	}
	log.most = 100
	line := []byte("{\"who\":\"user/anna\"}\n")
	for range 50 {
		if _, err := log.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{name, name + denialsOld} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || len(text) > 100 || len(bytes.ReplaceAll(text, line, nil)) != 0 {
			t.Errorf("%s has rights %v and %d bytes: %s", name, info.Mode(), len(text), text)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%d files are there (%v)", len(all), err)
	}
	if _, err := openDenials(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
