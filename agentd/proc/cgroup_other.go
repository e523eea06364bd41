//go:build unix && !linux

package proc

import (
	"errors"
	"syscall"
	"time"
)

// Cgroup is a control group; there are none here.
type Cgroup struct{}

// NewCgroup gives nil and says what that means.
func NewCgroup(_ string, limits Limits) (c *Cgroup, degraded []string) {
	degraded = []string{"no control groups on this system: its processes are frozen and killed one by one"}
	if limits.Memory != 0 || limits.Pids != 0 {
		degraded = append(degraded, "limits of memory and processes are not enforced")
	}
	return nil, degraded
}

// Folders gives nothing.
func (c *Cgroup) Folders() []string { return nil }

// CgroupFolders gives nothing.
func CgroupFolders(string) []string { return nil }

// OutOfMemory tells nothing.
func (c *Cgroup) OutOfMemory() (killed, own bool) { return false, false }

// Remove does nothing.
func (c *Cgroup) Remove() error { return nil }

// RemoveCgroup tells that nothing is left.
func RemoveCgroup(string) (left bool) { return false }

func (c *Cgroup) enter(*syscall.SysProcAttr) (leave func(), err error) { return func() {}, nil }

func (c *Cgroup) unifies() bool { return false }

func (c *Cgroup) holds(int) bool { return false }

func (c *Cgroup) kill() (left bool) { return false }

func (c *Cgroup) freeze(bool, time.Duration) error { return errors.New("there are no control groups") }
