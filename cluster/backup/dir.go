package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir is a target that is a directory, best one that all servers share. It is never made here: where a
// file system is not mounted backups must not fill the disk below it.
type Dir struct {
	Path   string
	Server string // whose drafts these are; it removes those that an earlier process left
	// Space tells of the disk of a directory; nil: nobody asks.
	Space func(dir string) (Space, error)
}

// Space is what there is on a disk.
type Space struct {
	Free uint64 // bytes
	Log  bool   // this server's log is there too
}

// Reserves of a disk with backups, bytes: a full one stops a server whose log is on it, so that of the log is great.
const (
	dirReserve = 16 << 20
	logReserve = 256 << 20 // or twice the backup where that is more: snapshots are as large
)

// FullError says that a backup would take what something else needs.
type FullError struct {
	Dir        string
	Space      Space
	About      int64  // bytes of the backup
	Want, Lack uint64 // bytes: that were to be free before it, and that are missing
}

func (e *FullError) Error() string {
	why := "a backup of %d MiB would fill the disk"
	if e.Space.Log {
		why = "the log of this server is on the same disk, and a backup of %d MiB would take what it needs"
	}
	return fmt.Sprintf("write backup: %d MiB are free in %s and %d MiB are wanted: "+why+": free some space, lower "+
		"backup.keep, or let backup.to name another disk", e.Space.Free>>20, e.Dir, e.Want>>20, e.About>>20)
}

// besideLog is what must be free on the disk of a log before a backup of so many bytes is begun there.
func besideLog(about int64) uint64 { return uint64(about) + max(logReserve, 2*uint64(about)) }

// fits tells whether a backup may be written; see FullError.
func (d Dir) fits(about int64) error {
	if d.Space == nil {
		return nil
	}
	space, err := d.Space(d.Path)
	if err != nil {
		return fmt.Errorf("write backup: %w: create the directory, or mount what it is on", err)
	}
	want := uint64(about) + dirReserve
	if space.Log {
		want = besideLog(about)
	}
	if space.Free < want {
		return &FullError{Dir: d.Path, Space: space, About: about, Want: want, Lack: want - space.Free}
	}
	return nil
}

// Size is what a backup takes, in bytes; 0 where nobody can tell.
func (d Dir) Size(n Name) uint64 {
	info, err := os.Lstat(filepath.Join(d.Path, n.String()))
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return uint64(info.Size())
}

// draftPrefix begins the names of this server's drafts.
func (d Dir) draftPrefix() string { return ".vigil-draft-" + d.Server + "." }

// List looks at regular files only.
func (d Dir) List(ctx context.Context, cluster string) ([]Name, error) {
	f, err := os.Open(d.Path)
	if err != nil {
		return nil, fmt.Errorf("list backups: %w: create the directory, or mount what it is on", err)
	}
	defer f.Close()
	list := listing{cluster: cluster}
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			if !e.Type().IsRegular() {
				continue
			}
			if err := list.add(e.Name()); err != nil {
				return nil, fmt.Errorf("list backups in %s: %w", d.Path, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return list.names, nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, fmt.Errorf("list backups in %s: %w", d.Path, err)
		}
	}
}

// Sweep removes drafts of this server that a process left which was ended. Nothing else may write now.
func (d Dir) Sweep() error {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return fmt.Errorf("remove drafts: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), d.draftPrefix()) && e.Type().IsRegular() {
			if e := os.Remove(filepath.Join(d.Path, e.Name())); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("remove drafts: %w", e))
			}
		}
	}
	return err
}

// Create begins a file that only its owner can read. A FullError says that there is no room for it.
func (d Dir) Create(_ context.Context, about int64) (Draft, error) {
	if err := d.fits(about); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(d.Path, d.draftPrefix()+"*")
	if err != nil {
		return nil, fmt.Errorf("write backup: %w: create the directory, or let the server write there", err)
	}
	return &dirDraft{File: f, dir: d}, nil
}

type dirDraft struct {
	*os.File
	dir  Dir
	done bool
}

// Commit makes the file durable, gives it its name, and makes that durable too.
func (w *dirDraft) Commit(_ context.Context, n Name) error {
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	if err := os.Rename(w.Name(), filepath.Join(w.dir.Path, n.String())); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	w.done = true
	folder, err := os.Open(w.dir.Path)
	if err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	return nil
}

func (w *dirDraft) Discard() {
	if !w.done {
		_ = w.Close() // it is thrown away
		_ = os.Remove(w.Name())
	}
}

// Open opens a regular file.
func (d Dir) Open(_ context.Context, n Name) (io.ReadCloser, error) {
	path := filepath.Join(d.Path, n.String())
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	if !info.Mode().IsRegular() { // a pipe would wait for ever
		return nil, fmt.Errorf("read backup: %s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	return f, nil
}

// Delete removes the file.
func (d Dir) Delete(_ context.Context, n Name) error {
	if err := os.Remove(filepath.Join(d.Path, n.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete backup: %w", err)
	}
	return nil
}
