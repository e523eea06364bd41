package chain

import (
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// checkOverseer tests what a single state can show of an overseer.
func (s *View) checkOverseer(c *core.Checker, a *noun.Agent) {
	x := a.Notes().Chain
	c.That((x != nil) == (s.Overseer(a) != nil), "%s has a chain: %v, its role is one of overseers: %v",
		a.Name, x != nil, s.Overseer(a) != nil)
	c.That(s.overseers.Has(a.ID) == (s.Overseer(a) != nil), "%s is in the index of overseers: %v", a.Name,
		s.overseers.Has(a.ID))
	if x == nil {
		return
	}
	row := s.lookRow(a, x)
	// what excuses an overseer moves its events, its turn stays
	if x.Task == 0 && (a.Declared != nil || s.Absent(a, a.StartedAt) > 0) {
		row = s.turnRow(a, x)
	}
	c.Armed(s.Base.View, "L3", row, x.Armed)
	c.That(x.Inc <= a.Inc, "L6: the patrols of %s are those of incarnation %s, it is at %s", a.Name, x.Inc, a.Inc)
	c.That(x.PatrolAt <= s.Meta.Clock && x.LookAt <= s.Meta.Clock && x.DecidedAt <= s.Meta.Clock,
		"the chain of %s knows the future: %+v", a.Name, *x)
	c.That(x.Task == 0 || s.looks[x.Task] == a.ID,
		"L4: task %d asks triage about %s and is not in the index of looks", x.Task, a.Name)
	if t := s.TaskTable.Get(x.Task); x.Task != 0 {
		c.That(t != nil && !t.State.Terminal() && t.Room == a.Room,
			"L4: task %d asks triage about %s and has ended", x.Task, a.Name)
	}
}

// Check tests what a single state can show of overseers.
func (s *View) Check(c *core.Checker) {
	open := 0
	for _, a := range s.AgentTable.From(0) {
		s.checkOverseer(c, a)
		if x := a.Notes().Chain; x != nil && x.Task != 0 {
			open++
		}
	}
	c.That(open == len(s.looks), "L4: %d looks are open, the index has %d", open, len(s.looks))
}
