package cluster

import (
	"errors"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
)

// errDisproved says that this server goes by a backup that the others do not have.
var errDisproved = errors.New("a backup was restored here, or sent here, and the restore did not finish: " +
	"the other servers go on without it")

// incoming hands the requests of other servers to raft as far as the gate admits them, and mends those that
// raft would refuse for ever.
//
// While a server loads a snapshot, its leader gives up on requests and sends them again; all of them
// arrive. The first one puts entries behind the snapshot. To the next one, raft v1.7.3 looks for the entry before
// it in the log, where it is not: the snapshot has it (which raft considers only while nothing is behind
// it). It refuses; the leader goes back entry by entry until its own
// log ends, sends the same snapshot again, and so on, until it takes a new one, which may be hours
// (related: github.com/hashicorp/raft/issues/697).
type incoming struct {
	from   <-chan raft.RPC
	to     chan raft.RPC
	closed <-chan struct{}
	gate   *gate
	log    *trailing
}

// run hands on until closed.
func (in *incoming) run() {
	for {
		var rpc raft.RPC
		select {
		case rpc = <-in.from:
		case <-in.closed:
			return
		}
		rpc, err := in.gate.admit(rpc)
		if err != nil {
			turnDown(rpc, err)
			continue
		}
		a, ok := rpc.Command.(*raft.AppendEntriesRequest)
		if ok && in.log.disproves(a) {
			in.gate.fail(logstore.Damaged("follow the leader", errDisproved))
			turnDown(rpc, errDisproved)
			continue
		}
		if ok && a.PrevLogEntry > 0 && in.log.covers(a.PrevLogEntry, a.PrevLogTerm) {
			// Whatever a snapshot holds is committed: nothing is to be compared. Raft compares nothing before
			// the first entry of all.
			mended := *a
			mended.PrevLogEntry, mended.PrevLogTerm = 0, 0
			rpc.Command = &mended
		}
		select {
		case in.to <- rpc:
		case <-in.closed:
			return
		}
	}
}
