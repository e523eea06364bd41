package logstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// An attempt that ends in the middle, by a crash or on a full disk, leaves files that nobody reads: a snapshot that
// is not whole, or a backup that was on its way to raft. raft deletes the first only when it could write them to
// their end, so each attempt on a full disk would leave more, until the log has no room either.

// SpoolPattern is what os.CreateTemp makes the name of a file of, in the data directory, that means nothing once its
// process has ended.
const SpoolPattern = "restore-*.tmp"

// draftPattern matches the folders of snapshots that are not whole.
const draftPattern = "*.tmp"

// dropUnfinished deletes what earlier processes have left unfinished.
func (d *Dir) dropUnfinished(logger hclog.Logger) error {
	var left []string
	var bytes int64
	err := d.disk.Do("look for unfinished files", 0, func() error {
		drafts, err := matching(filepath.Join(d.Path, "snapshots"), draftPattern)
		spools, more := matching(d.Path, SpoolPattern)
		left, err = append(drafts, spools...), errors.Join(err, more)
		for _, path := range left {
			size, unread := sizeOf(path)
			bytes, err = bytes+size, errors.Join(err, unread)
		}
		return err
	})
	if err != nil {
		return Failed("look for unfinished files", err)
	}
	if len(left) == 0 {
		return nil
	}
	err = d.disk.Do("delete unfinished files", bytes, func() (err error) {
		for _, path := range left {
			err = errors.Join(err, os.RemoveAll(path))
		}
		return err
	})
	if err != nil {
		return Failed("delete unfinished files", err)
	}
	logger.Info("unfinished snapshots and restores of an earlier run are deleted", "files", len(left), "bytes", bytes)
	return nil
}

// matching lists what is in a folder, if there is one, under names of that form.
func matching(dir, pattern string) (paths []string, err error) {
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if is, _ := filepath.Match(pattern, e.Name()); is {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// Create implements raft.SnapshotStore. Whichever way it fails, here or later, nothing of the snapshot stays.
func (s *Snapshots) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.note != nil {
		if err := s.note(index, term); err != nil {
			return nil, err
		}
	}
	if s.dir == "" {
		return s.SnapshotStore.Create(version, index, term, conf, confIndex, trans)
	}
	sink, err := s.SnapshotStore.Create(version, index, term, conf, confIndex, trans)
	if err != nil {
		return nil, errors.Join(err, s.dropDrafts())
	}
	if s.drafts == nil {
		s.drafts = map[string]bool{}
	}
	s.drafts[s.draftOf(sink)] = true
	return &draft{sink, s}, nil
}

// draftOf is the folder in which raft writes a snapshot.
func (s *Snapshots) draftOf(sink raft.SnapshotSink) string {
	return filepath.Join(s.dir, sink.ID()+".tmp")
}

// dropDrafts deletes the snapshots that nobody writes any more; s.mu is held.
func (s *Snapshots) dropDrafts() error {
	list, err := matching(s.dir, draftPattern)
	for _, path := range list {
		if s.drafts[path] {
			continue
		}
		// raft may still have this one open, which would keep its space.
		_ = os.Truncate(filepath.Join(path, "state.bin"), 0)
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// draft is a snapshot that is being written.
type draft struct {
	raft.SnapshotSink
	of *Snapshots
}

// Close implements raft.SnapshotSink.
func (d *draft) Close() error {
	if err := d.SnapshotSink.Close(); err != nil {
		return errors.Join(err, d.drop())
	}
	d.done()
	return nil
}

// Cancel implements raft.SnapshotSink. Its error says that something of the snapshot stays.
func (d *draft) Cancel() error {
	if err := d.SnapshotSink.Cancel(); err != nil {
		return d.drop()
	}
	d.done()
	return nil
}

func (d *draft) done() {
	d.of.mu.Lock()
	delete(d.of.drafts, d.of.draftOf(d))
	d.of.mu.Unlock()
}

func (d *draft) drop() error {
	d.done()
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	return d.of.dropDrafts()
}
