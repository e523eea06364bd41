//go:build linux

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// identity numbers a file such that no other one ever has the same numbers.
func (s *store) identity(st *syscall.Stat_t) (ino, gen uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return st.Ino, s.epoch<<32 | s.gens[st.Ino]
}

// create opens a file for reading and writing and makes it when it is not there.
func (s *store) create(name string, mode os.FileMode) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return os.OpenFile(s.path(name), os.O_RDWR, 0)
	}
	if err == nil {
		s.names = append(s.names, rename{undo: func() error { return s.forget(s.path(name)) }})
	}
	return f, err
}

func (s *store) mkdir(name string, mode os.FileMode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := os.Mkdir(s.path(name), mode)
	if err == nil {
		s.names = append(s.names, rename{undo: func() error { return s.forget(s.path(name)) }})
	}
	return err
}

// remove removes a file or an empty directory.
func (s *store) remove(name string, dir bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.removable(name, dir); err != nil {
		return err
	}
	return s.toAttic(name)
}

func (s *store) removable(name string, dir bool) error {
	info, err := os.Lstat(s.path(name))
	switch {
	case err != nil:
		return err
	case dir && !info.IsDir():
		return syscall.ENOTDIR
	case !dir && info.IsDir():
		return syscall.EISDIR
	case !dir:
		return nil
	}
	list, err := os.ReadDir(s.path(name))
	if err == nil && len(list) > 0 {
		err = syscall.ENOTEMPTY
	}
	return err
}

// toAttic puts something away until its removal is durable. Who has it open can go on.
func (s *store) toAttic(name string) error {
	s.put++
	from, to := s.path(name), filepath.Join(s.attic, strconv.Itoa(s.put))
	if err := os.Rename(from, to); err != nil {
		return err
	}
	s.names = append(s.names, rename{
		undo: func() error { return os.Rename(to, from) },
		done: func() error { return s.forget(to) },
	})
	return nil
}

// rename renames over what is there.
func (s *store) rename(from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from == to {
		return nil
	}
	old, err := os.Lstat(s.path(from))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(s.path(to)); err == nil {
		if err := s.removable(to, old.IsDir()); err != nil {
			return err
		}
		if err := s.toAttic(to); err != nil {
			return err
		}
	}
	if err := os.Rename(s.path(from), s.path(to)); err != nil {
		return err
	}
	s.names = append(s.names, rename{undo: func() error { return os.Rename(s.path(to), s.path(from)) }})
	return nil
}

// forget removes a file or an empty directory for good; its number may be used again.
func (s *store) forget(path string) error {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	s.gens[st.Ino]++
	return os.Remove(path)
}
