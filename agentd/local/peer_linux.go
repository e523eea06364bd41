package local

import (
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf gives account and process of the other end of a connection, as they were when it
// connected. ok is false when the kernel does not say.
func peerOf(conn *net.UnixConn) (uid, pid int, ok bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	_ = raw.Control(func(fd uintptr) { // ok tells
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid, pid, ok = int(peer.Uid), int(peer.Pid), true
		}
	})
	return uid, pid, ok
}

// Trusted tells whether a connection comes from an account, or from root.
func Trusted(conn *net.UnixConn, owner int) bool {
	uid, _, ok := peerOf(conn)
	return ok && (uid == 0 || uid == owner)
}

// Through is a path to a folder that is open as fd. It is short, whatever the folder's is.
func Through(_ string, fd uintptr) string { return "/proc/self/fd/" + strconv.Itoa(int(fd)) }
