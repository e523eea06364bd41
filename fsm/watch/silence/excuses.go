package silence

import (
	"github.com/tidwall/btree"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// excuses are until when each agent of a room has explained its silence. They are ordered, so
// that the end of one visits no other agent: in a room of 100,000 agents that die together a
// search among the others for each of them would take minutes. The zero value is empty.
type excuses struct {
	ends  map[noun.AgentID]noun.Time
	order *btree.BTreeG[excuseEnd]
}

type excuseEnd struct {
	at noun.Time
	id noun.AgentID
}

func lessExcuse(a, b excuseEnd) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.id > b.id // of equal ends the first agent's is the last
}

// put notes the end of an agent's excuse, 0 for none, and tells whether it was another before.
func (x *excuses) put(id noun.AgentID, end noun.Time) bool {
	was := x.ends[id]
	if was == end {
		return false
	}
	if x.ends == nil {
		x.ends, x.order = map[noun.AgentID]noun.Time{}, core.Sorted(lessExcuse)
	}
	if was != 0 {
		x.order.Delete(excuseEnd{was, id})
	}
	if end == 0 {
		delete(x.ends, id)
		return true
	}
	x.ends[id] = end
	x.order.Set(excuseEnd{end, id})
	return true
}

// last is the latest end and whose it is; 0 when there is none.
func (x *excuses) last() (noun.Time, noun.AgentID) {
	if x.order == nil {
		return 0, 0
	}
	e, _ := x.order.Max()
	return e.at, e.id
}
