//go:build unix

package trust

import (
	"os"
	"syscall"
)

// keepOwner gives a file that root writes to whom the folder belongs: root may look after the identity of a
// server that runs as somebody else, who has to be able to read it.
func keepOwner(f *os.File, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
