package silence

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Rooms in which nobody has lived since they were created. Their silence is nobody's fault but that
// nobody serves them, so a human is told, and the tasks wait: whoever queues work before the
// first agent is there loses nothing.

// NeedsLevel is the feature level that must have begun before the command may be written.
func (c SetRoomWatch) NeedsLevel() uint32 {
	return core.LevelWhen(c.Untaken != noun.UntakenAsSet, core.LevelRetry)
}

// spared tells that a silent room is warned of and not canceled, since nobody has lived in it.
func (v *View) spared(rm *noun.Room) bool {
	switch {
	case rm.Lived || v.Meta.Level < core.LevelRetry:
		return false
	case rm.Watch.Untaken != noun.UntakenAsSet:
		return rm.Watch.Untaken == noun.UntakenWarn
	case rm.Watch.IdleLimit > 0 || rm.Watch.Deadline > 0: // its own word
		return false
	}
	return v.Meta.Settings.Watchdog.Untaken == noun.UntakenWarn
}

// noteLived takes note that an agent has joined its room. The silence counts from the first on.
func (s *State) noteLived(a *noun.Agent) {
	if a.Part == noun.PartDisconnected || s.Meta.Level < core.LevelRetry || s.RoomTable.Get(a.Room).Lived {
		return
	}
	s.RoomTable.Mut(a.Room).Lived = true
	s.resume(a.Room)
	s.untakenOver(a.Room)
}

// recallLived notes which rooms agents have lived in before the level began that keeps it.
func (s *State) recallLived() {
	if s.Meta.Level < core.LevelRetry {
		return
	}
	for _, a := range s.AgentTable.From(0) {
		if a.Inc != 0 && !s.RoomTable.Get(a.Room).Lived {
			s.RoomTable.Mut(a.Room).Lived = true
		}
	}
}

// untakenOver closes what a human was told of a room that is served now, or has nothing to do.
func (s *State) untakenOver(id noun.RoomID) {
	if rm := s.RoomTable.Get(id); rm != nil && (rm.Lived || s.RoomIndex(id).Open == 0) {
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscUntaken, Subject: rm.Name})
	}
}

// escalateUntaken tells a human that nobody serves the room.
func (s *State) escalateUntaken(rm *noun.Room, q *RoomQuiet) {
	var roles []string
	for _, id := range rm.Roles {
		if ri := s.RoleIdx.Get(id); ri.Queued.Len()+ri.Pending.Len()+ri.Delayed.Len() > 0 {
			roles = named(roles, s.RoleTable.Get(id).Spec.Name)
		}
	}
	list, tasks := strings.Join(roles, " "), s.RoomIndex(rm.ID).Open
	s.Event("room.untaken", core.About{Room: rm.ID},
		fmt.Sprintf("%s; nobody serves %s: no agent has lived in the room since it was created, and %s",
			s.silentText(rm, q), list, noun.Plural(tasks, "task waits", "tasks wait")))
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscUntaken, Subject: rm.Name, Priority: noun.MailNormal,
		Room: rm.Name,
		Facts: []noun.KV{{Key: "roles", Value: list},
			{Key: "silent_for", Value: s.Meta.Clock.Sub(q.Active).Round(time.Second).String()},
			{Key: "tasks", Value: strconv.FormatUint(uint64(tasks), 10)}}})
}
