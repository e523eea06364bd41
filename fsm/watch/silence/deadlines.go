package silence

import (
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Kinds of deadlines of rooms.
var (
	kindSilence = &due.Kind{Name: "silence",
		Then: "the room counts as stalled; the leader's next pass warns of it and asks its agents"}
	kindDeadline = &due.Kind{Name: "deadline",
		Then: "the room counts as stalled, whatever is done or said; the leader's next pass warns of it"}
	kindGrace = &due.Kind{Name: "grace",
		Then: "the leader's next pass cancels the room's tasks and stops who holds them"}
)

// dueRow is the row after which a room with open tasks is stalled.
func (v *View) dueRow(rm *noun.Room, x *silence) due.Row {
	set, since := &v.Meta.Settings.Watchdog, v.Meta.Watchdog.Since
	opened := max(rm.Opened, since)
	r := due.Row{Kind: kindSilence, Of: due.OfRoom(rm.ID), From: max(rm.Quiet, since), Span: v.limit(rm),
		Hold: due.Hold{Until: x.excused, Why: "what an agent has declared, or is expected of its task"},
		Put:  due.Hold{Until: opened.Add(set.MinAge), Why: "it has only just got open tasks"}}
	end := due.Row{Kind: kindDeadline, Of: r.Of, From: opened, Span: rm.Watch.Deadline}
	if rm.Watch.Deadline > 0 && end.At() <= r.At() {
		return end
	}
	return r
}

// limit is for how long a room may be silent.
func (v *View) limit(rm *noun.Room) time.Duration {
	if rm.Watch.IdleLimit > 0 {
		return rm.Watch.IdleLimit
	}
	return v.Meta.Settings.Watchdog.Threshold
}

// graceRow is the row after which a room that was warned is canceled.
func (v *View) graceRow(rm *noun.Room) due.Row {
	return due.Row{Kind: kindGrace, Of: due.OfRoom(rm.ID), From: rm.Warned, Span: v.Meta.Settings.Watchdog.Grace}
}

// roomRows adds when a room is stalled, or canceled, as things are.
func (v *View) roomRows(rm *noun.Room, l *due.List) {
	switch q := v.Quiet(rm); {
	case q.State == RoomStalling:
		l.Add(v.graceRow(rm))
	case q.DueAt != 0:
		x := v.silences[rm.ID]
		if x == nil {
			x = &silence{}
		}
		l.Add(v.dueRow(rm, x))
	}
}
