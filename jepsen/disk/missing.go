//go:build linux

package disk

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Missing tells what this machine lacks for a disk; empty: nothing.
func Missing() string { return missing() }

var missing = sync.OnceValue(func() string {
	const what = "a disk that fails needs "
	if os.Geteuid() != 0 {
		return what + "root (it mounts a file system)"
	}
	dev, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return what + fmt.Sprintf("/dev/fuse (%v)", err)
	}
	defer dev.Close() // ends what was mounted
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		return what + fmt.Sprintf("a folder to mount at (%v)", err)
	}
	defer os.Remove(dir)
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", dev.Fd())
	if err := unix.Mount("try", dir, "fuse.faulty", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return what + fmt.Sprintf("permission to mount FUSE (%v)", err)
	}
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		return what + fmt.Sprintf("permission to unmount (%v)", err)
	}
	return ""
})
