package logstore

import (
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// Converted says what Convert did.
type Converted struct {
	From        Kind
	First, Last uint64 // entries that the log holds; 0: none
}

// Convert gives the log of a server that does not run another form. The data is checked as at a start. All that
// is above the newest snapshot is kept, and what is before it without a gap. The new log is made
// beside the old one, which counts until the name of raft.db passes over, in one step: after a crash or an
// error the old one is in force, and a server that starts takes away what was left of the new one.
// Errors: ErrInUse, ErrDamaged, ErrDiskFailed, ErrDiskStuck.
func Convert(path string, to Kind, disk Disk, logger hclog.Logger) (Converted, error) {
	type result struct {
		done Converted
		err  error
	}
	failed, ended := make(chan error, 1), make(chan result, 1)
	disk.Fatal = func(err error) {
		select {
		case failed <- err:
		default:
		}
	}
	go func() { // whoever meets a failure of the open log stays there
		done, err := convert(path, to, disk, logger)
		ended <- result{done, err}
	}()
	select {
	case r := <-ended:
		return r.done, r.err
	case err := <-failed:
		return Converted{}, err
	}
}

func convert(path string, to Kind, disk Disk, logger hclog.Logger) (done Converted, err error) {
	dir, err := OpenDir(path, disk)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	data, err := dir.Open(true, "", logger)
	if err != nil {
		return done, err
	}
	done.From = Bolt
	if dir.wal != nil {
		done.From = WAL
	}
	if done.First, done.Last, err = data.Log.run(); err != nil || done.From == to {
		return done, err
	}
	if err := dir.build(to, data.Log, done.First, done.Last, logger); err != nil {
		return done, fmt.Errorf("convert log: %w", err)
	}
	if err := dir.closeLog(); err != nil {
		return done, Failed("close old log", err)
	}
	err = disk.Do("put new log in force", 0, func() error {
		return errors.Join(os.Rename(dir.boltFile()+newSuffix, dir.boltFile()), syncDir(path))
	})
	if err != nil {
		return done, Failed("put new log in force", err)
	}
	return done, dir.dropLeftovers(to)
}

// run gives the entries up to the last one that follow one another; zeros: there are none.
func (s *Log) run() (first, last uint64, err error) {
	first, err = s.FirstIndex()
	if err != nil {
		return 0, 0, err
	}
	if last, err = s.LastIndex(); err != nil || last == 0 {
		return 0, 0, err
	}
	for i := last; i > first; i-- {
		var l raft.Log
		switch err := s.GetLog(i-1, &l); {
		case errors.Is(err, raft.ErrLogNotFound):
			return i, last, nil
		case err != nil:
			return 0, 0, err
		}
	}
	return first, last, nil
}

// build makes a log of another kind beside the one that is open.
func (d *Dir) build(to Kind, from *Log, first, last uint64, logger hclog.Logger) (err error) {
	path := d.boltFile() + newSuffix
	leftovers := []string{path}
	if to == WAL {
		leftovers = append(leftovers, d.walFolder())
	}
	for _, name := range leftovers {
		err := d.disk.Do("delete leftovers of a conversion", 0, func() error { return os.RemoveAll(name) })
		if err != nil {
			return Failed("delete leftovers of a conversion", err)
		}
	}
	bolt, err := openBoltStore(path, d.disk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	log := &summedStore{LogStore: bolt, stable: bolt, path: path}
	if err := d.disk.Do("copy term and vote", 0, func() error { return copyStable(log, from.in, to) }); err != nil {
		return Failed("copy term and vote", err)
	}
	if to == WAL {
		var w *wal.WAL
		if w, _, err = d.segments(log, logger).open(false); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		log.LogStore = w
	}
	return d.copyEntries(log, from, first, last)
}

// copyStable copies all that raft and this package keep beside the log.
func copyStable(to, from *summedStore, kind Kind) error {
	keys := []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand", string(keyRefusals), string(keyAhead)}
	for _, key := range keys {
		v, err := from.Get([]byte(key))
		if noKey(err) {
			continue
		}
		if err == nil {
			err = to.Set([]byte(key), v)
		}
		if err != nil {
			return err
		}
	}
	return to.Set(keyKind, []byte(kind))
}

// copyBytes are written at once, or one entry.
const copyBytes = 4 << 20

func (d *Dir) copyEntries(to *summedStore, from *Log, first, last uint64) error {
	var batch []*raft.Log
	size := 0
	for i := first; i <= last && i > 0; i++ {
		l, err := from.read(i)
		if err != nil {
			return err
		}
		batch = append(batch, &l)
		if size += len(l.Data) + 64; size < copyBytes && i < last {
			continue
		}
		err = d.disk.Do("copy log entries", int64(size), func() error { return to.StoreLogs(batch) })
		if err != nil {
			return Failed("copy log entries", err)
		}
		batch, size = nil, 0
	}
	return nil
}
