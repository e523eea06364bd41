package wire

import (
	"time"

	"github.com/hashicorp/raft"
)

// quiet is for how long a pipeline that has nothing new to say may be silent. Heartbeats wait for each answer before
// the next; requests of a pipeline do not. Where answers take long, on a machine with too much work, it is they that
// keep leader and follower sure of each other within a lease of 250 ms.
const quiet = 50 * time.Millisecond

// AppendEntriesPipeline implements raft.Transport.
func (t *Transport) AppendEntriesPipeline(id raft.ServerID, addr raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, place(id, addr))
	if err != nil {
		return nil, err
	}
	return &pipeline{AppendPipeline: p}, nil
}

// pipeline leaves out what tells a follower nothing. Raft repeats to each follower what is committed whenever
// Timing.Commit has passed without an entry, so that it learns of the last entry's commit soon: at 10 ms some 130
// requests a second, each with its answer, of a leader that has nothing to do. A follower that was told this index
// by the same connection needs to hear it no second time. One goroutine uses a pipeline.
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
