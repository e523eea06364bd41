package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"vigil/fsm"
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
	r.Read(func(s *fsm.State) {
		known = slices.ContainsFunc(s.Servers(), func(p fsm.PutServer) bool { return p.ID == id })
	})
	return known
}

func (r *Replica) setCluster(id string) { r.cluster.Store(&id) }

// checkIdentity compares the data with the configuration.
func (r *Replica) checkIdentity() error {
	cluster, server, err := r.dir.identity()
	if err != nil {
		return err
	}
	if server != "" && server != r.cfg.ID {
		return fmt.Errorf("data in %s belongs to server %q: run it under that id, or name another directory for %q",
			r.dir.path, server, r.cfg.ID)
	}
	if cluster != "" && r.cfg.Cluster != "" && cluster != r.cfg.Cluster {
		return fmt.Errorf("data in %s %w: it is of %q, the configuration says %q: name another directory or correct the id",
			r.dir.path, ErrOtherCluster, cluster, r.cfg.Cluster)
	}
	if cluster == "" {
		cluster = r.cfg.Cluster
	}
	r.setCluster(cluster)
	return nil
}

// learnCluster checks the id that a connecting server greets with. A server that
// was started to be added takes it over.
func (r *Replica) learnCluster(id string) error {
	if id == "" {
		return errors.New("peer does not know its cluster")
	}
	if id == r.Cluster() {
		return nil
	}
	r.learning.Lock()
	defer r.learning.Unlock()
	switch own := r.Cluster(); own {
	case id:
		return nil
	case "":
	default:
		return fmt.Errorf("peer %w: %q, this is %q", ErrOtherCluster, id, own)
	}
	if r.dir == nil {
		return fsm.ErrStopping
	}
	if err := r.dir.setIdentity(id, r.cfg.ID); err != nil {
		r.fail(err)
		return err
	}
	r.setCluster(id)
	r.log.Info("joined cluster", "cluster", id)
	return nil
}

// bootstrap writes the first configuration when this is a server of a new cluster.
func (r *Replica) bootstrap() error {
	has, err := raft.HasExistingState(r.store, r.store, r.snaps)
	if err != nil {
		return fmt.Errorf("look for data: %w", err)
	}
	if !has && r.cfg.BootstrapExpect > 0 {
		if r.cfg.Backend == nil {
			if knower := askAll(r.cfg.Peers, r.cfg.ID); knower != "" {
				return fmt.Errorf("bootstrap cluster: %w: server %s knows %s as a member: remove %s from the cluster, "+
					"then start it with bootstrap_expect 0 and add it again", ErrDataLost, knower, r.cfg.ID, r.cfg.ID)
			}
		}
		if r.Cluster() == "" {
			r.setCluster(deriveCluster(r.cfg.Peers))
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
		err := raft.BootstrapCluster(r.cfg.raftConfig(nil), r.store, r.store, r.snaps, r.trans, conf)
		if err != nil {
			return fmt.Errorf("bootstrap cluster: %w", err)
		}
		r.log.Info("bootstrapped", "cluster", r.Cluster(), "servers", len(conf.Servers))
	}
	if r.dir == nil || r.Cluster() == "" {
		return nil
	}
	if known, _, err := r.dir.identity(); err != nil || known != "" {
		return err
	}
	return r.dir.setIdentity(r.Cluster(), r.cfg.ID)
}

// loadSnapshot loads the newest snapshot that is whole and makes raft see only
// that one, then checks that the log goes on from there.
func (r *Replica) loadSnapshot() (*fsm.State, error) {
	metas, err := r.snaps.List()
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	state, index := fsm.New(), uint64(0)
	bad := map[string]bool{}
	for _, meta := range metas {
		s, err := readSnapshot(r.snaps, meta.ID)
		if err == nil {
			state, index = s, meta.Index
			break
		}
		r.log.Error("snapshot is damaged, trying the one before", "snapshot", meta.ID, "error", err)
		bad[meta.ID] = true
	}
	first, err := r.store.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := r.store.LastIndex()
	if err != nil {
		return nil, err
	}
	gap := first > index+1
	if len(bad) == len(metas) && len(metas) > 0 {
		gap = gap || first == 0
	}
	if gap && last > index {
		return nil, fmt.Errorf("load data: %w: no good snapshot reaches the log, which begins at entry %d: "+
			"remove this server from the cluster, empty its data directory and add it again", ErrDamaged, first)
	}
	if gap {
		return nil, fmt.Errorf("load data: %w: no snapshot is whole: "+
			"remove this server from the cluster, empty its data directory and add it again", ErrDamaged)
	}
	if len(bad) > 0 {
		r.snaps = &goodSnapshots{SnapshotStore: r.snaps, bad: bad}
	}
	return state, nil
}

func readSnapshot(store raft.SnapshotStore, id string) (*fsm.State, error) {
	_, rc, err := store.Open(id)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	defer rc.Close()
	return fsm.Load(bufio.NewReaderSize(rc, 1<<20))
}

// goodSnapshots hides damaged snapshots from raft.
type goodSnapshots struct {
	raft.SnapshotStore
	bad map[string]bool
}

func (s *goodSnapshots) List() ([]*raft.SnapshotMeta, error) {
	metas, err := s.SnapshotStore.List()
	return slices.DeleteFunc(metas, func(m *raft.SnapshotMeta) bool { return s.bad[m.ID] }), err
}
