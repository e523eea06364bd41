package client

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
)

// What an agent says renews its lease when it has just said it (see Late). So calls say how
// old they are, and whether they may have been sent before.

// Late marks what is said under ctx as said some time ago: a result that was kept on a disk,
// say. It counts in every way but as a sign that its speaker still lives.
func Late(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, code.HeaderRepeat, "1")
}

// aged is ctx for the next attempt of the call.
func (t *trial) aged(ctx context.Context) context.Context {
	age := elapsed(t.began)
	switch {
	case t.tries > 1:
		return Late(ctx)
	case age < time.Millisecond:
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, code.HeaderSaid, strconv.FormatInt(age.Milliseconds(), 10))
}
