//go:build unix

package life

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// exists tells whether there is such a process, ours or not.
func exists(p *os.Process) bool {
	err := p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Detached makes a child that outlives this process and its terminal.
func Detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ReaderGone tells whether f is a pipe that nobody reads from any more.
func ReaderGone(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0
}

// onlyOurs tells whether nobody but this user may write what info is of.
func onlyOurs(info os.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().Perm()&0o022 == 0 && (!ok || int(owner.Uid) == os.Getuid())
}
