package fsm

import "vigil/fsm/noun"

// about names what an event is about; what is known of an agent is filled in.
type about struct {
	agent   *noun.Agent
	room    noun.RoomID
	task    noun.TaskID
	attempt uint32
	host    noun.HostID
}

// event appends to the history and drops what is beyond the number kept.
func (s *State) event(kind string, w about, text string) {
	seq := s.meta.NextEvent
	s.meta.NextEvent++
	e := s.events.Put(seq)
	*e = noun.Event{Seq: seq, Index: s.meta.Index, At: s.meta.Clock, Wall: s.now.Wall, Kind: kind,
		Task: w.task, Attempt: w.attempt, Text: text}
	if w.agent != nil {
		e.Agent, e.Inc, w.room = w.agent.Name, w.agent.Inc, w.agent.Room
	}
	if rm := s.rooms.Get(w.room); rm != nil {
		e.Room = rm.Name
	}
	if h := s.hosts.Get(w.host); h != nil {
		e.Host = h.Name
	}
	for s.meta.NextEvent-s.meta.FirstEvent > max(s.meta.Settings.EventsKept, 1) {
		s.events.Del(s.meta.FirstEvent)
		s.meta.FirstEvent++
	}
}
