package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// Sight is a data directory that is looked at while no server runs there: nothing in it is written. It belongs to
// one goroutine.
type Sight struct {
	*Data
	Cluster, Server string
	Kind            Kind
	First, Last     uint64   // entries that the log holds; 0: none
	CurrentTerm     uint64   // that the server knows of
	Bytes           int64    // of all files, as they are long
	Damaged         []string // snapshots that cannot be read
	Torn            bool     // the last write to the log was interrupted; it was not acknowledged

	dir *Dir
}

// Look checks a data directory as a start does, and writes nothing. Errors: ErrInUse, ErrDamaged, ErrDiskFailed,
// fsm.ErrNewer, and fs.ErrNotExist where there is no data of a server.
func Look(path string, limit time.Duration, logger hclog.Logger) (*Sight, error) {
	type result struct {
		sight *Sight
		err   error
	}
	failed, ended := make(chan error, 1), make(chan result, 1)
	disk := Disk{Limit: limit, Fatal: func(err error) {
		select {
		case failed <- err:
		default:
		}
	}}
	go func() { // whoever meets a failure of the open log stays there
		sight, err := look(path, disk, logger)
		ended <- result{sight, err}
	}()
	select {
	case r := <-ended:
		return r.sight, r.err
	case err := <-failed:
		return nil, err
	}
}

// Close gives the lock back.
func (s *Sight) Close() error { return s.dir.Close() }

func look(path string, disk Disk, logger hclog.Logger) (_ *Sight, err error) {
	if !Used(path) {
		return nil, fmt.Errorf("%s holds no data of a server that was in a cluster: %w", path, fs.ErrNotExist)
	}
	s := &Sight{dir: &Dir{Path: path, disk: disk, size: segmentBytes}}
	if s.dir.lock, err = os.Open(filepath.Join(path, "lock")); err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.dir.Close())
		}
	}()
	if err := lockFile(s.dir.lock); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w: stop the server that runs there", path, ErrInUse)
	} else if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if s.Cluster, s.Server, err = s.dir.Identity(); err != nil {
		return nil, err
	}
	if s.Bytes, err = sizeOf(path); err != nil {
		return nil, err
	}
	log, entries, err := s.openLog(logger)
	if err != nil {
		return nil, err
	}
	snaps := &Snapshots{SnapshotStore: &seenSnapshots{filepath.Join(path, "snapshots")},
		dir: filepath.Join(path, "snapshots"), disk: disk, log: logger}
	s.Data = &Data{Log: log, Snapshots: snaps}
	if err := s.load(); err != nil {
		return nil, err
	}
	for name, damaged := range snaps.hidden {
		if damaged {
			s.Damaged = append(s.Damaged, name)
		}
	}
	if err := errors.Join(log.check(entries, s.Index, s.Term), log.loadRefusals()); err != nil {
		return nil, err
	}
	if s.First, err = log.FirstIndex(); err != nil {
		return nil, err
	}
	if s.Last, err = log.LastIndex(); err != nil {
		return nil, err
	}
	if s.CurrentTerm, err = log.GetUint64([]byte("CurrentTerm")); noKey(err) {
		err = nil
	}
	return s, err
}

// openLog opens the log of either kind for reading only.
func (s *Sight) openLog(logger hclog.Logger) (*Log, []span, error) {
	d := s.dir
	path := d.boltFile()
	entries, err := checkFile(path, true, d.disk)
	if err != nil {
		return nil, nil, err
	}
	opts := *bbolt.DefaultOptions
	opts.ReadOnly, opts.Timeout = true, d.disk.Limit/5
	err = d.disk.Do("open log", 0, func() (err error) {
		d.bolt, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &opts, MsgpackUseNewTimeFormat: true})
		return err
	})
	if err != nil {
		return nil, nil, Failed("open log", err)
	}
	stable := &summedStore{stable: d.bolt, stableIn: path}
	if s.Kind, _, err = d.kind(stable, "", false); err != nil {
		return nil, nil, err
	}
	if s.Kind == Bolt {
		return newLog(d.bolt, d.bolt, path, d.disk), entries, nil
	}
	segments := d.segments(stable, logger)
	segments.looks = true
	if entries, err = segments.check(true); err != nil {
		return nil, nil, err
	}
	s.Torn = segments.torn
	log := newLog(&seenSegments{segments: segments}, d.bolt, d.walFolder(), d.disk)
	log.in.stableIn = path
	return log, entries, nil
}

// sizeOf adds up the files of a directory.
func sizeOf(path string) (bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// LogBytes is the length of the files of the log in a data directory, of either kind; 0: they cannot be seen.
func LogBytes(path string) (bytes int64) {
	d := &Dir{Path: path}
	for _, at := range []string{d.boltFile(), d.walFolder()} {
		if n, err := sizeOf(at); err == nil {
			bytes += n
		}
	}
	return bytes
}

var errLooks = errors.New("the data is only looked at")

// seenSnapshots reads what raft's own store of snapshots wrote; that one makes and tries out a directory.
type seenSnapshots struct{ dir string }

func (s *seenSnapshots) Create(raft.SnapshotVersion, uint64, uint64, raft.Configuration, uint64,
	raft.Transport) (raft.SnapshotSink, error) {
	return nil, errLooks
}
