package door

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
)

// A server that has to try again marks the word.
func TestN26WordsThatAServerRepeatsRenewNothing(t *testing.T) {
	ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs(code.HeaderSaid, "20", "other", "x"))
	if age, fresh := SaidAgo(ctx); age != 20*time.Millisecond || !fresh {
		t.Errorf("age %s, fresh %t", age, fresh)
	}
	ctx = again(again(ctx))
	if _, fresh := SaidAgo(ctx); fresh {
		t.Error("a further try is fresh")
	}
	out, _ := metadata.FromOutgoingContext(passSaid(ctx))
	if len(out.Get(code.HeaderRepeat)) != 1 || len(out.Get(code.HeaderSaid)) != 1 || len(out.Get("other")) != 0 {
		t.Errorf("passed on: %v", out)
	}
}
