package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"vigil/fsm"
)

// Data is what one server has stored: its log with the term and the vote, its snapshots, and
// the state of the newest snapshot that is whole. Together they are what the server had
// acknowledged, or it is not opened.
type Data struct {
	Log       *Log
	Snapshots *Snapshots

	State       *fsm.State // of that snapshot; new when there is none
	Index, Term uint64     // that it reaches; 0 when there is none

	ahead []ahead // snapshots that are on the disk, in the order in which they were begun
}

// Open checks the data in the directory and opens it. Old says that this server has taken
// part in a cluster: then it must have a log. Want is the kind that the log is to have; empty: the one
// that it has, Bolt when it is new. Errors: ErrDamaged, ErrDiskFailed, ErrOtherKind,
// fsm.ErrNewer. Dir.Close closes the data, also after an error.
func (d *Dir) Open(old bool, want Kind, logger hclog.Logger) (*Data, error) {
	if err := d.dropUnfinished(logger); err != nil { // first: the rest may need the room
		return nil, err
	}
	snaps := &Snapshots{dir: filepath.Join(d.Path, "snapshots"), disk: d.disk, log: logger}
	names, err := snaps.names()
	if err != nil {
		return nil, err
	}
	log, entries, err := d.openLog(old || len(names) > 0, want, logger)
	if err != nil {
		return nil, err
	}
	err = d.disk.Do("open snapshots", 0, func() (err error) {
		snaps.SnapshotStore, err = raft.NewFileSnapshotStoreWithLogger(d.Path, 3, logger.Named("snapshot"))
		return err
	})
	if err != nil {
		return nil, Failed("open snapshots", err)
	}
	data := &Data{Log: log, Snapshots: snaps}
	if err := log.loadRefusals(); err != nil {
		return nil, err
	}
	if err := data.load(); err != nil {
		return nil, err
	}
	if err := log.check(entries, data.Index, data.Term); err != nil {
		return nil, err
	}
	if err := data.settle(); err != nil {
		return nil, err
	}
	return data, d.disk.Do("look at data directory", 0, d.hold)
}

// Over is Open for stores that somebody else holds, which are not checked before they are read.
func Over(
	log raft.LogStore, stable raft.StableStore, snaps raft.SnapshotStore, disk Disk, logger hclog.Logger,
) (*Data, error) {
	data := &Data{
		Log:       newLog(log, stable, "the log", disk),
		Snapshots: &Snapshots{SnapshotStore: snaps, disk: disk, log: logger},
	}
	if err := data.Log.loadRefusals(); err != nil {
		return nil, err
	}
	if err := data.load(); err != nil {
		return nil, err
	}
	return data, data.settle()
}

// settle finishes what a crash has interrupted, after load.
func (d *Data) settle() error {
	if len(d.ahead) > 0 {
		if err := d.setAhead(d.ahead); err != nil {
			return err
		}
	}
	d.Snapshots.note = d.noteAhead
	return d.Log.settle(d.Index, d.Term)
}

// openLog checks the log and opens it. It gives the entries that it holds.
func (d *Dir) openLog(old bool, want Kind, logger hclog.Logger) (*Log, []span, error) {
	path := d.boltFile()
	segs, err := filepath.Glob(filepath.Join(d.walFolder(), "*.wal"))
	if err != nil {
		return nil, nil, fmt.Errorf("look for log segments: %w", err)
	}
	entries, err := checkFile(path, old || len(segs) > 0, d.disk)
	if err != nil {
		return nil, nil, err
	}
	if d.bolt, err = openBoltStore(path, d.disk); err != nil {
		return nil, nil, err
	}
	stable := &summedStore{stable: d.bolt, stableIn: path}
	kind, made, err := d.kind(stable, want, len(entries) == 0)
	switch {
	case err != nil:
		return nil, nil, err
	case kind == Bolt:
		return newLog(d.bolt, d.bolt, path, d.disk), entries, d.dropLeftovers(kind)
	case len(entries) > 0:
		return nil, nil, fmt.Errorf("check %s: %w: it holds a log, and says that the log is in %s: %s", path, ErrDamaged,
			d.walFolder(), remedy)
	}
	if made { // a crash may have come before
		if err := d.dropLeftovers(Bolt); err != nil {
			return nil, nil, err
		}
	}
	segments := d.segments(stable, logger)
	if d.wal, entries, err = segments.open(old && !made); err != nil {
		return nil, nil, err
	}
	log := newLog(d.wal, d.bolt, d.walFolder(), d.disk)
	log.in.stableIn, log.whole = path, true
	return log, entries, d.dropLeftovers(kind)
}

// openBoltStore opens a file that was checked, or makes it.
func openBoltStore(path string, disk Disk) (store *raftboltdb.BoltStore, err error) {
	opts := *bbolt.DefaultOptions
	opts.NoFreelistSync = true
	opts.FreelistType = bbolt.FreelistMapType
	opts.Timeout = disk.Limit / 5
	opts.InitialMmapSize = 1 << 30 // address space, not memory: saves remapping while it grows
	err = disk.Do("open log", 0, func() (err error) {
		store, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &opts, MsgpackUseNewTimeFormat: true})
		return err
	})
	if err != nil {
		return nil, Failed("open log", err)
	}
	return store, nil
}

// dropLeftovers deletes what a conversion that was interrupted has left; the log is of the kind given.
func (d *Dir) dropLeftovers(kind Kind) error {
	err := d.disk.Do("delete leftovers of a conversion", 0, func() error {
		err := os.RemoveAll(d.boltFile() + newSuffix)
		if kind == Bolt {
			err = errors.Join(err, os.RemoveAll(d.walFolder()))
		}
		return err
	})
	if err != nil {
		return Failed("delete leftovers of a conversion", err)
	}
	return nil
}
