package wire

import (
	"time"

	"github.com/hashicorp/raft"
)

// quiet is for how long a pipeline that has nothing new to say may be silent: what a silent network has cut is
// noticed by what is sent. It is of the order of raft's heartbeats, which are requests of their own and never held back.
const quiet = 250 * time.Millisecond

// AppendEntriesPipeline implements raft.Transport.
func (t *Transport) AppendEntriesPipeline(id raft.ServerID, addr raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, place(id, addr))
	if err != nil {
		return nil, err
	}
	return &pipeline{AppendPipeline: p}, nil
}

// pipeline leaves out what tells a follower nothing. Raft repeats the index of what is committed to each follower
// whenever Timing.Commit has passed without an entry, so that a follower learns of the last entry's commit soon: at 10 ms
// some 130 requests a second, each with its answer, of a leader that has nothing to do. A follower that has this index
// by the same connection needs no second one. It is used by one goroutine at a time.
type pipeline struct {
	raft.AppendPipeline
	term, commit uint64    // the last that was sent
	at           time.Time // when; zero: nothing was sent yet
}

// AppendEntries sends a request. What repeats the last one is left out: the future is nil then, and Consumer, by
// which raft counts answers as signs of life, gives nothing for it.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (
	raft.AppendFuture, error) {
	now := time.Now()
	if len(args.Entries) == 0 && args.Term == p.term && args.LeaderCommitIndex == p.commit && now.Sub(p.at) < quiet {
		return nil, nil
	}
	f, err := p.AppendPipeline.AppendEntries(args, resp)
	if err == nil {
		p.term, p.commit, p.at = args.Term, args.LeaderCommitIndex, now
	}
	return f, err
}
