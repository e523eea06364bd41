package agentd

import "time"

// membership is what the cluster has said of this host, and whether it is to be asked again.
// All parts read it; registration and beats write it.
type membership struct {
	host       uint32 // its number; 0: not known
	ttl        time.Duration
	registered bool // during this run of the daemon
	wanted     bool // a (new) registration
	// unproven: a beat must be answered first, see proveFirst.
	unproven bool
}
