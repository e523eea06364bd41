package door

import (
	"context"

	"google.golang.org/grpc/metadata"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// trace puts the traceparent that came with a call into a request that keeps one, where it says none
// itself. One that is not right, or comes twice, counts as none, as W3C asks: whoever sends it may know
// nothing of it, and it must not keep a task from being created.
func trace(ctx context.Context, req any) {
	create, ok := req.(*vigilv1.CreateTaskRequest)
	if !ok || create.GetTraceparent() != "" {
		return
	}
	create.Traceparent = string(traceOf(ctx))
}

// traceOf is the traceparent that came with a call; empty: none, or none that is right.
func traceOf(ctx context.Context) noun.Trace {
	said := metadata.ValueFromIncomingContext(ctx, code.HeaderTrace)
	if len(said) != 1 {
		return ""
	}
	t, _ := noun.ParseTrace(said[0]) // empty with an error
	return t
}

// traceField is what a log line about a call says of its trace; nil: nothing.
func traceField(ctx context.Context, req any) []any {
	t := traceOf(ctx)
	if r, ok := req.(interface{ GetTraceparent() string }); ok && r.GetTraceparent() != "" {
		t, _ = noun.ParseTrace(r.GetTraceparent()) // what is wrong is no trace
	}
	if t == "" {
		return nil
	}
	return []any{"trace", t.ID()}
}
