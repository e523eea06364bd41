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
	said := metadata.ValueFromIncomingContext(ctx, code.HeaderTrace)
	if len(said) != 1 {
		return
	}
	if t, err := noun.ParseTrace(said[0]); err == nil {
		create.Traceparent = string(t)
	}
}
