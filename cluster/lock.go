package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Errors of a data directory.
var (
	// ErrDataInUse says that another process works in the data directory.
	ErrDataInUse = errors.New("data directory is in use")
	// ErrOtherCluster says that the data, or a peer, belongs to another cluster.
	ErrOtherCluster = errors.New("belongs to another cluster")
	// ErrDataLost says that this server was a member of the cluster and its data is
	// gone. With an empty log but its old vote it could help to elect a leader that
	// lacks acknowledged writes, so it has to be removed and added again.
	ErrDataLost = errors.New("this server was a member before, and its data is gone")
	// ErrDamaged says that the data cannot be read back completely.
	ErrDamaged = errors.New("data is damaged")
)

// dataDir is a locked directory and the identity of the cluster in it.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir makes the directory if need be and locks it for this process.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := lockFile(f); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w: stop the server that runs there or name another directory", path, ErrDataInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &dataDir{path: path, lock: f}, nil
}

// lockFile waits a moment for a server that was killed while it started a program: a child
// holds the lock until it becomes that program.
func lockFile(f *os.File) (err error) {
	for range 25 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// close gives the lock back.
func (d *dataDir) close() error { return d.lock.Close() }

func (d *dataDir) identityFile() string { return filepath.Join(d.path, "cluster") }

// identity gives the cluster and the server that the data belongs to; empty
// strings when the directory is new.
func (d *dataDir) identity() (cluster, server string, err error) {
	data, err := os.ReadFile(d.identityFile())
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read cluster id: %w", err)
	}
	f := strings.Fields(string(data))
	if len(f) != 2 {
		return "", "", fmt.Errorf("read %s: %w: want a cluster id and a server id", d.identityFile(), ErrDamaged)
	}
	return f[0], f[1], nil
}

// setIdentity writes the identity, durably.
func (d *dataDir) setIdentity(cluster, server string) error {
	tmp := d.identityFile() + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write cluster id: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s %s\n", cluster, server)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, d.identityFile())
	}
	if err == nil {
		err = syncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("write cluster id: %w", err)
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
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
