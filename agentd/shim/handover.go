package shim

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A shim waits for its life at its standard input, a socket whose other end only the daemon that started it has:
// first for one byte that brings the open lock of the life and the open file for its notes, then for the Spec, up
// to the end of the stream. So a shim may be started long before its life is ordered: without the lock and all of
// the Spec it runs nothing (law L7), and it ends when that daemon does.

// errUnwanted says that the daemon has gone, or had no life for this shim.
var errUnwanted = errors.New("no life was handed over")

// handOver gives a life to a shim that waits. After an error the shim has not got it. The spec is sent beside.
func handOver(to *net.UnixConn, lock, notes *os.File, spec []byte) error {
	if _, _, err := to.WriteMsgUnix([]byte{'\n'}, unix.UnixRights(int(lock.Fd()), int(notes.Fd())), nil); err != nil {
		return err
	}
	go func() {
		_, _ = to.Write(spec) // a shim that goes meanwhile says why, or its end tells
		to.Close()
	}()
	return nil
}

// takeOver waits for a life and gives what to start, and the descriptor of the lock. From then on what goes wrong
// is written to the notes of the life.
func takeOver(stdin *os.File) (spec *Spec, lock int, err error) {
	misused := func(err error) error {
		return fmt.Errorf("take over a life: %w; nothing was started (this command is run by agentd, not by people)", err)
	}
	conn, err := net.FileConn(stdin)
	if err != nil {
		return nil, -1, misused(err)
	}
	defer conn.Close()
	from, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, -1, misused(errors.New("the standard input is another socket than that of agentd"))
	}
	rights := make([]byte, unix.CmsgSpace(2*4))
	n, size, _, _, err := from.ReadMsgUnix(make([]byte, 1), rights)
	if errors.Is(err, io.EOF) || err == nil && n == 0 {
		return nil, -1, errUnwanted
	}
	var files []int
	if err == nil {
		files, err = filesIn(rights[:size])
	}
	if err != nil {
		return nil, -1, misused(err)
	}
	if err := becomeFile(files[1], int(os.Stderr.Fd())); err != nil {
		return nil, -1, misused(err)
	}
	spec, err = readSpec(from)
	return spec, files[0], err
}

// filesIn gives the two descriptors that a message brings.
func filesIn(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("its first byte brings no files"), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 2 {
		return nil, errors.Join(fmt.Errorf("its first byte brings %d files, want 2", len(files)), err)
	}
	return files, nil
}

// endsOf makes the ends of a pair what they are used as.
func endsOf(fds [2]int) (ours *net.UnixConn, theirs *os.File, err error) {
	mine := os.NewFile(uintptr(fds[0]), "to shim")
	theirs = os.NewFile(uintptr(fds[1]), "from agentd")
	defer mine.Close() // what FileConn gives is a copy
	conn, err := net.FileConn(mine)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil // a socket of that family is nothing else
}
