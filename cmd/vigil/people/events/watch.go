package events

import (
	"context"
	"errors"
	"io"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// Watch calls fn for every event and resumes after the last one when the
// server is lost. With NoFollow it returns nil at the newest event.
func Watch(ctx context.Context, c *cli.Conn, request *vigilv1.WatchEventsRequest,
	fn func(*vigilv1.Event) error) error {
	began := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		stream, err := c.Fleet.WatchEvents(ctx, request)
		for err == nil {
			var e *vigilv1.Event
			if e, err = stream.Recv(); err == nil {
				request.After, request.Tail = e.GetSeq(), false
				pause = 50 * time.Millisecond
				err = fn(e)
				if err != nil {
					return err
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF) && request.GetNoFollow():
			return nil
		case ctx.Err() != nil, c.Nobody(began):
			return err
		case errors.Is(err, io.EOF), errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrNoLeader),
			errors.Is(err, client.ErrNotLeader):
		default:
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Signals gives a value after events, until the context ends. It is a hint: a caller
// looks now and then anyway.
func Signals(ctx context.Context, c *cli.Conn, request *vigilv1.WatchEventsRequest) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		_ = Watch(ctx, c, request, func(*vigilv1.Event) error {
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	return changed
}
