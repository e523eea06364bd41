package core

import (
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// What a human sets can have an end: a stop, a pause, a drain. The end is a human's word too, said
// beforehand: what follows is what the opposite word would do at that time. It belongs to the word
// that set it, so every later word about the same thing replaces it or takes it away (law L9).

// Kinds of such ends.
var (
	KindStopEnd  = &due.Kind{Name: "end of the stop", Then: "it is started again, as if a human had asked for it"}
	KindPauseEnd = &due.Kind{Name: "end of the pause", Then: "starts and new tasks are allowed again"}
	KindDrainEnd = &due.Kind{Name: "end of the drain", Then: "the host gets starts again"}
)

// endRow is the row of an end; of none it is zero.
func endRow(k *due.Kind, of due.Of, e noun.End) due.Row {
	if e.At == 0 {
		return due.Row{}
	}
	return due.Row{Kind: k, Of: of, From: e.At.Add(-e.For), Span: e.For}
}

func stopEndRow(a *noun.Agent) due.Row { return endRow(KindStopEnd, due.OfAgent(a.ID), a.Ends().Stop) }

func pauseEndRow(a *noun.Agent) due.Row {
	return endRow(KindPauseEnd, due.OfAgent(a.ID), a.Ends().Pause)
}

func roomEndRow(rm *noun.Room) due.Row { return endRow(KindPauseEnd, due.OfRoom(rm.ID), rm.PauseEnd) }

func drainEndRow(h *noun.Host) due.Row { return endRow(KindDrainEnd, due.OfHost(h.ID), h.DrainEnd) }

// allEndRow is the row of the end of the pause of everything.
func (v *View) allEndRow() due.Row { return endRow(KindPauseEnd, due.Of{}, v.Meta.PauseEnd) }

// intentRow is the row of what ends first of what humans have set of an agent.
func intentRow(a *noun.Agent) due.Row {
	if a.Noted == nil {
		return due.Row{}
	}
	return due.Sooner(stopEndRow(a), pauseEndRow(a))
}

// pausedRow is the row of the end of the pause that Paused has found.
func (v *View) pausedRow(a *noun.Agent, code string) due.Row {
	switch code {
	case "room_paused":
		return roomEndRow(v.RoomTable.Get(a.Room))
	case "all_paused":
		return v.allEndRow()
	case "budget":
		return v.Hooks.BarredRow(a)
	}
	return pauseEndRow(a)
}

// checkFor refuses a span that is out of range, or that nothing has which could end. set tells that
// the command sets something and does not end it.
func checkFor(d time.Duration, set bool) noun.Outcome {
	if err := noun.CheckFor(d); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	if d != 0 && !set {
		return Refuse(noun.Invalid, "for: %s is said of what takes a human's word back; that has no end", d)
	}
	return noun.Outcome{}
}

// setEnd replaces an end that has a timer of its own. The timer is set for exactly that end, so
// nothing else has to be kept of it.
func (s *State) setEnd(kind timerKind, id uint64, e *noun.End, to noun.End) {
	if e.At != 0 {
		s.Timers.Delete(TimerAt(e.At, kind, id))
	}
	*e = to
	s.Arm(kind, id, to.At)
}

// endIntents ends what humans have set of an agent for a time that is over. The caller settles it.
func (s *State) endIntents(a *noun.Agent) {
	n, e, now := a.Notes(), a.Ends(), s.Meta.Clock
	if e.Stop.Over(now) {
		why := overText("stop", e.Stop, a.IntentBy, n.IntentWhy)
		s.letRun(a, a.IntentBy, noun.Clip(why, noun.MaxReason), why)
		s.Hooks.RoomResumed.Call(a.Room)
	}
	if e.Pause.Over(now) {
		s.resumeAgent(a, overText("pause", e.Pause, n.PauseBy, n.PauseWhy))
		s.Hooks.RoomResumed.Call(a.Room)
		s.offer(s.RoleTable.Get(a.Role))
	}
}

// fireRoom ends the pause of a room whose time is over.
func (s *State) fireRoom(id noun.RoomID) {
	rm := s.RoomTable.Get(id)
	if rm == nil || !rm.PauseEnd.Over(s.Meta.Clock) {
		return
	}
	s.resumeRoom(s.RoomTable.Mut(id), overText("pause", rm.PauseEnd, rm.PauseBy, rm.PauseWhy))
	s.Hooks.RoomResumed.Call(id)
}

// firePause ends the pause of everything when its time is over.
func (s *State) firePause() {
	if m := &s.Meta; m.PauseEnd.Over(m.Clock) {
		s.resumeAll(overText("pause", m.PauseEnd, m.PauseBy, m.PauseWhy))
	}
}

// endDrain ends the drain of a host when its time is over.
func (s *State) endDrain(h *noun.Host) {
	if h.DrainEnd.Over(s.Meta.Clock) {
		s.undrain(h, overText("drain", h.DrainEnd, h.DrainBy, ""))
	}
}

// overText says of what a human has set that its time is over.
func overText(what string, e noun.End, by, why string) string {
	return "the " + what + " for " + e.For.String() + " " + said(by, why) + " is over"
}

// forText says how long something is set for; empty: it has no end.
func forText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "for " + d.String() + " "
}

// stillFor says for how long something that has an end still lasts; empty: it has none.
func (v *View) stillFor(e noun.End) string {
	if e.At == 0 {
		return ""
	}
	return " for another " + inTime(max(0, e.At.Sub(v.Meta.Clock))).String()
}
