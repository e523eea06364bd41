//go:build unix

package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever else is in the directory is neither listed, nor read, nor removed.
func TestDirectoryLooksAtItsOwnFilesOnly(t *testing.T) {
	path := t.TempDir()
	dir := Dir{Path: path, Server: "a"}
	n, err := Make(t.Context(), dir, "prod", newState(t, 2, secret).Copy(), nil, noon)
	if err != nil {
		t.Fatal(err)
	}
	link, pipe, folder := n, n, n
	link.Index, pipe.Index, folder.Index = 3, 4, 5
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink("/etc/passwd", filepath.Join(path, link.String())))
	must(syscall.Mkfifo(filepath.Join(path, pipe.String()), 0o600))
	must(os.Mkdir(filepath.Join(path, folder.String()), 0o700))
	for _, name := range []string{"vigil-prod", "notes", ".vigil-draft-a.1", ".vigil-draft-b.1"} {
		must(os.WriteFile(filepath.Join(path, name), nil, 0o600))
	}
	list, err := dir.List(t.Context(), "prod")
	if err != nil || len(list) != 1 || list[0] != n {
		t.Errorf("listed %v, %v", list, err)
	}
	if other, err := dir.List(t.Context(), "pro"); err != nil || len(other) != 0 {
		t.Errorf("of another cluster: %v, %v", other, err)
	}
	for _, odd := range []Name{link, pipe, folder} {
		if in, err := dir.Open(t.Context(), odd); err == nil {
			in.Close()
			t.Errorf("opened %s", odd)
		}
	}
	must(dir.Sweep())
	must(dir.Delete(t.Context(), n))
	must(dir.Delete(t.Context(), n))
	if left := strings.Join(names(t, path), " "); !strings.Contains(left, ".vigil-draft-b.1") ||
		strings.Contains(left, ".vigil-draft-a.1") || !strings.Contains(left, link.String()) {
		t.Errorf("left: %s", left)
	}
}

// A backup leaves a disk what else is on it needs, most where that is the log of the server.
func TestDirectoryIsNotFilled(t *testing.T) {
	path := t.TempDir()
	space := Space{Free: 50 << 20, Log: true}
	dir := Dir{Path: path, Server: "a", Space: func(string) (Space, error) { return space, nil }}
	try := func() error {
		draft, err := dir.Create(t.Context(), 10<<20)
		if err == nil {
			draft.Discard()
		}
		return err
	}
	full := (*FullError)(nil)
	if err := try(); !errors.As(err, &full) || full.Lack != (256+10-50)<<20 ||
		!strings.Contains(err.Error(), "the log of") ||
		!strings.Contains(err.Error(), "let backup.to name another disk") {
		t.Errorf("beside the log: %v", err)
	}
	if space.Free = (256 + 10) << 20; try() != nil {
		t.Errorf("beside the log, with room: %v", try())
	}
	if space = (Space{Free: 25 << 20}); !errors.As(try(), &full) || full.Lack != 1<<20 {
		t.Errorf("on a disk of its own: %v", try())
	}
	if space.Free = 26 << 20; try() != nil {
		t.Errorf("on a disk of its own, with room: %v", try())
	}
	if left := names(t, path); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
