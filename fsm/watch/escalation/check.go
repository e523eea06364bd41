package escalation

import (
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Check tests what a single state can show of escalations.
func (s *View) Check(c *core.Checker) {
	x := &s.Meta.Escalations
	open, alone, closed, pending := 0, 0, 0, 0
	newest, unclosed := map[escalationKey]noun.EscalationID{}, map[escalationKey]bool{}
	for id, e := range s.EscalationTable.From(0) {
		newest[keyOf(e)] = e.ID
		c.That(e.ID == id && e.ID <= x.Last, "escalation %d is kept as %d, the newest is %d", e.ID, id, x.Last)
		c.That(e.Kind > 0 && e.Kind < noun.EscalationKindsPlus && e.State >= noun.EscalationOpen &&
			e.State <= noun.EscalationClosed,
			"escalation %d has kind %d and state %d", e.ID, e.Kind, e.State)
		c.That(e.Count > 0 && e.First <= e.Last && e.Last <= s.Meta.Clock,
			"escalation %d happened %d times from %d to %d", e.ID, e.Count, e.First, e.Last)
		c.That((e.State == noun.EscalationClosed) == (e.CloseAt != 0), "escalation %d is %s, closed at %d",
			e.ID, e.State, e.CloseAt)
		c.That(e.Notice.Number > 0 && e.Notice.Number <= x.LastNotice,
			"escalation %d has notice %d, the newest is %d", e.ID, e.Notice.Number, x.LastNotice)
		c.That(!e.Notice.Pending || e.State == noun.EscalationOpen, "L9: escalation %d is %s and announced",
			e.ID, e.State)
		c.That(len(e.Notice.Deliveries) <= noun.MaxNotifiers, "L11: escalation %d has %d deliveries", e.ID,
			len(e.Notice.Deliveries))
		c.Armed(s.Base.View, "L11", s.noticeRow(e), e.Armed)
		if e.State == noun.EscalationClosed {
			closed++
			_, found := s.closed.Get(closedEscalation{e.Closed, e.ID})
			c.That(found, "escalation %d is not in the index of closed ones", e.ID)
		} else {
			open++
			if e.State == noun.EscalationOpen {
				alone++
			}
			_, found := s.open.Get(placeOf(e))
			c.That(found, "escalation %d is not in the index of open ones", e.ID)
			c.That(!unclosed[keyOf(e)], "several escalations about %s are open", e.Subject)
			unclosed[keyOf(e)] = true
		}
		if e.Notice.Pending {
			pending++
			_, found := s.pending.Get(e.ID)
			c.That(found, "notice %d is not in the index of pending ones", e.Notice.Number)
		}
	}
	for key, id := range newest {
		c.That(s.byKey[key] == id, "escalation %d about %s is not in the index, %d is", id, key.subject, s.byKey[key])
	}
	c.That(len(newest) == len(s.byKey), "%d things are escalated, the index has %d", len(newest), len(s.byKey))
	s.checkFailed(c)
	c.That(open <= noun.MaxOpenEscalations, "L11: %d escalations are open", open)
	c.That(alone == s.alone, "%d escalations are not acknowledged, %d are counted", alone, s.alone)
	c.That(s.open.Len() == open, "%d escalations are open, the index has %d", open, s.open.Len())
	c.That(open == s.opened && closed == s.closed.Len() && pending == s.pending.Len(),
		"%d escalations are open, %d closed, %d pending; counted are %d, %d, %d", open, closed, pending,
		s.opened, s.closed.Len(), s.pending.Len())
}
