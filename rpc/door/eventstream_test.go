package door

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// A stream of events that has nothing to tell says so every 15 s, so that no proxy takes it for dead; events come as
// they do without that.
func TestAQuietStreamOfEventsIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := make(chan *vigilv1.Event)
		receive := func() (*vigilv1.Event, error) {
			select {
			case e := <-events:
				if e == nil {
					return nil, errors.New("the history was compacted")
				}
				return e, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		out, ended := &reader{}, make(chan error, 1)
		go func() { ended <- copyEvents(ctx, out, out.flush, receive) }()
		after := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			text, flushed := out.take()
			if !strings.HasPrefix(text, want) || want == "" && text != "" || flushed == 0 {
				t.Errorf("written: %q after %d flushes, want %q", text, flushed, want)
			}
		}
		after(14*time.Second, "")
		after(2*time.Second, ": \n\n")
		events <- &vigilv1.Event{Seq: 7, Kind: "task.created"}
		after(0, "id: 7\nevent: task.created\ndata: {")
		after(31*time.Second, ": \n\n: \n\n")
		close(events)
		if err := <-ended; err == nil || err.Error() != "the history was compacted" {
			t.Errorf("the stream ended with %v", err)
		}
	})
}

// reader is whoever reads a stream.
type reader struct {
	mu      sync.Mutex
	text    bytes.Buffer
	flushed int
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *reader) flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushed++
	return nil
}

// take gives what has come since it was called last, and how often that was sent on.
func (r *reader) take() (text string, flushed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, flushed = r.text.String(), r.flushed
	r.text.Reset()
	r.flushed = 0
	return text, flushed
}
