package door

import "net"

// Loopback tells whether only the machine itself can reach an address, host:port. Of a name other
// than localhost nobody knows where it leads, so it does not.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
