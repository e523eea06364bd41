package cli

import (
	"context"
	"sync/atomic"
)

// Hangups carries SIGHUP to a daemon, which it never ends; other commands it ends as SIGTERM does.
type Hangups struct {
	taken atomic.Bool
	c     chan struct{}
}

type hangupsKey struct{}

// WithHangups gives ctx the way by which TakeHangups gets them.
func WithHangups(ctx context.Context) (context.Context, *Hangups) {
	h := &Hangups{c: make(chan struct{}, 1)}
	return context.WithValue(ctx, hangupsKey{}, h), h
}

// Deliver passes one on, and reports whether a daemon takes it. Those that come while one waits
// are one.
func (h *Hangups) Deliver() bool {
	if !h.taken.Load() {
		return false
	}
	select {
	case h.c <- struct{}{}:
	default:
	}
	return true
}

// TakeHangups makes this process a daemon, which SIGHUP does not end from now on: each arrives on
// the channel. It is nil, and none ever comes, below no WithHangups.
func TakeHangups(ctx context.Context) <-chan struct{} {
	h, ok := ctx.Value(hangupsKey{}).(*Hangups)
	if !ok {
		return nil
	}
	h.taken.Store(true)
	return h.c
}
