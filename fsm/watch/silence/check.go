package silence

import (
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Check checks what the conversation watchdog is told: the index of silent rooms and
// its budget (law L11).
func (s *View) Check(c *core.Checker) {
	open := map[noun.RoomID]uint32{}
	for _, t := range s.TaskTable.From(0) {
		if _, aside := s.Aside[t.ID]; !aside && !t.State.Terminal() {
			open[t.Room]++
		}
	}
	excused := map[noun.RoomID]noun.Time{}
	for _, a := range s.AgentTable.From(0) {
		end := s.excuse(a)
		excused[a.Room] = max(excused[a.Room], end)
		if ri := s.silences[a.Room]; ri != nil {
			c.That(ri.excuses.ends[a.ID] == end, "L10: %s is excused until %d, the index says %d", a.Name,
				end, ri.excuses.ends[a.ID])
		}
	}
	in := 0
	for id, rm := range s.RoomTable.From(0) {
		n := s.RoomIndex(id).Open
		c.That(n == open[rm.ID], "room %s counts %d open tasks, there are %d", rm.Name, n, open[rm.ID])
		ri := s.silences[id]
		if ri == nil {
			ri = &silence{}
		}
		c.That(ri.excused == excused[rm.ID], "L10: room %s is excused until %d, its agents say %d", rm.Name,
			ri.excused, excused[rm.ID])
		want := n > 0 && !rm.Deleting && !rm.Paused && !rm.Watch.Disabled && rm.Sweep == nil
		c.That(ri.in == want, "room %s is in the index of active rooms: %v, want %v", rm.Name, ri.in, want)
		at := max(rm.Quiet, ri.excused)
		if rm.Watch != (noun.RoomWatch{}) {
			row := s.dueRow(rm, ri)
			at = row.At()
		}
		if _, found := s.quietTree(rm.Watch != noun.RoomWatch{}).Get(quietRoom{at, rm.ID}); want {
			c.That(found, "room %s is not in the index of active rooms at %d", rm.Name, at)
			in++
		}
		_, sweeping := s.sweeping.Get(rm.ID)
		c.That(sweeping == (rm.Sweep != nil) && (rm.Sweep == nil || !rm.Deleting),
			"L3: room %s has to be swept: %v, in the index: %v", rm.Name, rm.Sweep != nil, sweeping)
		c.That(!rm.Sweep.Cancels() || rm.Canceled != nil, "room %s is being canceled, and is not", rm.Name)
		c.That(!rm.Unserved || rm.Warned > 0 && s.Level() >= core.LevelRetry,
			"L9: a human was told that nobody serves room %s, and nobody has warned of it", rm.Name)
		c.That(rm.Active <= rm.Quiet && rm.Quiet <= s.Meta.Clock,
			"room %s was active at %d and is silent since %d", rm.Name, rm.Active, rm.Quiet)
	}
	c.That(in == s.ActiveRooms(), "%d active rooms are counted, there are %d", s.ActiveRooms(), in)
	w := &s.Meta.Watchdog
	c.That(uint64(w.InWindow) <= w.Canceled && len(w.History) <= noun.MaxCancellations,
		"L11: %d cancellations in a window, %d ever, %d kept",
		w.InWindow, w.Canceled, len(w.History))
}
