package tmux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// whenGone calls fn in a goroutine once the process has ended. The returned function
// gives up.
func whenGone(pid int, fn func()) (stop func()) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			go fn()
		}
		return func() {} // the kernel is too old: only tmux knows
	}
	_ = unix.SetNonblock(fd, true) // for the runtime's poller; never fails
	f := os.NewFile(uintptr(fd), "process")
	go func() {
		conn, err := f.SyscallConn()
		if err == nil {
			err = conn.Read(func(fd uintptr) bool {
				fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
				n, _ := unix.Poll(fds, 0)
				return n > 0
			})
		}
		if err == nil { // not closed
			fn()
		}
	}()
	return func() { f.Close() }
}
