package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"vigil/fsm"
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

// Cluster gives the id of the cluster, empty while it is unknown.
func (r *Replica) Cluster() string {
	if p := r.cluster.Load(); p != nil {
		return *p
	}
	return ""
}

// knows tells whether the state has heard of a server.
func (r *Replica) knows(id string) (known bool) {
	r.Read(func(s *fsm.View) {
		known = slices.ContainsFunc(s.Servers(), func(p noun.Server) bool { return p.ID == id })
	})
	return known
}

func (r *Replica) setCluster(id string) { r.cluster.Store(&id) }

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
func (r *Replica) checkIdentity() error {
	cluster, server, err := r.dir.Identity()
	if err != nil {
		return err
	}
	if server != "" && server != r.cfg.ID {
		return fmt.Errorf("data in %s belongs to server %q: run it under that id, or name another directory for %q",
			r.dir.Path, server, r.cfg.ID)
	}
	if cluster != "" && r.cfg.Cluster != "" && lineage(cluster) != lineage(r.cfg.Cluster) {
		return fmt.Errorf("data in %s %w: it is of %q, the configuration says %q: name another directory or correct the id",
			r.dir.Path, ErrOtherCluster, cluster, r.cfg.Cluster)
	}
	r.identified = cluster != ""
	if cluster == "" {
		cluster = r.cfg.Cluster
	}
	r.setCluster(cluster)
	return nil
}

// learnCluster checks the id that a connecting server greets with. A server that
// was started to be added takes it over.
func (r *Replica) learnCluster(id string) error {
	switch {
	case id == "":
		return errors.New("peer does not know its cluster")
	case id == r.Cluster():
		return nil
	}
	return r.adopt(id)
}

// adopt makes the cluster this server's own, on disk first. It is the only writer of
// the identity: connections come while the server is opened, and while it closes.
func (r *Replica) adopt(id string) error {
	r.learning.Lock()
	defer r.learning.Unlock()
	own := r.Cluster()
	if own != "" && own != id && (!r.fresh.Load() || lineage(own) != lineage(id)) {
		return fmt.Errorf("peer %w: %q, this is %q", ErrOtherCluster, id, own)
	}
	if r.cfg.Backend == nil && (!r.identified || own != id) {
		if r.dir == nil {
			return noun.ErrStopping
		}
		if err := r.dir.SetIdentity(id, r.cfg.ID); err != nil {
			r.fail(err)
			return err
		}
		r.identified = true
	}
	if own != id {
		r.setCluster(id)
		r.log.Info("belongs to cluster", "cluster", id)
	}
	return nil
}

// bootstrap writes the first configuration, as a founder of a new cluster.
func (r *Replica) bootstrap() error {
	id := r.Cluster()
	if id == "" {
		id = deriveCluster(r.cfg.Peers)
	}
	if err := r.adopt(id); err != nil {
		return err
	}
	var conf raft.Configuration
	for _, p := range r.cfg.Peers {
		conf.Servers = append(conf.Servers, raft.Server{
			ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.RaftAddr),
		})
	}
	// All servers write the same list, whatever the order in their files.
	slices.SortFunc(conf.Servers, func(a, b raft.Server) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	// A crash may have come between the term and the first entry.
	if _, err := r.store.GetUint64([]byte("LastVoteTerm")); err != nil {
		if err := r.store.SetUint64([]byte("CurrentTerm"), 0); err != nil {
			return err
		}
	}
	err := raft.BootstrapCluster(r.cfg.raftConfig(nil), r.store, r.store, r.snaps, r.trans, conf)
	if err != nil {
		return fmt.Errorf("bootstrap cluster: %w", err)
	}
	r.log.Info("bootstrapped", "cluster", r.Cluster(), "servers", len(conf.Servers))
	return nil
}

// deriveCluster names a cluster after its first servers: all of them come to the
// same name without talking.
func deriveCluster(peers []Peer) string {
	lines := make([]string, 0, len(peers))
	for _, p := range peers {
		lines = append(lines, p.ID+"="+p.RaftAddr)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return "vigil-" + hex.EncodeToString(sum[:6])
}
