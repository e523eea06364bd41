package silence

import (
	"github.com/tidwall/btree"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// State is the conversation watchdog of a state that goes on: it follows what is done and
// said in rooms, warns of a silence and cancels a room.
type State struct {
	*core.State
	View
}

// View tells how long rooms are silent.
type View struct {
	core.Base
	silences map[noun.RoomID]*silence
	allQuiet *btree.BTreeG[quietRoom] // active rooms by the beginning of their silence ...
	ownQuiet *btree.BTreeG[quietRoom] // ... and those with limits of their own by when they are stalled
	sweeping *btree.BTreeG[noun.RoomID]
}

// Install hangs the conversation watchdog on the core.
func Install(c *core.State) *State {
	s := &State{c, View{Base: core.Base{View: &c.View}}}
	s.reset(struct{}{})
	h := core.Attach(c, s)
	h.RoomRows = append(h.RoomRows, s.roomRows)
	h.AgentChanged.Add(s.reviewExcuse)
	h.AgentExcused.Add(s.reviewExcuse)
	h.RoomTouched.Add(s.noteActivity)
	h.RoomResumed.Add(s.resume)
	h.RoomUnpaused.Add(s.beginStretch)
	h.RoomChanged.Add(s.placeRoom)
	h.RoomOpened.Add(s.openRoom)
	h.RoomGoes.Add(func(id noun.RoomID) { delete(s.silences, id) })
	h.RoomChanged.Add(s.dropSweep)
	h.WorkOff.Add(s.sweepRooms)
	h.Unworked = append(h.Unworked, func() bool { return s.sweeping.Len() > 0 })
	h.SettingsPut.Add(func(core.Put) { s.placeOwn() })
	h.Resumed.Add(func(struct{}) { s.quietSince() })
	h.Reset.Add(s.reset)
	h.Index.Add(func(struct{}) { s.indexRooms() })
	h.AgentChanged.Add(s.noteLived)
	h.LevelRaised.Add(func(uint32) { s.recallLived() })
	h.LevelRaised.Add(func(uint32) { s.reviewExcuses() })
	h.RoomOpened.Add(s.untakenOver)
	h.RoomGoes.Add(s.untakenOver)
	h.Lasts[noun.EscRoomCanceled] = func(e *noun.Escalation) bool {
		rm := s.Room(e.Room)
		return rm != nil && rm.Canceled != nil && !rm.ResumedWork()
	}
	h.Lasts[noun.EscUntaken] = func(e *noun.Escalation) bool {
		rm := s.Room(e.Room)
		return rm != nil && s.stillUnserved(rm)
	}
	return s
}

func (s *State) reset(struct{}) {
	s.silences, s.allQuiet, s.ownQuiet = map[noun.RoomID]*silence{}, core.Sorted(lessQuiet), core.Sorted(lessQuiet)
	s.sweeping = core.Ordered[noun.RoomID]()
}
