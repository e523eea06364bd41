package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrTaken says that the files that a server works with are no longer those in its data directory.
var ErrTaken = errors.New("the data directory was deleted or replaced while the server ran")

// hold remembers the files that this process has open.
func (d *Dir) hold() error {
	d.held = map[string]fs.FileInfo{}
	for _, path := range []string{filepath.Join(d.Path, "lock"), d.boltFile(), d.walFolder()} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a log of the other form
		}
		if err != nil {
			return err
		}
		d.held[path] = info
	}
	return nil
}

// Held tells whether the files that this process works with are still those in the directory. A server
// whose directory is deleted under it goes on in files that nobody can open again: it acknowledges what is gone
// with its process (law L8). An error is ErrTaken; what cannot be looked at is not said to be gone.
func (d *Dir) Held() error {
	for path, was := range d.held {
		now, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(was, now) {
			return fmt.Errorf("%w: %s is not the one that is open: this server counts as lost: %s", ErrTaken, path, remedy)
		}
	}
	return nil
}
