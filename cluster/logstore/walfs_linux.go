package logstore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync has the disk keep what was written to a file.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// preallocate allots space to a file, where the file system can; what is there already stays.
func preallocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
			return nil // it grows as it is written
		}
		return os.NewSyscallError("fallocate", err)
	}
}
