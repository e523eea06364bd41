package cluster

import (
	"fmt"

	"vigil/cluster/logstore"
)

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
	data, err := r.openData()
	if err != nil {
		return err
	}
	r.store, r.snaps = data.Log, data.Snapshots
	last, err := r.store.LastIndex()
	if err != nil {
		return err
	}
	empty := last == 0 && data.Index == 0
	r.fresh.Store(empty && r.cfg.BootstrapExpect == 0)
	r.founding.Store(empty && r.cfg.BootstrapExpect > 0)
	if level := data.State.Level(); level > r.cfg.Features {
		return fmt.Errorf("open the snapshot: %w", unreadLevel(level, r.cfg.Features))
	}
	r.machine = newMachine(&r.cfg, data.State, r.met, r.fail)
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
	return dir.Open(r.identified, r.cfg.Logger)
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
