package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// maxWatches is how many watches of events this server takes.
const maxWatches = 2048

// watchChunk is how many events one hold of the read lock looks at.
const watchChunk = 512

// WatchEvents sends the history from an index on, then what follows.
func (f *fleet) WatchEvents(r *vigilv1.WatchEventsRequest, s grpc.ServerStreamingServer[vigilv1.Event]) error {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	if r.GetAgent() != "" {
		c.Agent("agent", r.GetAgent(), false)
	}
	if r.GetTail() && r.GetAfter() != 0 {
		c.Fail("tail and after exclude each other; give one of them.")
	}
	if c.Err != nil {
		return c.Err
	}
	if !f.watches.Take() {
		return f.watches.Full("watches")
	}
	defer f.watches.Give()
	at, end, epoch, err := f.watchFrom(s.Context(), r)
	if err != nil {
		return err
	}
	if !r.GetNoFollow() {
		// The caller learns that the watch stands before anything happens.
		if err := s.SendHeader(nil); err != nil {
			return err
		}
	}
	sees := f.Door.Sees(s.Context())
	var chunk []noun.Event
	for {
		grown := f.Park.History.Beyond()
		var last uint64
		var old error
		chunk = chunk[:0]
		f.Reader.Read(func(st *fsm.View) {
			if last = st.LastEvent(); st.Epoch() != epoch && at > last {
				old = ahead(at, last)
			} else if old = compacted(st, at); old == nil {
				at = readEvents(st, r, at, sees, &chunk)
			}
		})
		if old != nil {
			return old
		}
		for i := range chunk {
			if err := s.Send(form.Event(&chunk[i])); err != nil {
				return err
			}
		}
		if r.GetNoFollow() && at >= end {
			return nil
		}
		if at < last {
			continue
		}
		select {
		case <-grown:
		case <-s.Context().Done():
			return s.Context().Err()
		case <-f.Door.Stopping():
			return fault.New(code.Unavailable, "This server is stopping; watch on another one after event %d.", at)
		}
	}
}

// watchFrom says behind which event a watch begins, and with which one it ends when
// it does not follow: with the newest of the whole cluster. A watch that is resumed
// here may be ahead of this replica, which then catches up first.
func (f *fleet) watchFrom(
	ctx context.Context, r *vigilv1.WatchEventsRequest,
) (at, end uint64, epoch uint32, err error) {
	at = r.GetAfter()
	var newest uint64
	look := func(st *fsm.View) {
		epoch, newest = st.Epoch(), st.LastEvent()
		if r.GetTail() {
			at = newest
		} else if oldest := st.OldestEvent(); at == 0 && oldest > 0 {
			at = oldest - 1
		}
	}
	f.Reader.Read(look)
	// What this replica has not applied yet is not new either: a tail catches up first.
	if r.GetNoFollow() || r.GetTail() || at > newest {
		now, err := f.CatchUp(ctx)
		if err != nil {
			return 0, 0, 0, err
		}
		end = now.GetLastEvent()
		f.Reader.Read(look)
	}
	if at > newest {
		return 0, 0, 0, ahead(at, newest)
	}
	return at, end, epoch, nil
}

func ahead(at, last uint64) error {
	return fault.Invalid("after is %d, but the newest event is %d; a restored backup takes the history "+
		"back. Watch again from there and read the state anew.", at, last)
}

// compacted is the error when events behind at are no longer kept.
func compacted(st *fsm.View, at uint64) error {
	oldest := st.OldestEvent()
	if oldest == 0 || at+1 >= oldest {
		return nil
	}
	return &fault.Error{Code: code.Compacted, Oldest: oldest - 1, Text: fmt.Sprintf(
		"The history begins with event %d; watch again with after=%d and read the state anew.", oldest, oldest-1)}
}

// readEvents copies the next events that the watch wants and returns the last one it
// looked at. sees tells of which rooms the caller may hear; nil: of all.
func readEvents(
	st *fsm.View, r *vigilv1.WatchEventsRequest, at uint64, sees func(room string) bool, to *[]noun.Event,
) uint64 {
	seen := 0
	for e := range st.Events(at) {
		if seen == watchChunk {
			break
		}
		seen++
		at = e.Seq
		if r.GetRoom() != "" && e.Room != r.GetRoom() || r.GetAgent() != "" && e.Agent != r.GetAgent() ||
			r.GetTask() != 0 && uint64(e.Task) != r.GetTask() || sees != nil && !sees(e.Room) {
			continue
		}
		*to = append(*to, *e)
	}
	return at
}
