//go:build linux

package hostfaults

import (
	"context"
	"sync"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// watch reads the history. It tells when a start is ordered on a host, within
// milliseconds.
type watch struct {
	seen func(kind string)

	mu      sync.Mutex
	waiting map[string]chan string // by host: gets the agent
}

func newWatch(seen func(kind string)) *watch {
	return &watch{seen: seen, waiting: map[string]chan string{}}
}

// follow reads the history until ctx ends.
func (w *watch) follow(ctx context.Context, fleet vigilv1.FleetClient) {
	last := uint64(0)
	for ctx.Err() == nil {
		stream, err := fleet.WatchEvents(ctx, &vigilv1.WatchEventsRequest{After: last})
		for err == nil {
			var e *vigilv1.Event
			if e, err = stream.Recv(); err != nil || e.GetSeq() <= last {
				continue
			}
			last = e.GetSeq()
			w.seen(e.GetKind())
			if e.GetKind() == "order.start" {
				w.tell(e.GetHost(), e.GetAgent())
			}
		}
		pause(ctx, 100*time.Millisecond) // a server died; ask another
	}
}

func (w *watch) tell(host, agent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.waiting[host]; c != nil {
		delete(w.waiting, host)
		c <- agent
	}
}

// next gives a channel that gets the agent whose start is ordered on the host next.
func (w *watch) next(host string) <-chan string {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan string, 1)
	w.waiting[host] = c
	return c
}
