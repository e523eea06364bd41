package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
)

// Errors of a data directory.
var (
	// ErrInUse says that another process works in the data directory.
	ErrInUse = errors.New("data directory is in use")
	// ErrDamaged says that the data cannot be read back completely.
	ErrDamaged = errors.New("data is damaged")
)

// remedy is what helps a server whose data is damaged.
const remedy = "remove this server from the cluster, empty its data directory and add it again; " +
	"if no majority of the servers is left, found a new cluster and restore a backup"

// Dir is a data directory that is locked for this process, and the identity in it. It belongs
// to one goroutine at a time.
type Dir struct {
	Path string
	disk Disk
	lock *os.File
	bolt *raftboltdb.BoltStore  // nil before Open
	wal  *wal.WAL               // nil without one
	size int                    // of a segment; tests change it
	held map[string]fs.FileInfo // the files that are open, by path, since Open
}

// Used tells whether a directory holds the identity of a server. It makes and locks nothing.
func Used(path string) bool {
	info, err := os.Stat((&Dir{Path: path}).identityFile())
	return err == nil && info.Mode().IsRegular()
}

// OpenDir makes the directory if need be and locks it for this process.
func OpenDir(path string, disk Disk) (d *Dir, err error) {
	err = disk.Do("open data directory", 0, func() (err error) { d, err = openDir(path, disk); return err })
	return d, err
}

func openDir(path string, disk Disk) (*Dir, error) {
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
			return nil, fmt.Errorf("lock %s: %w: stop the server that runs there or name another directory",
				path, ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Dir{Path: path, disk: disk, lock: f, size: segmentBytes}, nil
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

// Free is how many bytes the disk of the directory has room for.
func (d *Dir) Free() (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(d.Path, &st); err != nil {
		return 0, fmt.Errorf("measure the disk of %s: %w", d.Path, err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// Close closes the log and gives the lock back.
func (d *Dir) Close() error {
	return errors.Join(d.closeLog(), d.lock.Close())
}

func (d *Dir) closeLog() error {
	var err error
	if d.wal != nil {
		err = d.wal.Close()
	}
	if d.bolt != nil {
		err = errors.Join(err, d.bolt.Close())
	}
	d.wal, d.bolt = nil, nil
	return err
}

func (d *Dir) boltFile() string { return filepath.Join(d.Path, "raft.db") }

func (d *Dir) walFolder() string { return filepath.Join(d.Path, "wal") }

func (d *Dir) identityFile() string { return filepath.Join(d.Path, "cluster") }

// Identity gives the cluster and the server that the data belongs to; empty strings
// when the directory is new.
func (d *Dir) Identity() (cluster, server string, err error) {
	var data []byte
	err = d.disk.Do("read identity", 0, func() (err error) { data, err = os.ReadFile(d.identityFile()); return err })
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", Failed("read identity", fmt.Errorf("read cluster id: %w", err))
	}
	f := strings.Fields(string(data))
	if len(f) != 2 {
		return "", "", fmt.Errorf("read identity: read %s: %w: want a cluster id and a server id",
			d.identityFile(), ErrDamaged)
	}
	return f[0], f[1], nil
}

// SetIdentity writes the identity, durably. An error is one of the disk.
func (d *Dir) SetIdentity(cluster, server string) error {
	err := d.disk.Do("write identity", 0, func() error { return d.writeIdentity(cluster, server) })
	if err != nil {
		return Failed("write identity", fmt.Errorf("write cluster id: %w", err))
	}
	return nil
}

func (d *Dir) writeIdentity(cluster, server string) error {
	tmp := d.identityFile() + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s\n", cluster, server)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, d.identityFile())
	}
	if err == nil {
		err = syncDir(d.Path)
	}
	return err
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
