package cluster

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// contact is what this server, while it leads, knows of another from the answers
// to its heartbeats, and what it has sent to it.
type contact struct {
	at   time.Time
	last uint64 // index of the other's last log entry
	sent uint64 // bytes of snapshots
}

// watchedTransport notes the answers to heartbeats, which raft does not show, and has the gate judge what
// other servers say.
type watchedTransport struct {
	raft.Transport
	gate  *gate
	mu    sync.Mutex
	peers map[raft.ServerID]contact

	log     *trailing // see incoming
	receive sync.Once
	in      chan raft.RPC
	end     sync.Once
	closed  chan struct{}
}

func newWatchedTransport(t raft.Transport, g *gate, log *trailing) *watchedTransport {
	return &watchedTransport{Transport: t, gate: g, peers: map[raft.ServerID]contact{}, log: log,
		in: make(chan raft.RPC), closed: make(chan struct{})}
}

// Consumer gives what other servers ask of this one.
func (t *watchedTransport) Consumer() <-chan raft.RPC {
	t.receive.Do(func() {
		in := &incoming{t.Transport.Consumer(), t.in, t.closed, t.gate, t.log}
		go in.run() // until Close
	})
	return t.in
}

// contactOf gives the last sign of life of a peer; zero when there was none.
func (t *watchedTransport) contactOf(id string) contact {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.peers[raft.ServerID(id)]
}

// forget drops what is known of a peer: it may have lost all it had since then.
func (t *watchedTransport) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.peers, raft.ServerID(id))
}

func (t *watchedTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress,
	args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	err := t.Transport.AppendEntries(id, target, args, resp)
	if err == nil {
		t.mu.Lock()
		t.peers[id] = contact{at: time.Now(), last: resp.LastLog, sent: t.peers[id].sent}
		t.mu.Unlock()
	}
	return err
}

// InstallSnapshot counts what the other has taken of the snapshot.
func (t *watchedTransport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress,
	args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.Transport.InstallSnapshot(id, target, args, resp, &sending{data, t, id})
}

// sending is a snapshot on its way to a peer.
type sending struct {
	io.Reader
	t  *watchedTransport
	to raft.ServerID
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.t.mu.Lock()
	c := s.t.peers[s.to]
	c.sent += uint64(n)
	s.t.peers[s.to] = c
	s.t.mu.Unlock()
	return n, err
}

// SetHeartbeatHandler implements raft.Transport. Heartbeats come past raft's own goroutine, so that they count while
// that one waits for the disk; but raft v1.7.3 lets one of a newer term change term and state there, too, and who led
// until then may write what it was about to under a term that is another's: logs with other entries of the same
// index and term, which nothing mends (law L12, github.com/hashicorp/raft/issues/695). So only those that change
// nothing take that way.
func (t *watchedTransport) SetHeartbeatHandler(beat func(raft.RPC)) {
	t.Transport.SetHeartbeatHandler(func(rpc raft.RPC) {
		rpc, err := t.gate.admit(rpc)
		if err != nil {
			turnDown(rpc, err)
			return
		}
		if a, ok := rpc.Command.(*raft.AppendEntriesRequest); ok && t.gate.follows(a.Term) {
			beat(rpc)
			return
		}
		select {
		case t.in <- rpc:
		case <-t.closed:
			rpc.Respond(nil, raft.ErrTransportShutdown)
		}
	})
}

// RequestVote takes no answer with a term to which raft must not go.
func (t *watchedTransport) RequestVote(id raft.ServerID, target raft.ServerAddress,
	args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if err := t.Transport.RequestVote(id, target, args, resp); err != nil {
		return err
	}
	return t.gate.checkTerm(resp.Term, raft.RPCHeader{ID: []byte(id)})
}

// RequestPreVote is needed besides the embedded interface: raft looks for it.
func (t *watchedTransport) RequestPreVote(id raft.ServerID, target raft.ServerAddress,
	args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	p, ok := t.Transport.(raft.WithPreVote)
	if !ok {
		return errors.New("transport has no pre-vote")
	}
	if err := p.RequestPreVote(id, target, args, resp); err != nil {
		return err
	}
	return t.gate.checkTerm(resp.Term, raft.RPCHeader{ID: []byte(id)})
}

// Close is looked for by raft, too.
func (t *watchedTransport) Close() error {
	t.end.Do(func() { close(t.closed) })
	if c, ok := t.Transport.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}
