package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// A server whose data is empty is new, or it has lost what it had promised. Raft takes
// it for new and lets it vote at once: with its old votes forgotten and an empty log it
// could help to elect a leader that lacks acknowledged writes. So raft does not run on
// empty data: the server asks the leader that speaks to it. A member that has no vote
// got there by being added, after all that it was as a voter was undone. The first
// server of a cluster has data from the start: Found writes it.

var errWaits = errors.New("this server has no data and is not taken in yet")

// entrance is how a server without data comes into its cluster.
type entrance struct {
	*node
	id *identity
}

// enter returns when this server may take part; ctx ends it.
func (e *entrance) enter(ctx context.Context) error {
	asks := e.cfg.ported() || e.cfg.Backend.Question != nil
	if !asks || !e.id.fresh.Load() {
		return nil
	}
	return e.awaitSeat(ctx)
}

func (e *entrance) dataLost(why string) error {
	return fmt.Errorf("%w: %s: run 'vigil server remove %s' at another server, then start this one "+
		"again and add it", ErrDataLost, why, e.cfg.ID)
}

// awaitSeat returns when a leader says that this server was added. Until then nobody
// gets a vote or an acknowledgement from it.
func (e *entrance) awaitSeat(ctx context.Context) error {
	warned := false
	for {
		var rpc raft.RPC
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-e.fatal:
			return err
		case rpc = <-e.trans.Consumer():
		}
		word := ""
		switch cmd := rpc.Command.(type) {
		case *raft.AppendEntriesRequest:
			word = e.askSeat(cmd.RPCHeader)
		case *raft.InstallSnapshotRequest:
			word = e.askSeat(cmd.RPCHeader)
			_, _ = io.Copy(io.Discard, rpc.Reader) // else the connection is lost
		case *raft.RequestVoteRequest, *raft.RequestPreVoteRequest:
			if !warned {
				e.log.Warn("this server is asked for its vote, but it has no data: it has none before " +
					"it is removed and added again")
			}
			warned = true
		}
		rpc.Respond(nil, errWaits)
		switch word {
		case wordNonvoter:
			return nil
		case wordVoter:
			return e.dataLost("its cluster counts on its vote")
		}
	}
}

// askSeat asks a leader what this server is in its cluster.
func (e *entrance) askSeat(leader raft.RPCHeader) string {
	id, addr := string(leader.ID), string(e.trans.DecodePeer(leader.Addr))
	word, _ := e.question(id, addr, seatQuestion+" "+e.cfg.ID) // it speaks again
	return word
}

// answerSeat tells what a server is in the newest configuration, when this server leads.
func (e *entrance) answerSeat(id string) string {
	rf := e.raft.Load()
	if rf == nil || rf.State() != raft.Leader || rf.VerifyLeader().Error() != nil {
		return wordLater
	}
	for _, s := range e.configuration() {
		switch {
		case string(s.ID) != id:
		case s.Suffrage == raft.Voter:
			return wordVoter
		default:
			return wordNonvoter
		}
	}
	return wordLater
}
