package hosts

import (
	"sync"

	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// nudgeKey is the write id of a nudge.
type nudgeKey struct{ session, seq uint64 }

// nudge is one that runs or has run on this server. Only who begins it writes to it, until
// done is closed.
type nudge struct {
	done  chan struct{}
	noted bool // its event was written by this server, and nothing typed but by it
	kept  bool // its key is in the order of nudges

	final bool // this is the answer for ever; else whoever comes next goes on with it
	agent *vigilv1.Agent
	err   error
}

// nudges remembers them by write id, since what happens at a terminal is in no log.
// The zero value is ready. Safe for concurrent use.
type nudges struct {
	mu    sync.Mutex
	byKey map[nudgeKey]*nudge
	order []nudgeKey // whose event is written, oldest first
}

// begin gives the nudge with this write id; mine says that the caller is to do it now.
func (l *nudges) begin(key nudgeKey) (n *nudge, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.byKey[key]
	if before != nil {
		select {
		case <-before.done:
			if before.final {
				return before, false
			}
		default:
			return before, false
		}
	}
	n = &nudge{done: make(chan struct{})}
	if before != nil {
		n.noted, n.kept = before.noted, before.kept
	}
	if l.byKey == nil {
		l.byKey = map[nudgeKey]*nudge{}
	}
	l.byKey[key] = n
	return n, true
}

// end tells everybody who waits what became of the nudge, and keeps it when its event is
// written. While its host could not be reached nothing was typed, so the next one tries
// again.
func (l *nudges) end(key nudgeKey, n *nudge, g *vigilv1.Agent, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.agent, n.err, n.final = g, err, n.noted && (err == nil || fault.Of(err).Code == code.Conflict)
	close(n.done)
	switch {
	case !n.noted:
		delete(l.byKey, key)
		return
	case !n.kept:
		n.kept = true
		l.order = append(l.order, key)
	}
	if len(l.order) > nudgesKept {
		delete(l.byKey, l.order[0])
		l.order = l.order[1:]
	}
}
