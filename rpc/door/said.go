package door

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
)

// SaidAgo tells how long ago the caller said what it says; fresh is false when it may have
// said it before, or when that was too long ago to count.
func SaidAgo(ctx context.Context) (age time.Duration, fresh bool) {
	if len(metadata.ValueFromIncomingContext(ctx, code.HeaderRepeat)) > 0 {
		return 0, false
	}
	for _, v := range metadata.ValueFromIncomingContext(ctx, code.HeaderSaid) {
		ms, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return 0, false
		}
		age = max(age, time.Duration(ms)*time.Millisecond)
	}
	return age, true
}

// again is ctx for a further try of the call.
func again(ctx context.Context) context.Context {
	if _, fresh := SaidAgo(ctx); !fresh {
		return ctx
	}
	md, _ := metadata.FromIncomingContext(ctx)
	return metadata.NewIncomingContext(ctx, metadata.Join(md, metadata.Pairs(code.HeaderRepeat, "1")))
}

// passSaid tells the next server what this one was told of the age of a call, and of its trace.
func passSaid(ctx context.Context) context.Context {
	for _, key := range [...]string{code.HeaderRepeat, code.HeaderSaid, code.HeaderTrace} {
		for _, v := range metadata.ValueFromIncomingContext(ctx, key) {
			ctx = metadata.AppendToOutgoingContext(ctx, key, v)
		}
	}
	return ctx
}
