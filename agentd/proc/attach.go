package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenTerminal makes a pseudo terminal whose slave belongs to uid. The caller closes both;
// reads of the master can be ended by a deadline.
func OpenTerminal(uid uint32) (master, slave *os.File, err error) {
	master, fd, err := openTerminal(&syscall.Credential{Uid: uid})
	if err != nil {
		return nil, nil, fmt.Errorf("make a terminal: %w", err)
	}
	return master, os.NewFile(uintptr(fd), "terminal"), nil
}

// ResizeTerminal tells whoever reads a terminal how large it is now.
func ResizeTerminal(master *os.File, rows, columns int) error {
	raw, err := master.SyscallConn()
	if err != nil {
		return err
	}
	size := &unix.Winsize{Row: uint16(min(max(rows, 1), 1<<15)), Col: uint16(min(max(columns, 1), 1<<15))}
	var failure error
	if err := raw.Control(func(fd uintptr) {
		failure = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size)
	}); err != nil {
		return err
	}
	return failure
}
