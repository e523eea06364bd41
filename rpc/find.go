package rpc

import (
	"fmt"
	"strconv"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// scanStep is how many rows one hold of the read lock looks at.
const scanStep = 1000

func noAgent(st *fsm.View, name string) error {
	return fault.NotFound("%s", st.NoAgent(name).Detail)
}

// noRoom says that there is no such room, or who has deleted it (law L9).
func noRoom(st *fsm.View, name string) error {
	return fault.NotFound("%s", st.NoRoom(name).Detail)
}

func noHost(key string) error {
	return fault.NotFound("there is no host %s; `vigil host list` shows the hosts", fault.Quote(key))
}

// findHost looks a host up by its name, then by its number; nil: there is none.
// A machine that was set up anew has a new number and the name of its old record: which
// of the two is meant only a human can say (law L9).
func findHost(st *fsm.View, key string) (*noun.Host, error) {
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
