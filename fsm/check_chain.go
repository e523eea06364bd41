package fsm

import "vigil/fsm/noun"

// overseer tests what a single state can show of an overseer.
func (c *checker) overseer(s *View, a *noun.Agent) {
	x := a.Notes().Chain
	c.that((x != nil) == (s.Overseer(a) != nil), "%s has a chain: %v, its role is one of overseers: %v", a.Name, x != nil, s.Overseer(a) != nil)
	c.that(s.overseers.has(a.ID) == (s.Overseer(a) != nil), "%s is in the index of overseers: %v", a.Name, s.overseers.has(a.ID))
	if x == nil {
		return
	}
	at, _ := s.lookDue(a, x)
	if x.Task == 0 && (a.Declared != nil || s.absent(a, a.StartedAt) > 0) { // what excuses an overseer moves its events, its turn stays
		at = max(x.Since, x.LookAt, x.DecidedAt).Add(s.meta.Settings.Chain.Interval)
	}
	c.that(x.Armed != 0 && x.Armed <= max(at, s.meta.Clock), "L3: overseer %s must be looked at by %d, its timer is at %d", a.Name, at, x.Armed)
	c.that(x.Inc <= a.Inc, "L6: the patrols of %s are those of incarnation %s, it is at %s", a.Name, x.Inc, a.Inc)
	c.that(x.PatrolAt <= s.meta.Clock && x.LookAt <= s.meta.Clock && x.DecidedAt <= s.meta.Clock, "the chain of %s knows the future: %+v", a.Name, *x)
	c.that(x.Task == 0 || s.looks[x.Task] == a.ID, "L4: task %d asks triage about %s and is not in the index of looks", x.Task, a.Name)
	if t := s.tasks.Get(x.Task); x.Task != 0 {
		c.that(t != nil && !t.State.Terminal() && t.Room == a.Room, "L4: task %d asks triage about %s and has ended", x.Task, a.Name)
	}
}
