package client

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"
)

// What an agent says renews its lease when it has just said it (see Late). So calls say how
// old they are: repeatKey marks whatever may have been sent before, saidKey is for how many
// milliseconds a call has waited here.
const (
	repeatKey = "vigil-repeat"
	saidKey   = "vigil-said"
)

// Late marks what is said under ctx as said some time ago: a result that was kept on a disk,
// say. It counts in every way but as a sign that its speaker still lives.
func Late(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, repeatKey, "1")
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
	return metadata.AppendToOutgoingContext(ctx, saidKey, strconv.FormatInt(age.Milliseconds(), 10))
}
