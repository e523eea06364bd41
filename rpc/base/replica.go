package base

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/door"
)

// Writer takes writes. On a server that does not lead, all of them return
// fsm.ErrNotLeader and propose nothing; fsm.ErrUnknownOutcome says that the write
// may or may not be in the log. What is still fresh of a request's Word goes into its
// entry. Safe for concurrent use.
type Writer interface {
	Submit(ctx context.Context, req fsm.Request) (noun.Outcome, error)
	// SubmitAll fills out, which is as long as reqs, in order.
	SubmitAll(ctx context.Context, reqs []fsm.Request, out []noun.Outcome) error
	Beat(ctx context.Context, beats fsm.HostBeats) (noun.BeatAnswer, error)
	// Match is called before Run; m appends to the entries that this server seals while it leads.
	Match(m fsm.Matcher)
}

// Reader gives access to the replicated state. Safe for concurrent use.
type Reader interface {
	door.Reader
	// Subscribe is called before Run; fn is called after each applied entry,
	// outside the lock, and must not block.
	Subscribe(fn func(noun.Effects))
}
