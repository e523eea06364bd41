package proc

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Size of a new terminal: wide, so that tools do not fold what they print.
const (
	terminalRows    = 50
	terminalColumns = 200
)

// openTerminal makes a pseudo terminal. The slave is blocking and belongs to whom
// the agent runs as; the caller closes both.
func openTerminal(c *syscall.Credential) (master *os.File, slave int, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, 0, fmt.Errorf("unlock: %w", err)
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, 0, fmt.Errorf("read its number: %w", err)
	}
	path := "/dev/pts/" + strconv.Itoa(int(n))
	slave, err = unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			unix.Close(slave)
		}
	}()
	if err := unix.IoctlSetWinsize(slave, unix.TIOCSWINSZ,
		&unix.Winsize{Row: terminalRows, Col: terminalColumns}); err != nil {
		return nil, 0, fmt.Errorf("set its size: %w", err)
	}
	if c != nil {
		if err := unix.Fchown(slave, int(c.Uid), -1); err != nil {
			return nil, 0, fmt.Errorf("give it to the agent: %w", err)
		}
	}
	return os.NewFile(uintptr(fd), "terminal"), slave, nil
}
