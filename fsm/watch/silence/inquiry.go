package silence

import (
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// What the conversation watchdog asks before it cancels a room,
// and what of mail is a word in a room.

const (
	roomInquirySubject = "Does this conversation go on?"
	roomInquiryBody    = "Nothing was done or said in this room for too long, " +
		"so it will be canceled soon. " +
		"Report progress, declare what you wait for, or acknowledge this mail, and it stays."
	// maxAsked is how many agents of a silent room are asked.
	maxAsked = 8
)

// askRoom asks the agents that hold open tasks of a silent room, or where none does, those
// that are there and could take one. It is asked once a warning.
func (s *State) askRoom(rm *noun.Room) {
	s.withdrawAsked(rm)
	var holders, others []noun.AgentID
	for _, id := range s.heldTasksOf(rm) {
		if len(holders) < maxAsked {
			holders = append(holders, s.TaskTable.Get(id).Holder)
		}
	}
	if len(holders) == 0 {
		for _, id := range rm.Roles {
			r := s.RoleTable.Get(id)
			if s.Pending(id) == 0 {
				continue
			}
			for _, id := range r.Agents {
				if len(others) < maxAsked && (s.Level() < core.LevelRetry || s.there(id)) {
					others = append(others, id)
				}
			}
		}
	}
	var asked []noun.MailID
	for _, id := range append(holders, others...) {
		if !s.there(id) {
			continue
		}
		if m := s.Hooks.Write(core.Letter{To: s.AgentTable.Get(id), From: noun.WatchedBy, Kind: "room-inquiry",
			Priority: noun.MailHigh, Subject: roomInquirySubject, Body: roomInquiryBody}).Mail; m != 0 {
			asked = append(asked, m)
		}
	}
	rm.Asked = asked
}

// there tells that an agent is in its room, so that it can answer.
func (v *View) there(id noun.AgentID) bool {
	a := v.AgentTable.Get(id)
	return a != nil && a.Part != noun.PartDisconnected
}

// withdrawAsked closes what was asked of a room's agents and nobody has answered: the room
// has an answer, or needs none any more.
func (s *State) withdrawAsked(rm *noun.Room) {
	asked := rm.Asked
	rm.Asked = nil
	for _, id := range asked {
		s.Hooks.Recall.Call(id)
	}
}
