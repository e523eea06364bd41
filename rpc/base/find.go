package base

import (
	"fmt"
	"strconv"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// ScanStep is how many rows one hold of the read lock looks at.
const ScanStep = 1000

// NoAgent says that there is no such agent.
func NoAgent(st *fsm.View, name string) error {
	return fault.NotFound("%s", st.NoAgent(name).Detail)
}

// NoRoom says that there is no such room, or who has deleted it (law L9).
func NoRoom(st *fsm.View, name string) error {
	return fault.NotFound("%s", st.NoRoom(name).Detail)
}

// NoHost says that there is no such host.
func NoHost(key string) error {
	return fault.NotFound("there is no host %s; `vigil host list` shows the hosts", fault.Quote(key))
}

// FindHost looks a host up by its name, then by its number; nil: there is none.
// A machine that was set up anew has a new number and the name of its old record: which
// of the two is meant only a human can say (law L9).
func FindHost(st *fsm.View, key string) (*noun.Host, error) {
	var found *noun.Host
	var same []string
	for h := range st.Hosts() {
		if h.Name == key {
			found = h
			same = append(same, fmt.Sprintf("%d (%s)", h.ID, h.Status()))
		}
	}
	if len(same) > 1 {
		return nil, fault.New(code.Conflict, "%d hosts are called %s; name one by its number: %s.",
			len(same), fault.Quote(key), strings.Join(same, ", "))
	}
	if n, err := strconv.ParseUint(key, 10, 32); found == nil && err == nil {
		found = st.Host(noun.HostID(n))
	}
	return found, nil
}
