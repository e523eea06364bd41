package core

import "vigil/fsm/noun"

// About names what an event is about; what is known of an agent is filled in.
type About struct {
	Agent   *noun.Agent
	Room    noun.RoomID
	Task    noun.TaskID
	attempt uint32
	Host    noun.HostID
}

// Event appends to the history and drops what is beyond the number kept.
func (s *State) Event(kind string, w About, text string) {
	s.Weigh(weightOfEvent)
	seq := s.Meta.NextEvent
	s.Meta.NextEvent++
	e := s.EventTable.Put(seq)
	*e = noun.Event{Seq: seq, Index: s.Meta.Index, At: s.Meta.Clock, Wall: s.Entry.Wall, Kind: kind,
		Task: w.Task, Attempt: w.attempt, Text: text}
	if w.Agent != nil {
		e.Agent, e.Inc, w.Room = w.Agent.Name, w.Agent.Inc, w.Agent.Room
	}
	if rm := s.RoomTable.Get(w.Room); rm != nil {
		e.Room = rm.Name
	}
	if h := s.HostTable.Get(w.Host); h != nil {
		e.Host = h.Name
	}
	for s.Meta.NextEvent-s.Meta.FirstEvent > max(s.Meta.Settings.EventsKept, 1) {
		s.EventTable.Del(s.Meta.FirstEvent)
		s.Meta.FirstEvent++
	}
}
