package logstore

import (
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
}

// Open checks the data in the directory and opens it. Old says that this server has taken
// part in a cluster: then it must have a log. Errors: ErrDamaged, ErrDiskFailed,
// fsm.ErrNewer. Dir.Close closes the data, also after an error.
func (d *Dir) Open(old bool, logger hclog.Logger) (*Data, error) {
	snaps := &Snapshots{dir: filepath.Join(d.Path, "snapshots"), disk: d.disk, log: logger}
	names, err := snaps.names()
	if err != nil {
		return nil, err
	}
	log, entries, err := d.openLog(old || len(names) > 0)
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
	if err := data.load(); err != nil {
		return nil, err
	}
	if err := log.check(entries, data.Index, data.Term); err != nil {
		return nil, err
	}
	return data, nil
}

// Over is Open for stores that somebody else holds, which are not checked before they are read.
func Over(
	log raft.LogStore, stable raft.StableStore, snaps raft.SnapshotStore, disk Disk, logger hclog.Logger,
) (*Data, error) {
	data := &Data{
		Log:       newLog(log, stable, "the log", disk),
		Snapshots: &Snapshots{SnapshotStore: snaps, disk: disk, log: logger},
	}
	return data, data.load()
}

// openLog checks the log's file and opens it. It gives the entries that the log says
// that it holds.
func (d *Dir) openLog(old bool) (*Log, []span, error) {
	path := filepath.Join(d.Path, "raft.db")
	entries, err := checkFile(path, old, d.disk)
	if err != nil {
		return nil, nil, err
	}
	opts := *bbolt.DefaultOptions
	opts.NoFreelistSync = true
	opts.FreelistType = bbolt.FreelistMapType
	opts.Timeout = d.disk.Limit / 5
	opts.InitialMmapSize = 1 << 30 // address space, not memory: saves remapping while it grows
	err = d.disk.Do("open log", 0, func() (err error) {
		d.bolt, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &opts, MsgpackUseNewTimeFormat: true})
		return err
	})
	if err != nil {
		return nil, nil, Failed("open log", err)
	}
	return newLog(d.bolt, d.bolt, path, d.disk), entries, nil
}
