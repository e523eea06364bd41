//go:build linux

package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// store is the directory behind a disk, with a record of everything that is not
// durable. Files hold what programs see; the record says how to go back.
//
// Every method takes its lock; paths are relative to the root.
type store struct {
	root  string // what programs see
	attic string // what was removed, until that is durable

	mu     sync.Mutex
	writes map[uint64]*unsynced // by inode
	seq    uint64               // of the newest write
	names  []rename             // changes of names that are not durable, oldest first
	put    int                  // number of the newest thing in the attic
	// epoch and gens tell inodes apart whose number is the same: all are new after a
	// loss, and numbers of removed files are used again.
	epoch uint64
	gens  map[uint64]uint64
	syncs int64
}

// unsynced are the writes to one file since its last fsync.
type unsynced struct {
	file *os.File // stays good when the file is renamed or removed
	list []write
}

// write is one change of a file's data or size.
type write struct {
	seq  uint64
	at   int64
	data []byte // nil: the size was set to at
	old  []byte // what was at that place, up to the end of the file
	size int64  // of the file before
}

// rename is one change of names; either function is called once. done may be nil.
type rename struct {
	undo, done func() error
}

// newStore takes a folder over; what is there counts as durable.
func newStore(folder string) (*store, error) {
	s := &store{
		root: filepath.Join(folder, "files"), attic: filepath.Join(folder, "attic"),
		writes: map[uint64]*unsynced{}, gens: map[uint64]uint64{}, epoch: 1,
	}
	if err := os.RemoveAll(s.attic); err != nil {
		return nil, err
	}
	return s, errors.Join(os.MkdirAll(s.root, 0o755), os.MkdirAll(s.attic, 0o700))
}

func (s *store) path(name string) string { return filepath.Join(s.root, name) }

func inode(f *os.File) (*syscall.Stat_t, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.Name(), err)
	}
	return &st, nil
}

// write writes to an open file.
func (s *store) write(f *os.File, data []byte, at int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := inode(f)
	if err != nil {
		return 0, err
	}
	old, err := readAt(f, at, min(int64(len(data)), max(st.Size-at, 0)))
	if err != nil {
		return 0, err
	}
	u, err := s.record(f, st.Ino)
	if err != nil {
		return 0, err
	}
	n, err := f.WriteAt(data, at)
	if n > 0 {
		s.seq++
		u.list = append(u.list, write{seq: s.seq, at: at, data: append([]byte{}, data[:n]...), old: old, size: st.Size})
	}
	return n, err
}

// resize sets the size of an open file.
func (s *store) resize(f *os.File, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := inode(f)
	if err != nil {
		return err
	}
	old, err := readAt(f, size, max(st.Size-size, 0))
	if err != nil {
		return err
	}
	u, err := s.record(f, st.Ino)
	if err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	s.seq++
	u.list = append(u.list, write{seq: s.seq, at: size, old: old, size: st.Size})
	return nil
}

// record finds or makes the record of a file.
func (s *store) record(f *os.File, ino uint64) (*unsynced, error) {
	if u := s.writes[ino]; u != nil {
		return u, nil
	}
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("keep %s open: %w", f.Name(), err)
	}
	syscall.CloseOnExec(fd)
	u := &unsynced{file: os.NewFile(uintptr(fd), f.Name())}
	s.writes[ino] = u
	return u, nil
}

func readAt(f *os.File, at, n int64) ([]byte, error) {
	old := make([]byte, n)
	if _, err := f.ReadAt(old, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return old, nil
}

// sync makes a file's data durable, and all names. A nil file is a directory.
func (s *store) sync(f *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.syncs++
	if f != nil {
		st, err := inode(f)
		if err != nil {
			return err
		}
		if u := s.writes[st.Ino]; u != nil {
			delete(s.writes, st.Ino)
			_ = u.file.Close() // another handle of what the caller has open
		}
	}
	return s.keepNames()
}

// keepNames makes all changes of names durable.
func (s *store) keepNames() error {
	var errs []error
	for _, n := range s.names {
		if n.done != nil {
			errs = append(errs, n.done())
		}
	}
	s.names = nil
	return errors.Join(errs...)
}

func (s *store) unsynced() (l Lost) {
	for _, u := range s.writes {
		l.Writes += len(u.list)
	}
	l.Names = len(s.names)
	return l
}

func (s *store) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Writes: int64(s.seq), Syncs: s.syncs, Unsynced: s.unsynced()}
}
