package door

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc/metadata"

	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/jsonform"
)

// eventsPath is the call that a browser or a script may follow as server-sent events.
const eventsPath = "/v1/events"

// wantsStream tells whether a request asks for the history as server-sent events.
func wantsStream(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == eventsPath &&
		strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// streamEvents follows the history as server-sent events: the id is the number of the event, the
// event its kind, the data the event itself. A client that comes back says with Last-Event-ID what
// it has, and gets what follows. An error before the first event has the form of all others; a later
// one is an event named error, after which the stream ends.
func (g *gateway) streamEvents(w http.ResponseWriter, r *http.Request) {
	request := &vigilv1.WatchEventsRequest{}
	if err := g.query.Parse(request, r.URL.Query(), utilities.NewDoubleArray(nil)); err != nil {
		g.write(w, httpProblem(err))
		return
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		seq, err := strconv.ParseUint(last, 10, 64)
		if err != nil {
			g.write(w, fault.Of(fault.Invalid("Last-Event-ID %s is not the number of an event.", fault.Quote(last))))
			return
		}
		request.After, request.Tail = seq, false
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ctx = metadata.NewOutgoingContext(ctx, metadata.Join(passCaller(ctx, r, nil), bearerOf(r)))
	stream, err := g.fleet.WatchEvents(ctx, request)
	if err == nil {
		// Headers without an end: the watch stands. A watch that fails brings its error instead.
		if md, e := stream.Header(); e != nil || md == nil {
			_, err = stream.Recv()
		}
	}
	if err != nil {
		g.write(w, httpProblem(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	_, _ = fmt.Fprint(w, ": from here on\n\n") // the reader has gone: the next write or ctx tells
	if err := copyEvents(ctx, w, http.NewResponseController(w).Flush, stream.Recv); err != nil {
		g.endEvents(ctx, w, err)
	}
}

// quietFor is how long a stream of events says nothing at most: proxies end one that is silent for longer, many
// after 60 s.
const quietFor = 15 * time.Second

// copyEvents writes events as they come, and a comment, which readers pass over, while none does. It gives why there
// are no more; nil when the reader has gone. Receiving ends with ctx.
func copyEvents(ctx context.Context, w io.Writer, flush func() error, receive func() (*vigilv1.Event, error)) error {
	type received struct {
		event *vigilv1.Event
		err   error
	}
	come := make(chan received)
	go func() {
		for {
			e, err := receive()
			select {
			case come <- received{e, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	quiet := time.NewTimer(quietFor)
	defer quiet.Stop()
	for flush() == nil {
		text := []byte(": \n\n")
		select {
		case r := <-come:
			if r.err != nil {
				return r.err
			}
			data, err := jsonform.Append(nil, r.event.ProtoReflect())
			if err != nil {
				return err
			}
			text = fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", r.event.GetSeq(), r.event.GetKind(), data)
		case <-quiet.C:
		case <-ctx.Done():
			return nil
		}
		quiet.Reset(quietFor)
		if _, err := w.Write(text); err != nil {
			return nil
		}
	}
	return nil
}

// endEvents says why a stream of events ends; nothing when its reader has gone or it was to end.
func (g *gateway) endEvents(ctx context.Context, w http.ResponseWriter, err error) {
	if ctx.Err() != nil || isEnd(err) {
		return
	}
	data, _ := json.Marshal(g.body(httpProblem(err))) // plain texts and numbers: it cannot fail
	_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", data)
}
