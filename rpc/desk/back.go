package desk

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Bounds of a look back.
const (
	someEvents   = 200    // when nobody says
	eventsLooked = 20_000 // in one call
	eventsStep   = 1000   // in one hold of the lock
)

// wanted are the events that somebody asks for.
type wanted struct {
	*vigilv1.ListEventsRequest
	words []string // in lower case
	sees  func(room string) bool
}

// fits tells whether an event is one of them.
func (w *wanted) fits(e *noun.Event) bool {
	if w.GetRoom() != "" && e.Room != w.GetRoom() || w.GetAgent() != "" && e.Agent != w.GetAgent() ||
		w.GetHost() != "" && e.Host != w.GetHost() || w.GetTask() != 0 && uint64(e.Task) != w.GetTask() ||
		!strings.HasPrefix(e.Kind, w.GetKind()) || w.sees != nil && !w.sees(e.Room) {
		return false
	}
	if len(w.words) == 0 {
		return true
	}
	all := []string{e.Kind, e.Room, e.Agent, e.Host, e.Text}
	if e.Task != 0 {
		all = append(all, "task "+strconv.FormatUint(uint64(e.Task), 10))
	}
	text := strings.ToLower(strings.Join(all, " "))
	return !slices.ContainsFunc(w.words, func(word string) bool { return !strings.Contains(text, word) })
}

// ListEvents gives the history from an event back.
func (s *Service) ListEvents(
	ctx context.Context, r *vigilv1.ListEventsRequest,
) (*vigilv1.ListEventsResponse, error) {
	var c form.Checks
	limit := c.Page(r.GetLimit(), someEvents)
	c.OptionalName("room", r.GetRoom())
	if r.GetAgent() != "" {
		c.Agent("agent", r.GetAgent(), false)
	}
	c.Line("host", r.GetHost(), maxQuery)
	c.Line("kind", r.GetKind(), maxQuery)
	c.Line("words", r.GetWords(), maxQuery)
	if c.Err != nil {
		return nil, c.Err
	}
	w := &wanted{ListEventsRequest: r, words: strings.Fields(strings.ToLower(r.GetWords())), sees: s.Door.Sees(ctx)}
	out, before := &vigilv1.ListEventsResponse{}, r.GetBefore()
	for looked := 0; looked < eventsLooked && len(out.Events) < limit; looked += eventsStep {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var found []noun.Event // the oldest first
		oldest := uint64(0)
		s.Reader.Read(func(st *fsm.View) {
			oldest = st.OldestEvent()
			if last := st.LastEvent(); before == 0 || before > last+1 {
				before = last + 1
			}
			from := max(oldest, before-min(before, eventsStep))
			for e := range st.Events(from - min(from, 1)) {
				if e.Seq >= before {
					break
				}
				if w.fits(e) {
					found = append(found, *e)
				}
			}
			before = from
		})
		for i := len(found) - 1; i >= 0; i-- {
			if len(out.Events) == limit {
				before = found[i].Seq + 1
				break
			}
			out.Events = append(out.Events, form.Event(&found[i]))
		}
		if oldest == 0 || before <= oldest {
			return out, nil // there are no older ones
		}
	}
	out.Next = before
	return out, nil
}
