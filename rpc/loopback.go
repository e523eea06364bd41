package rpc

import (
	"fmt"
	"net"
	"strings"

	"vigil/fsm"
)

// Loopback tells whether only the machine itself can reach an address, host:port. Of a name other
// than localhost nobody knows where it leads, so it does not.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// openWarnings says which servers other machines can reach, as long as nobody has to say who they are.
func openWarnings(st *fsm.View) []string {
	var open []string
	for _, s := range st.Servers() {
		if s.APIAddr != "" && !Loopback(s.APIAddr) || !Loopback(s.RaftAddr) {
			open = append(open, s.ID)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Insecure: other machines can reach %s, and there are no passwords. Whoever reaches them controls the fleet; let only trusted machines into their network.",
		strings.Join(open, ", "))}
}
