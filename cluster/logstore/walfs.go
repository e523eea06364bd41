package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/raft-wal/types"
)

// segmentBytes is how long a segment gets before the next one begins. It is allotted at once, and freed
// when a snapshot holds all of it.
const segmentBytes = 32 << 20

// keySegment is where raft.db says which segment was made last: one that is gone was lost then, while
// one that the description names may never have been made.
var keySegment = []byte("LogSegment")

// segmentFS makes and opens the files of segments for the library. What fails in its own goroutine, when
// one segment follows another, it only logs: so here it is fatal, once the log is open.
type segmentFS struct {
	disk   Disk
	stable *summedStore
	open   atomic.Bool // the log is: from then on a failure ends the server
}

// do runs one operation within the deadline.
func (s *segmentFS) do(verb string, op func() error) error {
	if s.open.Load() {
		return s.disk.guard(verb, op)
	}
	return s.disk.Do(verb, 0, op)
}

// ListDir implements types.VFS.
func (s *segmentFS) ListDir(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names, nil
}

// Create implements types.VFS. The file outlives a crash when it returns.
func (s *segmentFS) Create(dir, name string, size uint64) (f types.WritableFile, err error) {
	err = s.do("make log segment", func() (err error) { f, err = s.create(dir, name, size); return err })
	return f, err
}

func (s *segmentFS) create(dir, name string, size uint64) (_ types.WritableFile, err error) {
	_, id, ok := segmentName(name)
	if !ok {
		return nil, fmt.Errorf("make log segment: %q is no name of one", name)
	}
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s.disk.step("open log segment")
	if err = preallocate(f, int64(size)); err == nil {
		err = syncDir(dir)
	}
	if err == nil {
		s.disk.step("allot log segment")
		err = s.stable.SetUint64(keySegment, id)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return &segmentFile{File: f, disk: s.disk}, nil
}

// Delete implements types.VFS. A failure leaves a file that is taken away at the next start.
func (s *segmentFS) Delete(dir, name string) error {
	return s.do("delete log segment", func() error {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
		return syncDir(dir)
	})
}

// OpenReader implements types.VFS.
func (s *segmentFS) OpenReader(dir, name string) (types.ReadableFile, error) {
	return os.Open(filepath.Join(dir, name))
}

// OpenWriter implements types.VFS.
func (s *segmentFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &segmentFile{File: f, disk: s.disk}, nil
}

// segmentFile is a segment that is written to.
type segmentFile struct {
	*os.File
	disk Disk
}

// WriteAt implements types.WritableFile.
func (f *segmentFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	f.disk.step("append to log segment")
	return n, err
}

// Sync implements types.WritableFile. The times of the file may be lost, its length not.
func (f *segmentFile) Sync() error {
	err := datasync(f.File)
	f.disk.step("sync log segment")
	return err
}
