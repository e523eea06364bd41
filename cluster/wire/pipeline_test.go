package wire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// counted is a pipeline that counts what is sent.
type counted struct {
	raft.AppendPipeline
	sent int
	err  error
}

func (c *counted) AppendEntries(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	c.sent++
	return nil, c.err
}

// What a follower knows is not said again every 10 ms: a leader that had nothing to do sent 130 requests a second.
func TestPipelineRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		under := &counted{}
		p := &pipeline{AppendPipeline: under}
		say := func(term, commit uint64, entries int) int {
			t.Helper()
			before := under.sent
			req := &raft.AppendEntriesRequest{Term: term, LeaderCommitIndex: commit}
			for range entries {
				req.Entries = append(req.Entries, &raft.Log{})
			}
			if _, err := p.AppendEntries(req, new(raft.AppendEntriesResponse)); err != under.err {
				t.Fatalf("got error %v, want %v", err, under.err)
			}
			time.Sleep(10 * time.Millisecond)
			return under.sent - before
		}
		for i, c := range []struct {
			term, commit  uint64
			entries, sent int
		}{
			{3, 10, 0, 1},                // the first always is
			{3, 10, 0, 0}, {3, 10, 0, 0}, // known
			{3, 10, 1, 1}, {3, 10, 1, 1}, // entries always are
			{3, 10, 0, 0},
			{3, 12, 0, 1}, // what was appended is committed
			{3, 12, 0, 0},
			{4, 12, 0, 1}, // another term
			{4, 12, 0, 0},
		} {
			if got := say(c.term, c.commit, c.entries); got != c.sent {
				t.Errorf("step %d: sent %d requests, want %d", i, got, c.sent)
			}
		}
		before := under.sent
		for range 1000 { // 10 s
			say(4, 12, 0)
		}
		if n := under.sent - before; n < 150 || n > 200 { // leader and follower stay sure of each other
			t.Errorf("%d requests in 10 s in which nothing changed, want one in %v", n, quiet)
		}
		under.err = raft.ErrPipelineShutdown
		if got := say(4, 13, 0); got != 1 {
			t.Errorf("sent %d", got)
		}
		under.err = nil
		if got := say(4, 13, 0); got != 1 { // what could not be sent is not known
			t.Errorf("after an error: sent %d requests, want 1", got)
		}
	})
}
