package door

import (
	"bytes"
	"context"
	"errors"
	"strings"
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
		var text bytes.Buffer
		flushed, ended := 0, make(chan error, 1)
		flush := func() error { flushed++; return nil }
		go func() { ended <- copyEvents(ctx, &text, flush, receive) }()
		after := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if !strings.HasPrefix(text.String(), want) || want == "" && text.Len() > 0 || flushed == 0 {
				t.Errorf("written: %q after %d flushes, want %q", text.String(), flushed, want)
			}
			text.Reset()
			flushed = 0
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
