package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// span is a run of log entries without a gap.
type span struct{ from, to uint64 }

// watchedFile is a file each of whose reads has the deadline of the disk.
type watchedFile struct {
	disk Disk
	f    *os.File
}

func (w watchedFile) ReadAt(p []byte, at int64) (n int, err error) {
	verb := "read " + w.f.Name()
	err = w.disk.Do(verb, 0, func() error { n, err = w.f.ReadAt(p, at); return err })
	switch {
	case errors.Is(err, io.EOF):
		return n, fmt.Errorf("it ends within, at byte %d", at+int64(n))
	case err != nil:
		return n, Failed(verb, err)
	}
	return n, nil
}

// checkFile reads all pages of the log before bolt does, which panics on some
// damage and overlooks other; see boltFile. It gives the entries that the log says
// that it holds. A file that does not exist, or is empty, belongs to a new server;
// old tells that this server is none.
func checkFile(path string, old bool, disk Disk) (entries []span, err error) {
	var f *os.File
	var size int64
	err = disk.Do("open "+path, 0, func() error {
		if f, err = os.Open(path); err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	if f != nil {
		defer f.Close()
	}
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, Failed("check log", err)
	case size == 0 && old:
		return nil, fmt.Errorf("check %s: %w: the log is gone, and this server has taken part in a "+
			"cluster: %s", path, ErrDamaged, remedy)
	case size == 0:
		return nil, nil
	}
	b := boltFile{in: watchedFile{disk, f}, size: size}
	err = b.check(func(bucket, key []byte) error {
		if string(bucket) != "logs" {
			return nil
		}
		if len(key) != 8 {
			return fmt.Errorf("key %x is no index", key)
		}
		i := binary.BigEndian.Uint64(key)
		if n := len(entries); n > 0 && entries[n-1].to+1 == i {
			entries[n-1].to = i
		} else {
			entries = append(entries, span{i, i})
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrDiskFailed):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("check %s: %w: %v: %s", path, ErrDamaged, err, remedy)
	}
	return entries, nil
}

// check reads every entry, which checks its sum, and looks whether together they
// can be the log of a server whose newest snapshot is of the entry and term given.
// Gaps are right below that only: a snapshot that came from the leader, or a backup,
// replaced what should have been there.
func (s *Log) check(entries []span, index, term uint64) error {
	damaged := func(format string, args ...any) error {
		return fmt.Errorf("check %s: %w: %s: %s", s.in.path, ErrDamaged, fmt.Sprintf(format, args...), remedy)
	}
	var last, reached uint64
	for _, run := range entries {
		if run.from > max(index, reached)+1 {
			return damaged("entries %d to %d are missing", max(index, reached)+1, run.from-1)
		}
		for i := run.from; i <= run.to; i++ {
			e, err := s.read(i)
			if err != nil {
				return err
			}
			if i <= index {
				continue
			}
			if e.Term < last {
				return damaged("entry %d is of term %d, what is before it of term %d", i, e.Term, last)
			}
			last = e.Term
		}
		reached = run.to
	}
	now, err := s.GetUint64([]byte("CurrentTerm"))
	if err != nil && !noKey(err) {
		return err
	}
	voted, err := s.GetUint64([]byte("LastVoteTerm"))
	if err != nil && !noKey(err) {
		return err
	}
	if seen := max(last, term, voted); now < seen {
		return damaged("it says that the term is %d and holds what is of term %d", now, seen)
	}
	return nil
}
