package rpc

import (
	"context"

	"vigil/rpc/trust"
)

type callerKey struct{}

// withCaller gives a context in which the holder of a certificate calls.
func withCaller(ctx context.Context, p trust.Peer) context.Context {
	return context.WithValue(ctx, callerKey{}, p)
}

// callerOf gives whose certificate a call came with; false: it came without one.
func callerOf(ctx context.Context) (trust.Peer, bool) {
	p, ok := ctx.Value(callerKey{}).(trust.Peer)
	return p, ok
}

// byWhom names the caller in what is written; empty: nobody is known by an identity.
func byWhom(ctx context.Context) string {
	if p, ok := callerOf(ctx); ok {
		return p.Short()
	}
	return ""
}
