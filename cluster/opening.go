package cluster

import (
	"fmt"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
)

func (r *Replica) openAll() error {
	data, err := r.openData()
	if err != nil {
		return err
	}
	r.store, r.snaps = data.Log, data.Snapshots
	r.trailing.buildOn(data.Index, data.Term)
	last, err := r.store.LastIndex()
	if err != nil {
		return err
	}
	empty := last == 0 && data.Index == 0
	r.fresh.Store(empty)
	if level := data.State.Level(); level > r.cfg.Features {
		return fmt.Errorf("open the snapshot: %w", unreadLevel(level, r.cfg.Features))
	}
	r.machine = newMachine(&r.cfg, data.State, r.met, r.fail)
	r.machine.after, r.machine.persisted, r.machine.replaced = r.afterEntry, r.trailing.keepLog, r.trailing.startLog
	if r.dir != nil {
		r.trailing.free = r.dir.Free
	}
	r.batch = newBatcher(&r.cfg, r.met, &r.machine.answering, r.propose, r.fail)
	if err := r.openTransport(); err != nil {
		return err
	}
	if id := r.Cluster(); id != "" {
		return r.adopt(id)
	}
	return nil
}

// openData opens what the server has stored.
func (r *Replica) openData() (*logstore.Data, error) {
	disk := logstore.Disk{Limit: r.cfg.Timing.Disk, Fatal: r.fail}
	if b := r.cfg.Backend; b != nil {
		r.setCluster(r.cfg.Cluster)
		return logstore.Over(b.Log, b.Stable, b.Snapshots, disk, r.log)
	}
	dir, err := logstore.OpenDir(r.cfg.DataDir, disk)
	if err != nil {
		return nil, err
	}
	r.dir = dir
	if err := r.checkIdentity(); err != nil {
		return nil, err
	}
	return dir.Open(r.identified, r.cfg.LogStore, r.cfg.Logger)
}

// dropAll gives back what a failed Open took. It does not wait for long: the disk
// that failed may not let go of it.
func (r *Replica) dropAll() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.port != nil {
			_ = r.trans.Close() // the error that brought us here matters more
		}
		_ = r.release()
	}()
	within(settleBound, done)
}

// ownAddress refuses to run under another address than the one by which the other
// servers know this one: they would never reach it.
func (r *Replica) ownAddress(rf *raft.Raft) error {
	fut := rf.GetConfiguration()
	if err := fut.Error(); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	members := fut.Configuration().Servers
	for _, s := range members {
		if string(s.ID) != r.cfg.ID || s.Address == r.trans.LocalAddr() {
			continue
		}
		move := fmt.Sprintf("vigil server recover --data-dir %s --raft-addr %s", r.cfg.DataDir, r.trans.LocalAddr())
		remedy := "start it there; or, while the others run, remove it from the cluster and add it again with an empty " +
			"data directory; or, where the addresses of all have changed, have one go on alone, here by `" + move + "`"
		if len(members) == 1 { // it has the only copy
			remedy = "start it there, or move it by `" + move + "`"
		}
		return fmt.Errorf("start server %s: the cluster knows it at raft address %s, not at %s: %s",
			r.cfg.ID, s.Address, r.trans.LocalAddr(), remedy)
	}
	return nil
}
