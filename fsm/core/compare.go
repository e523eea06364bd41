package core

import (
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Same tests that a row gives the time of the function that it replaces.
func (c *Checker) Same(r due.Row, old noun.Time, what string, id uint64) {
	c.That(r.At() == old, "%s of %d: the row says %d, the function %d: %+v", what, id, r.At(), old, r)
}

func (v *View) compare(c *Checker) {
	for id, a := range v.AgentTable.From(0) {
		c.Same(v.agentLimit(a), v.limitOf(a), "limit", uint64(id))
		l := v.LeaseTable.Get(a.ID)
		c.Same(v.leaseRow(a.ID, l), l.Until, "lease", uint64(id))
		c.Same(v.fenceRow(a.ID, l), l.Fence, "fence", uint64(id))
	}
	for id, t := range v.TaskTable.From(0) {
		c.Same(v.taskRow(t), v.TaskDeadline(t), "task", uint64(id))
		c.Same(v.taskAway(t), v.taskDue(t), "task due", uint64(id))
	}
	for id, h := range v.HostTable.From(0) {
		c.Same(v.hostRow(h), v.hostDeadline(h), "host", uint64(id))
	}
	hold := noun.Time(0)
	switch {
	case v.held():
		hold = v.Meta.HoldUntil
	case v.StartsHeld() > 0:
		hold = v.Meta.HoldUntil.Add(v.Meta.HoldFor)
	}
	c.Same(v.holdRow(), hold, "hold", 0)
	brake := noun.Time(0)
	if b := &v.Meta.Brake; b.Set != 0 {
		if brake = b.Hold; b.Hold <= v.Meta.Clock {
			brake = b.TAT.Add(v.Meta.Settings.TTL)
		}
	}
	c.Same(v.brakeRow(), brake, "brake", 0)
}
