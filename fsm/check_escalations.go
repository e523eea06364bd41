package fsm

import "vigil/fsm/noun"

// escalations tests what a single state can show of escalations.
func (c *checker) escalations(s *View) {
	x := &s.meta.Escalations
	open, alone, closed, pending := 0, 0, 0, 0
	newest, unclosed := map[escalationKey]noun.EscalationID{}, map[escalationKey]bool{}
	for id, e := range s.escalations.From(0) {
		newest[keyOf(e)] = e.ID
		c.that(e.ID == id && e.ID <= x.Last, "escalation %d is kept as %d, the newest is %d", e.ID, id, x.Last)
		c.that(e.Kind > 0 && e.Kind < noun.EscalationKindsPlus && e.State >= noun.EscalationOpen && e.State <= noun.EscalationClosed,
			"escalation %d has kind %d and state %d", e.ID, e.Kind, e.State)
		c.that(e.Count > 0 && e.First <= e.Last && e.Last <= s.meta.Clock, "escalation %d happened %d times from %d to %d", e.ID, e.Count, e.First, e.Last)
		c.that((e.State == noun.EscalationClosed) == (e.CloseAt != 0), "escalation %d is %s, closed at %d", e.ID, e.State, e.CloseAt)
		c.that(e.Notice.Number > 0 && e.Notice.Number <= x.LastNotice, "escalation %d has notice %d, the newest is %d", e.ID, e.Notice.Number, x.LastNotice)
		c.that(!e.Notice.Pending || e.State == noun.EscalationOpen, "L9: escalation %d is %s and announced", e.ID, e.State)
		c.that(len(e.Notice.Deliveries) <= noun.MaxNotifiers, "L11: escalation %d has %d deliveries", e.ID, len(e.Notice.Deliveries))
		at := s.noticeDeadline(e)
		c.that(at == 0 || e.Armed != 0 && e.Armed <= at, "escalation %d must be announced again at %d, its timer is at %d", e.ID, at, e.Armed)
		if e.State == noun.EscalationClosed {
			closed++
			_, found := s.escClosed.Get(closedEscalation{e.Closed, e.ID})
			c.that(found, "escalation %d is not in the index of closed ones", e.ID)
		} else {
			open++
			if e.State == noun.EscalationOpen {
				alone++
			}
			c.that(!unclosed[keyOf(e)], "several escalations about %s are open", e.Subject)
			unclosed[keyOf(e)] = true
		}
		if e.Notice.Pending {
			pending++
			_, found := s.escPending.Get(e.ID)
			c.that(found, "notice %d is not in the index of pending ones", e.Notice.Number)
		}
	}
	for key, id := range newest {
		c.that(s.escByKey[key] == id, "escalation %d about %s is not in the index, %d is", id, key.subject, s.escByKey[key])
	}
	c.that(len(newest) == len(s.escByKey), "%d things are escalated, the index has %d", len(newest), len(s.escByKey))
	c.that(open <= noun.MaxOpenEscalations, "L11: %d escalations are open", open)
	c.that(alone == s.escAlone, "%d escalations are not acknowledged, %d are counted", alone, s.escAlone)
	c.that(open == s.escOpen && closed == s.escClosed.Len() && pending == s.escPending.Len(),
		"%d escalations are open, %d closed, %d pending; counted are %d, %d, %d", open, closed, pending, s.escOpen, s.escClosed.Len(), s.escPending.Len())
}
