//go:build linux

package stand

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const groupPrefix = "vigil-stand-"

// group makes a cgroup for the stand, below which each machine has its own: what
// shims leave there goes with the machine. Empty when this machine has no cgroup v2
// to write to; then shims do without too. Groups of stands whose driver was killed
// are removed.
func group() (string, error) {
	root := groupRoot()
	if root == "" {
		return "", nil
	}
	old, err := filepath.Glob(filepath.Join(root, groupPrefix+"*"))
	if err != nil {
		return "", fmt.Errorf("list cgroups: %w", err)
	}
	for _, dir := range old {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), groupPrefix))
		if err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			if err := removeGroup(dir); err != nil {
				return "", err
			}
		}
	}
	dir := filepath.Join(root, groupPrefix+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", nil // a hierarchy that is not ours to change
	}
	return dir, nil
}

// groupRoot finds where cgroup v2 is mounted, "" when it is not.
func groupRoot() string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1]
		}
	}
	return ""
}

// removeGroup kills what is in a cgroup and below, and removes it.
func removeGroup(dir string) error {
	limit := time.Now().Add(patience)
	for {
		// Kernels before 5.14 do not know it; then what is left has to end by itself.
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				_ = os.Remove(path) // the ones that have groups below them are next
			}
			return nil // what is gone meanwhile is well
		})
		if _, e := os.Stat(dir); errors.Is(e, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("cgroup %s cannot be removed: %w", dir,
				errors.Join(err, errors.New("something in it does not end")))
		}
		time.Sleep(5 * time.Millisecond)
	}
}
