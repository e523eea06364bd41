package cluster

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// boltLog is the log on this server's disk.
type boltLog struct {
	*raftboltdb.BoltStore
	path string
}

// awaitDisk runs what reads and writes the data before Run listens for failures. It
// gives the disk's error at once: whoever met it never comes back.
func (r *Replica) awaitDisk(op func() error) error {
	done := make(chan error, 1)
	go func() { done <- op() }()
	select {
	case err := <-done:
		return err
	case err := <-r.fatal:
		return err
	}
}

func (r *Replica) openAll() error {
	entries, err := r.openData()
	if err != nil {
		return err
	}
	from, err := r.loadSnapshot()
	if err != nil {
		return err
	}
	if r.bolt != nil {
		if err := r.checkLog(entries, from.index, from.term); err != nil {
			return err
		}
	}
	last, err := r.store.LastIndex()
	if err != nil {
		return err
	}
	empty := last == 0 && from.index == 0
	r.fresh.Store(empty && r.cfg.BootstrapExpect == 0)
	r.founding.Store(empty && r.cfg.BootstrapExpect > 0)
	if level := from.state.Level(); level > r.cfg.Features {
		return fmt.Errorf("open the snapshot: %w", unreadLevel(level, r.cfg.Features))
	}
	r.machine = newMachine(&r.cfg, from.state, r.met, r.fail)
	r.machine.after, r.machine.persisted, r.machine.replaced = r.afterEntry, r.keepLog, r.startLog
	r.batch = newBatcher(&r.cfg, r.met, &r.machine.answering, r.propose)
	if err := r.openTransport(); err != nil {
		return err
	}
	if id := r.Cluster(); id != "" {
		return r.adopt(id)
	}
	return nil
}

// openData opens the directory and the stores in it, and gives the entries that the
// log says that it holds.
func (r *Replica) openData() (entries []span, err error) {
	if b := r.cfg.Backend; b != nil {
		r.setCluster(r.cfg.Cluster)
		s := &summedStore{LogStore: b.Log, stable: b.Stable, path: "the log"}
		r.store = newGuardedStore(s, s, r.cfg.Timing.Disk, r.fail)
		r.snaps = b.Snapshots
		return nil, nil
	}
	var dir *dataDir
	err = r.onDisk("open data directory", 0, func() (err error) { dir, err = openDataDir(r.cfg.DataDir); return err })
	if err != nil {
		return nil, err
	}
	r.dir = dir
	if err := r.checkIdentity(); err != nil {
		return nil, err
	}
	if entries, err = r.openLog(); err != nil {
		return nil, err
	}
	err = r.onDisk("open snapshots", 0, func() (err error) {
		r.snaps, err = raft.NewFileSnapshotStoreWithLogger(dir.path, 3, r.cfg.Logger.Named("snapshot"))
		return err
	})
	if err != nil {
		return nil, diskError("open snapshots", err)
	}
	return entries, nil
}

// openLog checks the log's file and opens it.
func (r *Replica) openLog() (entries []span, err error) {
	names, err := r.snapshotNames()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(r.dir.path, "raft.db")
	if entries, err = r.checkLogFile(path, r.identified || len(names) > 0); err != nil {
		return nil, err
	}
	opts := *bbolt.DefaultOptions
	opts.NoFreelistSync = true
	opts.FreelistType = bbolt.FreelistMapType
	opts.Timeout = r.cfg.Timing.Disk / 5
	opts.InitialMmapSize = 1 << 30 // address space, not memory: saves remapping while it grows
	err = r.onDisk("open log", 0, func() error {
		b, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &opts, MsgpackUseNewTimeFormat: true})
		if err == nil {
			r.bolt = &boltLog{b, path}
		}
		return err
	})
	if err != nil {
		return nil, diskError("open log", err)
	}
	s := &summedStore{LogStore: r.bolt, stable: r.bolt, path: path}
	r.store = newGuardedStore(s, s, r.cfg.Timing.Disk, r.fail)
	return entries, nil
}

// dropAll gives back what a failed Open took. It does not wait for long: the disk
// that failed may not let go of it.
func (r *Replica) dropAll() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.trans != nil && r.cfg.Backend == nil {
			_ = r.trans.Close() // the error that brought us here matters more
		}
		_ = r.release()
	}()
	within(settleBound, done)
}
