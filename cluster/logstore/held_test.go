package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Whatever is taken of a directory that is open is noticed, and what a server does in it is not.
func TestHeldFilesThatAreTaken(t *testing.T) {
	tests := []struct {
		name  string
		kind  Kind
		take  func(dir string) error
		taken bool
	}{
		{"nothing", WAL, func(string) error { return nil }, false},
		{"a file of somebody else", WAL,
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "note"), nil, 0o600) }, false},
		{"the directory", WAL, os.RemoveAll, true},
		{"the directory, for a copy", Bolt, func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".old"), os.CopyFS(dir, os.DirFS(dir+".old")))
		}, true},
		{"the votes, for an empty file", Bolt, func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "raft.db")), os.WriteFile(filepath.Join(dir, "raft.db"), nil, 0o600))
		}, true},
		{"the segments", WAL, func(dir string) error {
			return os.Rename(filepath.Join(dir, "wal"), filepath.Join(dir, "gone"))
		}, true},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			d, err := OpenDir(path, Disk{Limit: time.Minute, Fatal: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, err := d.Open(false, x.kind, hclog.NewNullLogger()); err != nil {
				t.Fatal(err)
			}
			if err := x.take(path); err != nil {
				t.Fatal(err)
			}
			if err := d.Held(); errors.Is(err, ErrTaken) != x.taken || (err != nil) != x.taken {
				t.Errorf("%v, want taken: %v", err, x.taken)
			}
		})
	}
}
