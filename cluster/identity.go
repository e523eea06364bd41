package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"vigil/cluster/logstore"
	"vigil/fsm/noun"
)

// Errors of what a server was before.
var (
	// ErrOtherCluster says that the data, or a peer, belongs to another cluster.
	ErrOtherCluster = errors.New("belongs to another cluster")
	// ErrDataLost says that this server was a member of the cluster and its data is
	// gone. With an empty log but its old vote it could help to elect a leader that
	// lacks acknowledged writes, so it has to be removed and added again.
	ErrDataLost = errors.New("this server was a member before, and its data is gone")
)

// identity is what cluster this server belongs to, as its disk says. Safe for concurrent use.
type identity struct {
	*node
	cluster atomic.Pointer[string] // nil: unknown
	dir     *logstore.Dir          // nil with a Backend, and after release

	// learning guards the identity file and dir against connections that come while
	// they close.
	learning sync.Mutex
	// identified tells that the identity file is written; guarded by learning.
	identified bool
	fresh      atomic.Bool // it has no log, and waits to be added; see Outside
}

// Cluster gives the id of the cluster, empty while it is unknown.
func (i *identity) Cluster() string {
	if p := i.cluster.Load(); p != nil {
		return *p
	}
	return ""
}

func (i *identity) setCluster(id string) { i.cluster.Store(&id) }

// Whoever recovers a cluster makes another one of it, whose id ends in a mark and the epoch in which
// that happened. So the servers that were given up cannot take part, should they come back; hosts and new
// servers, which are told the id that the cluster had, follow.
const recoveredMark = "~"

// lineage is the id that a cluster had before anybody recovered it.
func lineage(id string) string {
	first, _, _ := strings.Cut(id, recoveredMark)
	return first
}

// checkIdentity compares the data with the configuration.
func (i *identity) checkIdentity() error {
	cluster, server, err := i.dir.Identity()
	if err != nil {
		return err
	}
	if server != "" && server != i.cfg.ID {
		return fmt.Errorf("data in %s belongs to server %q: run it under that id, or name another directory for %q",
			i.dir.Path, server, i.cfg.ID)
	}
	if cluster != "" && i.cfg.Cluster != "" && lineage(cluster) != lineage(i.cfg.Cluster) {
		return fmt.Errorf("data in %s %w: it is of %q, the configuration says %q: name another directory or correct the id",
			i.dir.Path, ErrOtherCluster, cluster, i.cfg.Cluster)
	}
	i.identified = cluster != ""
	if cluster == "" {
		cluster = i.cfg.Cluster
	}
	i.setCluster(cluster)
	return nil
}

// learnCluster checks the id that a connecting server greets with. A server that
// was started to be added takes it over.
func (i *identity) learnCluster(id string) error {
	switch {
	case id == "":
		return errors.New("peer does not know its cluster")
	case id == i.Cluster():
		return nil
	}
	return i.adopt(id)
}

// adopt makes the cluster this server's own, on disk first. It is the only writer of
// the identity: connections come while the server is opened, and while it closes.
func (i *identity) adopt(id string) error {
	i.learning.Lock()
	defer i.learning.Unlock()
	own := i.Cluster()
	if own != "" && own != id && (!i.fresh.Load() || lineage(own) != lineage(id)) {
		return fmt.Errorf("peer %w: %q, this is %q", ErrOtherCluster, id, own)
	}
	if i.cfg.Backend == nil && (!i.identified || own != id) {
		if i.dir == nil {
			return noun.ErrStopping
		}
		if err := i.dir.SetIdentity(id, i.cfg.ID); err != nil {
			i.fail(err)
			return err
		}
		i.identified = true
	}
	if own != id {
		i.setCluster(id)
		i.log.Info("belongs to cluster", "cluster", id)
	}
	return nil
}

// directoryLook is how often a server looks whether its data directory is still there.
const directoryLook = 2 * time.Second

// watchDirectory ends a server whose data directory is deleted or replaced under it.
func (i *identity) watchDirectory(ctx context.Context) {
	look := time.NewTicker(directoryLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		i.learning.Lock()
		dir := i.dir
		i.learning.Unlock()
		if dir == nil {
			return
		}
		if err := dir.Held(); err != nil {
			i.fail(err)
			return
		}
	}
}

// release closes the files. Sockets belong to raft once it runs.
func (i *identity) release() error {
	i.learning.Lock()
	defer i.learning.Unlock()
	if i.dir == nil {
		return nil
	}
	dir := i.dir
	i.dir = nil
	return dir.Close()
}
