package silence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Rooms that nobody serves: no agent has lived in them since they were created, or none is there now, and
// what keeps those that vigil starts is a drained, lost or full host, a life in doubt or a restore. Their
// silence is nobody's, so a human is told, and the tasks wait: an absent host and who queues work before the
// first agent is there lose nothing.

// NeedsLevel is the feature level that must have begun before the command may be written.
func (c SetRoomWatch) NeedsLevel() uint32 {
	return core.LevelWhen(c.Untaken != noun.UntakenAsSet, core.LevelRetry)
}

// spared tells that a room which is silent for this reason is warned of and not canceled, since nobody
// serves it. A deadline holds whoever is there.
func (v *View) spared(rm *noun.Room, reason string) bool {
	if v.Meta.Level < core.LevelRetry {
		return false
	}
	kept := reason == IdleTimeout && v.unserved(rm) != nil
	switch {
	case rm.Lived && !kept:
		return false
	case rm.Watch.Untaken != noun.UntakenAsSet:
		return rm.Watch.Untaken == noun.UntakenWarn
	case !kept && (rm.Watch.IdleLimit > 0 || rm.Watch.Deadline > 0): // its own word
		return false
	}
	return v.Meta.Settings.Watchdog.Untaken == noun.UntakenWarn
}

// unserved gives the first role whose tasks wait for an agent that vigil is to start, in a room in which
// nobody could be silent: no agent holds a task, and none is there that could take one that waits. Who
// starts its agents by hand is not kept by a host, so a role without a runner is none; nil: there is none.
// It walks over the agents of roles that have one which is there.
func (v *View) unserved(rm *noun.Room) (found *noun.Role) {
	for _, id := range rm.Roles {
		r, ri := v.RoleTable.Get(id), v.RoleIdx.Get(id)
		switch {
		case ri.Queued.Len()+ri.Pending.Len() == 0:
		case v.RoleStats(id).Live > 0 && slices.ContainsFunc(r.Agents, v.couldTake):
			return nil
		case found == nil && r.Spec.Runner != "":
			found = r
		}
	}
	if found != nil && len(v.heldTasksOf(rm)) > 0 {
		return nil
	}
	return found
}

// couldTake tells that an agent is there and nothing keeps it from a task that waits.
func (v *View) couldTake(id noun.AgentID) bool {
	a := v.AgentTable.Get(id)
	return a.Part != noun.PartDisconnected && !v.held(a)
}

// unservedText says for people why nobody serves the room.
func (v *View) unservedText(rm *noun.Room) string {
	if r := v.unserved(rm); rm.Lived && r != nil {
		return "no agent of its role " + r.Spec.Name + " is there"
	}
	return "no agent has lived in it since it was created"
}

// noteLived takes note that an agent has joined its room. The silence of a room that nobody had served
// counts from then on.
func (s *State) noteLived(a *noun.Agent) {
	if a.Part == noun.PartDisconnected || s.Meta.Level < core.LevelRetry {
		return
	}
	rm := s.RoomTable.Get(a.Room)
	if rm.Lived && (!rm.Unserved || s.unserved(rm) != nil) {
		return
	}
	rm = s.RoomTable.Mut(a.Room)
	rm.Lived, rm.Unserved = true, false
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
	if rm := s.RoomTable.Get(id); rm != nil && !s.stillUnserved(rm) {
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscUntaken, Subject: rm.Name})
	}
}

// stillUnserved tells that what a human was told of the room is still so.
func (v *View) stillUnserved(rm *noun.Room) bool {
	return v.RoomIndex(rm.ID).Open > 0 && (!rm.Lived || v.unserved(rm) != nil)
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
	facts := []noun.KV{{Key: "roles", Value: list},
		{Key: "silent_for", Value: s.Meta.Clock.Sub(q.Active).Round(time.Second).String()},
		{Key: "tasks", Value: strconv.FormatUint(uint64(tasks), 10)}}
	text := s.unservedText(rm)
	if r := s.unserved(rm); r != nil {
		why := noun.Clip(s.WhyWaits(r.ID).Text, noun.MaxReason)
		text += " (" + why + ")"
		facts = append(facts, noun.KV{Key: "waits_for", Value: why})
	}
	s.Event("room.untaken", core.About{Room: rm.ID}, fmt.Sprintf("%s; nobody serves %s: %s, and %s",
		s.silentText(rm, q), list, text, noun.Plural(tasks, "task waits", "tasks wait")))
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscUntaken, Subject: rm.Name, Priority: noun.MailNormal,
		Room: rm.Name, Facts: facts})
}
