package link

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// lineTrip gives what the kernel has measured of the way there and back of a connection; 0: it is no TCP, or
// nothing was acknowledged yet. It holds no processor time of the other end.
func lineTrip(c net.Conn) time.Duration {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	var trip time.Duration
	_ = raw.Control(func(fd uintptr) { // closed: nobody asks any more
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			trip = time.Duration(info.Rtt) * time.Microsecond
		}
	})
	return trip
}
