package rpc

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/rpc/code"
)

// What an agent says proves that it lives only when it has just said it. A call that may
// have been made before carries code.HeaderRepeat, whoever repeats it; one that has waited at its
// caller says in code.HeaderSaid for how long. Who leaves both out renews no lease but its own.

// prove notes in each request what it proves as a word of an agent.
func (c *core) prove(ctx context.Context, reqs ...*fsm.Request) {
	age, fresh := saidAgo(ctx)
	if !fresh {
		return
	}
	var words []*fsm.Request // most writes are none: they take no lock here
	for _, r := range reqs {
		if fsm.IsWord(r.Cmd) {
			words = append(words, r)
		}
	}
	if len(words) == 0 {
		return
	}
	c.reader.Read(func(st *fsm.View) {
		for _, r := range words {
			r.Word = st.WordOf(r.Cmd, age)
		}
	})
}

// saidAgo tells how long ago the caller said what it says; fresh is false when it may have
// said it before, or when that was too long ago to count.
func saidAgo(ctx context.Context) (age time.Duration, fresh bool) {
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
	if _, fresh := saidAgo(ctx); !fresh {
		return ctx
	}
	md, _ := metadata.FromIncomingContext(ctx)
	return metadata.NewIncomingContext(ctx, metadata.Join(md, metadata.Pairs(code.HeaderRepeat, "1")))
}

// passSaid tells the next server what this one was told of the age of a call.
func passSaid(ctx context.Context) context.Context {
	for _, key := range [...]string{code.HeaderRepeat, code.HeaderSaid} {
		for _, v := range metadata.ValueFromIncomingContext(ctx, key) {
			ctx = metadata.AppendToOutgoingContext(ctx, key, v)
		}
	}
	return ctx
}
