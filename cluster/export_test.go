package cluster

import (
	"github.com/hashicorp/raft"

	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// ProposeEntry puts an entry into the log behind the batcher's back.
func ProposeEntry(r *Replica, e *fsm.Entry) ([]noun.Outcome, error) {
	data, err := record.Encode(e)
	if err != nil {
		return nil, err
	}
	r.machine.answering.Add(1)
	defer r.machine.answering.Add(-1)
	fut := r.propose(data)
	if err := fut.Error(); err != nil {
		return nil, err
	}
	return fut.Response().(*answer).outcomes, nil
}

// ProposeBytes puts anything at all into the log.
func ProposeBytes(r *Replica, data []byte) error { return r.propose(data).Error() }

// Tamper changes the live state of one server, as a bug or a bad bit would.
func Tamper(r *Replica, cmd fsm.Command) {
	r.machine.mu.Lock()
	defer r.machine.mu.Unlock()
	s := r.machine.state
	s.Apply(&fsm.Entry{Index: s.LastIndex(), Requests: []fsm.Request{{Cmd: cmd}}})
}

// TakeSnapshot has raft take a snapshot now.
func TakeSnapshot(r *Replica) error { return r.raft.Load().Snapshot().Error() }

// SignalGained makes it look as if raft had told twice in a row that leadership was gained.
func SignalGained(r *Replica) { r.again <- struct{}{} }

// CanLead tells whether raft itself counts this server as leader.
func CanLead(r *Replica) bool { return r.raft.Load().State() == raft.Leader }

// FirstIndex is the oldest entry of the log.
func FirstIndex(r *Replica) uint64 {
	i, err := r.store.FirstIndex()
	if err != nil {
		panic(err)
	}
	return i
}

// RefuseEntries has raft refuse all entries while refused says so, as it does for a transfer of leadership. It is
// called before Run.
func RefuseEntries(r *Replica, refused func() bool) {
	propose := r.batch.propose
	r.batch.propose = func(data []byte) proposal {
		if refused() {
			return refusal{}
		}
		return propose(data)
	}
}

type refusal struct{}

func (refusal) Error() error  { return raft.ErrLeadershipTransferInProgress }
func (refusal) Response() any { return nil }

// ErrRefused ends a server whose raft refuses all entries.
var ErrRefused = errRefused
