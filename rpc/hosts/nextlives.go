package hosts

import (
	"sync/atomic"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// NextLives puts the order to start the next life of an agent into the entry that ends the last one, on the host
// where that has ended: one commit, and no wait for the planner, whose choice would be the same. It is a guess
// about what the entry leaves; OrderStart checks everything as always (laws L4, L9, L11), and whom it refuses the
// planner places when it may be started. It never takes a slot that others wait for. It implements fsm.Matcher.
type NextLives struct {
	reader  Reader
	ordered atomic.Uint64

	// What the entry ends; it belongs to the goroutine that seals.
	ended []fsm.ReportExit
}

// Reader is what NextLives needs of the replica.
type Reader interface {
	// Read calls fn under the read lock.
	Read(fn func(*fsm.View))
}

// NewNextLives gives what a server that leads appends.
func NewNextLives(r Reader) *NextLives { return &NextLives{reader: r} }

// maxNextLives bounds the orders that are appended to one entry.
const maxNextLives = 256

// See implements fsm.Matcher. Another host may be better after a start that failed, and a usage limit lasts.
func (n *NextLives) See(cmd fsm.Command) {
	c, ok := cmd.(fsm.ReportExit)
	if ok && c.Kind != noun.ExitStartFailed && c.Kind != noun.ExitUsageLimit && len(n.ended) < maxNextLives {
		n.ended = append(n.ended, c)
	}
}

// Extras implements fsm.Matcher.
func (n *NextLives) Extras() (extras []fsm.Extra) {
	if len(n.ended) == 0 {
		return nil
	}
	n.reader.Read(func(st *fsm.View) {
		for i := range n.ended {
			if order, ok := nextLife(st, &n.ended[i]); ok {
				extras = append(extras, fsm.Extra{Request: fsm.Request{Planned: true, Cmd: order}, Done: n.done})
			}
		}
	})
	clear(n.ended) // their words are not kept until the next end
	n.ended = n.ended[:0]
	return extras
}

func (n *NextLives) done(out noun.Outcome, err error) {
	if err == nil && out.Code == noun.OK {
		n.ordered.Add(1)
	}
}

// Ordered counts the lives that were ordered so. Safe for concurrent use.
func (n *NextLives) Ordered() uint64 { return n.ordered.Load() }

// nextLife gives the order that may follow an end; false: the planner is asked.
func nextLife(st *fsm.View, c *fsm.ReportExit) (o fsm.OrderStart, ok bool) {
	a, h := st.Agent(c.Agent), st.Host(c.Host)
	if a == nil || h == nil || a.Inc != c.Inc || a.Host != c.Host || !a.Proc.Fenced() {
		return o, false // the report is old
	}
	if a.Failures > 0 || st.StopWish(a) || st.Paused(a) != "" || a.Proc == noun.ProcAccepted {
		return o, false // it will have to wait, or its host was too slow to start it
	}
	if st.DueRoles() > 0 && st.Misfit(h, a) != "" {
		return o, false // the host is full, and the slot perhaps another's turn
	}
	return fsm.OrderStart{Agent: c.Agent, Inc: st.NextInc(a), Host: c.Host}, true
}
