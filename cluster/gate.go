package cluster

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/hashicorp/raft"
)

// termLeap is how far a term may be ahead of this server's. Terms grow by one with each
// election: at four a second this is 34 years of them. A greater leap is a fault or a forgery, and with
// a term near 2^64 no election could follow any more.
const termLeap = 1 << 32

var (
	errTermLeap = errors.New("its term is too far ahead to be one of this cluster")
	errNoVote   = errors.New("this server knows no members yet, and has no vote")
)

// gate judges requests and answers of other servers before raft sees them. Who they come from was
// proved when this server has an Identity (see the package wire); else it is what they say.
type gate struct{ *node }

// admit gives the request as raft is to see it, or an error for its sender.
func (g *gate) admit(rpc raft.RPC) (raft.RPC, error) {
	var err error
	switch cmd := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		err = g.checkTerm(cmd.Term, cmd.RPCHeader)
	case *raft.InstallSnapshotRequest:
		err = g.checkTerm(cmd.Term, cmd.RPCHeader)
	case *raft.TimeoutNowRequest:
		err = g.checkHandOver(cmd.RPCHeader)
	case *raft.RequestVoteRequest:
		vote := *cmd
		vote.RPCHeader, err = g.candidate(cmd.RPCHeader, cmd.Term, cmd.LastLogIndex, cmd.LastLogTerm)
		rpc.Command = &vote
	case *raft.RequestPreVoteRequest:
		vote := *cmd
		vote.RPCHeader, err = g.candidate(cmd.RPCHeader, cmd.Term, cmd.LastLogIndex, cmd.LastLogTerm)
		rpc.Command = &vote
	}
	return rpc, err
}

// turnDown answers a request that raft does not get.
func turnDown(rpc raft.RPC, err error) {
	if rpc.Reader == nil {
		rpc.Respond(nil, err)
		return
	}
	go func() { // what follows has to be read, or the connection is lost; it ends with the connection
		_, _ = io.Copy(io.Discard, rpc.Reader)
		rpc.Respond(nil, err)
	}()
}

// term is the one that this server is in.
func (g *gate) term() uint64 {
	if rf := g.raft.Load(); rf != nil {
		return rf.CurrentTerm()
	}
	term, err := g.store.GetUint64([]byte("CurrentTerm"))
	if err != nil { // there is none yet
		return 0
	}
	return term
}

// follows tells whether this server follows in that term already.
func (g *gate) follows(term uint64) bool {
	rf := g.raft.Load()
	return rf != nil && rf.State() == raft.Follower && rf.CurrentTerm() == term
}

func (g *gate) checkTerm(term uint64, from raft.RPCHeader) error {
	if term <= termLeap { // as ever, without a look at the own one
		return nil
	}
	own := g.term()
	if term <= own || term-own <= termLeap {
		return nil
	}
	err := fmt.Errorf("%w: %d, here it is %d", errTermLeap, term, own)
	g.strangers.say("term", string(from.ID), err)
	return err
}

// checkHandOver refuses a call to take over that does not come from the leader: it makes a server stand
// for election at once.
func (g *gate) checkHandOver(from raft.RPCHeader) error {
	rf := g.raft.Load()
	if g.cfg.Identity == nil || rf == nil {
		return nil
	}
	if _, leader := rf.LeaderWithID(); string(leader) != string(from.ID) {
		err := fmt.Errorf("server %s hands over an office that it does not have: %q leads", from.ID, leader)
		g.strangers.say("hand-over", string(from.ID), err)
		return err
	}
	return nil
}

// candidate gives the header by which raft is to judge who asks for a vote; index and entryTerm are those
// of the end of its log.
//
// Raft refuses whoever is no member in the log that it has. But when a candidate's log goes on behind the
// end of this one's, and this server hears no leader, it may be a member of a newer configuration:
// raft then judges by the log alone, as for a member, namely this server itself. That is safe: no vote
// counts in a configuration that does not list the voter. Without it a server that was away while
// others were replaced could not help to elect one of those. Only a proved identity is worth so much.
func (g *gate) candidate(from raft.RPCHeader, term, index, entryTerm uint64) (raft.RPCHeader, error) {
	if err := g.checkTerm(term, from); err != nil {
		return from, err
	}
	rf := g.raft.Load()
	if g.cfg.Identity == nil || rf == nil {
		return from, nil
	}
	members := g.configuration()
	switch {
	case len(members) == 0: // raft would vote for anybody
		return from, errNoVote
	case slices.ContainsFunc(members, func(m raft.Server) bool { return m.ID == raft.ServerID(from.ID) }):
		return from, nil
	}
	if _, leader := rf.LeaderWithID(); leader != "" {
		return from, nil // which brings the newer configuration, if there is one
	}
	last, err := strconv.ParseUint(rf.Stats()["last_log_term"], 10, 64)
	if err == nil && (entryTerm > last || entryTerm == last && index > rf.LastIndex()) {
		from.ID = []byte(g.cfg.ID)
	}
	return from, nil
}
