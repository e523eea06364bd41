package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// A server whose snapshots cannot be read is not a new one: it has promised things.
func TestL8UnreadableSnapshotIsNoNewServer(t *testing.T) {
	for _, file := range []string{"meta.json", "state.bin"} {
		for _, found := range []bool{false, true} {
			d := newDiskLog(t, 1)
			d.founds = found
			dir := d.snapshot(7, 1)
			d.opened("a snapshot and no log")
			damageFile(t, filepath.Join(dir, file))
			d.refused("no snapshot can be read: "+file, filepath.Base(dir), "cannot be read")
		}
	}
	d := newDiskLog(t, 1, distinct(1, 9, 1)...)
	d.snapshot(3, 1)
	damageFile(t, filepath.Join(d.snapshot(7, 1), "meta.json"))
	d.opened("the newest snapshot is damaged, the log reaches past it")

	d = newDiskLog(t, 1)
	d.snapshot(3, 1)
	damageFile(t, filepath.Join(d.snapshot(7, 1), "state.bin"))
	d.refused("an older snapshot, and no log from there on", "cannot be read")

	d = newDiskLog(t, 1, distinct(1, 6, 1)...)
	d.snapshot(3, 1)
	damageFile(t, filepath.Join(d.snapshot(7, 1), "state.bin"))
	d.refused("a log that does not reach as far as the damaged snapshot did", "cannot be read")
}

func damageFile(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 3; i < len(data)/2; i++ {
		data[i] ^= 0x55
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskWhileOpeningIsAnError(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	d := newDiskLog(t, 1)
	if err := errors.Join(os.Remove(d.file), os.Symlink("/dev/full", d.file)); err != nil {
		t.Fatal(err)
	}
	r, err := d.open()
	if err == nil {
		r.Close()
	}
	if !errors.Is(err, ErrDiskFailed) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("opened a full disk: %v", err)
	}
}

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
	return Config{ID: "a", RaftAddr: "a", Backend: &Backend{Log: s, Stable: s, Snapshots: raft.NewInmemSnapshotStore(), Transport: trans}}
}

func TestDiskThatHangsWhileOpeningIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sickStore{InmemStore: raft.NewInmemStore(), hang: make(chan struct{})}
		begun := time.Now()
		_, err := Open(s.config())
		if took := time.Since(begun); !errors.Is(err, ErrDiskStuck) || took > 6*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		close(s.hang)
	})
}

func TestDiskThatFailsWhileOpeningIsAnError(t *testing.T) {
	s := &sickStore{InmemStore: raft.NewInmemStore(), err: syscall.EIO}
	if _, err := Open(s.config()); !errors.Is(err, ErrDiskFailed) || !errors.Is(err, syscall.EIO) {
		t.Errorf("opened: %v", err)
	}
}

// The log is mapped into memory: a page that cannot be read is a fault there, which
// ends the process without a word unless somebody looks.
func TestLogThatShrinksIsAnError(t *testing.T) {
	d := newDiskLog(t, 1, distinct(1, 300, 1)...)
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.file, 3*4096); err != nil {
		t.Fatal(err)
	}
	go r.store.read(300) // stays there
	if err := <-r.fatal; !errors.Is(err, ErrDiskFailed) && !errors.Is(err, ErrDamaged) {
		t.Errorf("read a file that has shrunk: %v", err)
	}
	if err := r.trans.Close(); err != nil {
		t.Error(err)
	}
}

// Connections teach a server its cluster while it is opened: whoever is first counts,
// and what is on disk is what the server goes by.
func TestIdentityHasOneWriter(t *testing.T) {
	d := newDiskLog(t, 1)
	d.cfg.Cluster = ""
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := []string{"one", "two"}[i%2]
			if err := r.learnCluster(id); (err == nil) != (id == r.Cluster()) || err != nil && !errors.Is(err, ErrOtherCluster) {
				t.Errorf("told of %q: %v, and is of %q", id, err, r.Cluster())
			}
		})
	}
	wg.Wait()
	if cluster, server, err := r.dir.identity(); err != nil || cluster != r.Cluster() || server != "s1" {
		t.Errorf("on disk: cluster %q, server %q, %v; in memory %q", cluster, server, err, r.Cluster())
	}
	if left, err := filepath.Glob(filepath.Join(d.cfg.DataDir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
