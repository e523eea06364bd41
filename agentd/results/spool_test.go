package results

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
)

// newSpool makes the spool of a life.
func newSpool(t *testing.T) Spool {
	t.Helper()
	// Not TempDir: its path may be too long for a socket.
	dir, err := os.MkdirTemp("", "v")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // nobody minds
	if err := os.Mkdir(filepath.Join(dir, shim.SpoolFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	return Spool{Folder: dir, Intent: disk.Intent{Agent: 3, AgentName: "demo/a", Incarnation: 5, SpoolOwner: os.Geteuid()}}
}

func (s Spool) put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(s.path(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What was looked at and is no completion may be thrown away; what could not be looked at may not.
func TestUnfitIsOnlyWhatWasLookedAt(t *testing.T) {
	s := newSpool(t)
	const good = `{"agent":"demo/a","incarnation":5,"task":7,"attempt":1}`
	path := func(name string) string { return filepath.Join(s.path(), name) }
	for name, put := range map[string]func(path string) error{
		"gone":      func(string) error { return nil },
		"link":      func(path string) error { return os.Symlink(s.put(t, "good", good), path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"fifo":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() }) // nobody minds
			}
			return err
		},
		"garbage": func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"large":   func(path string) error { return os.WriteFile(path, make([]byte, MaxBytes+1), 0o600) },
		"other": func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(good, "demo/a", "demo/b", 1)), 0o600)
		},
		"older": func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(good, "5", "4", 1)), 0o600)
		},
	} {
		if err := put(path(name)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(path(name)); !Unfit(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := s.Read(path("good")); err != nil || c.Task != 7 {
		t.Errorf("%+v, %v", c, err)
	}
	stranger := s
	stranger.Intent.SpoolOwner++
	if _, err := stranger.Read(path("good")); !Unfit(err) {
		t.Errorf("of another account: %v", err)
	}
	for _, e := range []error{syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EACCES, syscall.EMFILE,
		syscall.ENFILE, syscall.ENOMEM, syscall.EINTR} {
		if Unfit(&os.PathError{Op: "open", Path: "x", Err: e}) {
			t.Errorf("after %v it is thrown away", e)
		}
	}
}

// A folder that is not there holds nothing; of one that cannot be read nobody knows.
func TestListOfAFolderThatCannotBeRead(t *testing.T) {
	s := newSpool(t)
	s.put(t, "1.json", "x")
	none := func(string) bool { return false }
	if all, err := s.List(none); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if err := os.RemoveAll(s.path()); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(none); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if err := os.WriteFile(s.path(), nil, 0o600); err != nil { // the nearest to a folder with a fault
		t.Fatal(err)
	}
	if all, err := s.List(none); err == nil {
		t.Errorf("%v, and no error", all)
	}
}

// What is set aside is the agent's own file, whatever its name; how much that becomes is bounded as with other letters.
func TestSetAside(t *testing.T) {
	s, d := newSpool(t), &Letters{Dir: filepath.Join(t.TempDir(), "dead-letters")}
	long := strings.Repeat("n", 250) + ".json"
	if err := d.SetAside(s, s.put(t, long, "precious")); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(d.Dir, "3-5-unread-*.json"))
	if err != nil || len(kept) != 1 || d.Kept() != 1 {
		t.Fatalf("%v, %v: %d", kept, err, d.Kept())
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	if all := d.Pieces()[s.Intent.Who()]; len(all) != 1 {
		t.Errorf("of the life there is %v", all)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.path(), "link.json")); err != nil {
		t.Fatal(err)
	}
	large := s.put(t, "large.json", "")
	if err := os.Truncate(large, MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(s.path(), "link.json"), large} {
		if err := d.SetAside(s, path); !Unfit(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := d.SetAside(s, filepath.Join(s.path(), "gone.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is gone: %v", err)
	}
	for i := range 2 * maxLettersAgent {
		if err := d.SetAside(s, s.put(t, fmt.Sprintf("%d.json", i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.Kept(); n != maxLettersAgent {
		t.Errorf("%d are kept", n)
	}
}
