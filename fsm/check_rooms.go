package fsm

import "vigil/fsm/noun"

// rooms checks what the conversation watchdog is told: the index of silent rooms and
// its budget (law L11).
func (c *checker) rooms(s *View) {
	open := map[noun.RoomID]uint32{}
	for _, t := range s.tasks.From(0) {
		if _, aside := s.aside[t.ID]; !aside && !t.State.Terminal() {
			open[t.Room]++
		}
	}
	excused := map[noun.RoomID]noun.Time{}
	for _, a := range s.agents.From(0) {
		excused[a.Room] = max(excused[a.Room], s.excuse(a))
	}
	in := 0
	for id, rm := range s.rooms.From(0) {
		n := s.roomIndex(id).open
		c.that(n == open[rm.ID], "room %s counts %d open tasks, there are %d", rm.Name, n, open[rm.ID])
		ri := s.silences[id]
		if ri == nil {
			ri = &silence{}
		}
		c.that(ri.excused == excused[rm.ID], "L10: room %s is excused until %d, its agents say %d", rm.Name, ri.excused, excused[rm.ID])
		want := n > 0 && !rm.Deleting && !rm.Paused && !rm.Watch.Disabled
		c.that(ri.in == want, "room %s is in the index of active rooms: %v, want %v", rm.Name, ri.in, want)
		at := max(rm.Quiet, ri.excused)
		if rm.Watch != (noun.RoomWatch{}) {
			at, _, _ = s.due(rm, ri)
		}
		if _, found := s.quietTree(rm.Watch != noun.RoomWatch{}).Get(quietRoom{at, rm.ID}); want {
			c.that(found, "room %s is not in the index of active rooms at %d", rm.Name, at)
			in++
		}
		c.that(rm.Active <= rm.Quiet && rm.Quiet <= s.meta.Clock, "room %s was active at %d and is silent since %d", rm.Name, rm.Active, rm.Quiet)
	}
	c.that(in == s.ActiveRooms(), "%d active rooms are counted, there are %d", s.ActiveRooms(), in)
	w := &s.meta.Watchdog
	c.that(uint64(w.InWindow) <= w.Canceled && len(w.History) <= noun.MaxCancellations, "L11: %d cancellations in a window, %d ever, %d kept",
		w.InWindow, w.Canceled, len(w.History))
}
