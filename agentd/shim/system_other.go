//go:build unix && !linux

package shim

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// BootClock reads CLOCK_MONOTONIC, which on the BSDs and macOS is what comes
// nearest to a clock that runs through suspend.
func BootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("read CLOCK_MONOTONIC: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

func awakeClock() time.Duration { return BootClock() }

func (*alarm) byBootTime() bool { return false }

// becomeShim: there are no subreapers; orphans go to the system.
func becomeShim() error { return nil }

func stepBack() (outlive func()) { return func() {} }

func startTime(int) uint64 { return 0 }

// handle is a hold on a process; there are none here, so the lock is looked at.
type handle struct{}

func openHandle(int, uint64) (*handle, error) { return nil, errors.New("process handles need Linux") }

func (h *handle) wait() {}

func (h *handle) kill() {}

func (h *handle) close() {}

func allocate(f *os.File, size int64) error {
	_, err := f.Write(make([]byte, size))
	return err
}

// pair gives the two ends of a socket: ours, which no program that is started inherits, and that of a new shim.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	return endsOf(fds)
}

// becomeFile makes the descriptor as another name of the file behind fd, which is closed.
func becomeFile(fd, as int) error {
	err := unix.Dup2(fd, as)
	unix.Close(fd)
	return err
}
