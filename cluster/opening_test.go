package cluster

import (
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster/logstore"

	"github.com/hashicorp/raft"
)

// sickStore hangs or fails at its first reading.
type sickStore struct {
	*raft.InmemStore
	hang chan struct{}
	err  error
}

func (s *sickStore) FirstIndex() (uint64, error) {
	if s.hang != nil {
		<-s.hang
	}
	if s.err != nil {
		return 0, s.err
	}
	return s.InmemStore.FirstIndex()
}

func (s *sickStore) config() Config {
	_, trans := raft.NewInmemTransport("a")
	return Config{ID: "a", RaftAddr: "a", Backend: &Backend{Log: s, Stable: s,
		Snapshots: raft.NewInmemSnapshotStore(), Transport: trans}}
}

func TestDiskThatHangsWhileOpeningIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sickStore{InmemStore: raft.NewInmemStore(), hang: make(chan struct{})}
		begun := time.Now()
		_, err := Open(s.config())
		if took := time.Since(begun); !errors.Is(err, logstore.ErrDiskStuck) || took > 6*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		close(s.hang)
	})
}

func TestDiskThatFailsWhileOpeningIsAnError(t *testing.T) {
	s := &sickStore{InmemStore: raft.NewInmemStore(), err: syscall.EIO}
	if _, err := Open(s.config()); !errors.Is(err, logstore.ErrDiskFailed) || !errors.Is(err, syscall.EIO) {
		t.Errorf("opened: %v", err)
	}
}

// Connections teach a server its cluster while it is opened: whoever is first counts,
// and what is on disk is what the server goes by.
func TestIdentityHasOneWriter(t *testing.T) {
	cfg := goodConfig(t)
	cfg.Listener = listener(t)
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := []string{"one", "two"}[i%2]
			if err := r.learnCluster(id); (err == nil) != (id == r.Cluster()) || err != nil &&
				!errors.Is(err, ErrOtherCluster) {
				t.Errorf("told of %q: %v, and is of %q", id, err, r.Cluster())
			}
		})
	}
	wg.Wait()
	if cluster, server, err := r.dir.Identity(); err != nil || cluster != r.Cluster() || server != "s1" {
		t.Errorf("on disk: cluster %q, server %q, %v; in memory %q", cluster, server, err, r.Cluster())
	}
	if left, err := filepath.Glob(filepath.Join(cfg.DataDir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
