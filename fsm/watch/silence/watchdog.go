package silence

import (
	"fmt"
	"strconv"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// The conversation watchdog. A room is active while it has open tasks. It is
// stalled when it is active, older than a minimum age, and nothing was done or said in it
// for longer than its limit. Its silence is warned of first; when it goes on for the grace,
// its tasks are canceled and their holders are stopped; a human can reopen it. With the
// warning its agents are asked by mail (see inquiry.go). Leaders look
// for stalled rooms (cluster/duty); what they find is decided again here, inside the log
// record, so a plan that is late or made twice changes nothing.
//
// What is done or said: a task is created, claimed, started, progresses, is completed, fails,
// is handed on; an agent declares itself, writes or acknowledges mail; a human commands or
// writes something (see Touch). What
// supervision does by itself (restarts, ends of leases, reminders, orders) is none of it.

// Reasons of a cancellation by the watchdog.
const (
	IdleTimeout  = "idle_timeout" // nothing was done or said in the room for longer than its limit
	RoomDeadline = "deadline"     // it was active for longer than the deadline that was set for it
)

const maxNamed = 8

// WarnRoom warns of a silence. Active is the last activity that the planner saw.
type WarnRoom struct {
	Room   noun.RoomID
	Active noun.Time
}

// CancelIdleRoom cancels a room that stayed silent after a warning. Active and Warned are
// what the planner saw: when anything has happened since, nothing is canceled.
type CancelIdleRoom struct {
	Room           noun.RoomID
	Active, Warned noun.Time
}

// ReopenRoom brings back the tasks that the watchdog canceled last in a room.
type ReopenRoom struct {
	Room  string
	By    string
	IfRev uint64 // 0: whatever it is now
}

// SetRoomWatch replaces what a room sets for the watchdog.
type SetRoomWatch struct {
	Room string
	noun.RoomWatch
	By    string
	IfRev uint64 // 0: whatever it is now
}

// quietSince lets every silence begin now at the earliest: after an outage of which the
// state knows nothing, or a pause of everything.
func (s *State) quietSince() {
	s.Meta.Watchdog.Since = s.Meta.Clock
	s.placeOwn()
}

// placeOwn places the rooms with limits of their own anew, when a setting changed.
func (s *State) placeOwn() {
	var own []noun.RoomID
	s.ownQuiet.Scan(func(q quietRoom) bool {
		own = append(own, q.id)
		return true
	})
	for _, id := range own {
		s.placeRoom(s.RoomTable.Get(id))
	}
}

func (c WarnRoom) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	rm, q, no := s.stalled(c.Room, c.Active)
	if rm == nil {
		return no
	}
	if q.State == RoomStalling {
		return core.Refuse(noun.Conflict, "room %q is warned already", rm.Name)
	}
	was := rm.Unserved
	rm.Warned, rm.Unserved = s.Meta.Clock, s.spared(rm, q.Reason)
	s.Meta.Watchdog.Warned++
	if rm.Unserved {
		s.withdrawAsked(rm)
		s.escalateUntaken(rm, &q)
		return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
	}
	if was { // what the human was told, that nothing is canceled, is no longer so
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscUntaken, Subject: rm.Name})
	}
	s.askRoom(rm)
	s.Event("room.stalling", core.About{Room: rm.ID},
		fmt.Sprintf("%s; unless something is done or said in it, it is canceled in %s",
			s.silentText(rm, &q), s.Meta.Settings.Watchdog.Grace))
	return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
}

// stalled finds a room of which a planner says that it is stalled, and looks again.
func (s *State) stalled(id noun.RoomID, active noun.Time) (*noun.Room, RoomQuiet, noun.Outcome) {
	rm := s.RoomTable.Mut(id)
	if rm == nil {
		return nil, RoomQuiet{}, core.Refuse(noun.NotFound, "there is no room number %d", id)
	}
	q := s.Quiet(rm)
	switch {
	case q.Active != active && q.Reason == IdleTimeout:
		return nil, q, core.Refuse(noun.Conflict,
			"something was done or said in room %q since the plan was made", rm.Name)
	case q.State != RoomStalled && q.State != RoomStalling:
		return nil, q, core.Refuse(noun.Conflict, "room %q is %s: %s", rm.Name, q.State, q.Why)
	}
	return rm, q, noun.Outcome{}
}

// silentText says for people why a room counts as stalled.
func (v *View) silentText(rm *noun.Room, q *RoomQuiet) string {
	if q.Reason == RoomDeadline {
		return "active for longer than its deadline of " + rm.Watch.Deadline.String()
	}
	return fmt.Sprintf("nothing was done or said for %s, its limit is %s",
		v.Meta.Clock.Sub(q.Active).Round(time.Second), q.Limit)
}

func (c CancelIdleRoom) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	rm, q, no := s.stalled(c.Room, c.Active)
	if rm == nil {
		return no
	}
	set, w := &s.Meta.Settings.Watchdog, &s.Meta.Watchdog
	if w.InWindow == 0 || s.Meta.Clock.Sub(w.WindowAt) >= set.Interval {
		w.WindowAt, w.InWindow = s.Meta.Clock, 0
	}
	switch {
	case q.State != RoomStalling || rm.Warned != c.Warned:
		return core.Refuse(noun.Conflict, "room %q has to be warned first", rm.Name)
	case q.CancelAt > s.Meta.Clock:
		return core.Refuse(noun.Conflict, "the grace of room %q is not over", rm.Name)
	case w.InWindow >= set.MaxCancellations: // law L11
		return core.Refuse(noun.Conflict,
			"%d rooms were canceled within %s, more are not allowed (setting watchdog_max_cancellations)",
			w.InWindow, set.Interval)
	}
	w.InWindow++
	w.Canceled++
	s.Event("room.idle_timeout", core.About{Room: rm.ID}, s.silentText(rm, &q))
	x := s.cancelAll(rm, &q)
	rm = s.RoomTable.Mut(rm.ID)
	s.withdrawAsked(rm)
	rm.Canceled, rm.Warned, rm.Unserved, rm.Rev = x, 0, false, s.Meta.Index
	if s.RoomIndex(rm.ID).Delayed > 0 { // a deadline counts from here for what is left
		s.openRoom(rm.ID)
	}
	w.History = append(append([]noun.Cancellation(nil),
		w.History[max(0, len(w.History)-noun.MaxCancellations+1):]...), *x)
	s.Event("room.canceled", core.About{Room: rm.ID},
		fmt.Sprintf("by %s: outcome canceled, reason %s, %s, last activity %s",
			noun.WatchedBy, x.Reason, noun.Plural(x.Tasks, "task"), x.ActiveText()))
	s.escalateRoom(x)
	return noun.Outcome{Room: rm.ID, Rev: rm.Rev, Count: x.Tasks}
}

// sparesDelayed tells that a cancellation leaves the tasks that are put off, which are offered at their hour:
// nobody could be silent about them. A deadline is one of all that is open.
func (v *View) sparesDelayed(x *noun.Cancellation) bool {
	return x.Reason == IdleTimeout && v.Level() >= core.LevelRetry
}

// cancelAll stops who holds a task of the room, and cancels the open ones. A stop that
// cannot be carried out prevents nothing.
func (s *State) cancelAll(rm *noun.Room, q *RoomQuiet) *noun.Cancellation {
	x := &noun.Cancellation{Room: rm.Name, At: s.Meta.Clock, Wall: s.Entry.Wall, ActiveAt: rm.ActiveAt,
		Silent: s.Meta.Clock.Sub(q.Active), Reason: q.Reason, First: s.Meta.FinishSeq + 1}
	spares, open := s.sparesDelayed(x), s.RoomIndex(rm.ID).Open
	if spares {
		open -= s.RoomIndex(rm.ID).Delayed
	}
	if s.inSteps(open) {
		s.beginSweep(rm, x, open)
		return x
	}
	for _, id := range s.openTasksOf(rm, !spares) {
		t := s.TaskTable.Mut(id)
		if a := s.AgentTable.Get(t.Holder); t.State.Held() && a != nil {
			x.Hosts = named(x.Hosts, s.HostNameOf(a))
		}
		x.Roles = named(x.Roles, s.RoleTable.Get(t.Role).Spec.Name)
		s.cancelTask(t, x.TaskReason(), true)
		x.Tasks++
	}
	for _, id := range rm.Roles {
		s.Promote(id) // the tasks of looks are left, and may have queued behind canceled ones
	}
	x.Last = s.Meta.FinishSeq
	return x
}

// cancelTask stops who holds a task and cancels it. One that is put off keeps its hour, for who reopens the room.
func (s *State) cancelTask(t *noun.Task, why string, told bool) {
	hour := t.Retried().NotBefore
	s.stopHolder(t)
	if told {
		s.Cancel(t, noun.WatchedBy, why)
	} else {
		s.CancelUntold(t, why)
	}
	if hour != 0 && s.Level() >= core.LevelRetry {
		t.ChangeRetry(func(r *noun.Retry) { r.NotBefore = hour })
	}
}

// stopHolder stops who holds a task.
func (s *State) stopHolder(t *noun.Task) {
	a := s.AgentTable.Mut(t.Holder)
	if !t.State.Held() || a == nil {
		return
	}
	was := core.ShadowOf(a)
	s.OpenStop(a, "its room was silent for too long and is canceled by the watchdog")
	s.Settle(a, was)
}

// named adds a name to a short list without doubles.
func named(list []string, name string) []string {
	if name == "" || len(list) >= maxNamed {
		return list
	}
	for _, have := range list {
		if have == name {
			return list
		}
	}
	return append(list, name)
}

// Apply queues what the last cancellation of the room canceled and nobody has touched
// since. Attempts and what they have cost are kept.
func (c ReopenRoom) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	rm, no := s.changeableRoom(c.Room, c.IfRev)
	if rm == nil {
		return no
	}
	if rm.Canceled == nil {
		return noun.Outcome{Code: noun.Conflict, Rev: rm.Rev,
			Detail: fmt.Sprintf("room %q is not canceled by the watchdog; there is nothing to reopen", c.Room)}
	}
	if rm.Sweep.Cancels() { // what is not canceled yet stays as it is (law L9)
		s.endSweep(rm, rm.Sweep)
		rm = s.RoomTable.Mut(rm.ID)
	}
	if open := s.RoomIndex(rm.ID); open.Open == open.Delayed { // what comes back has the whole of a deadline
		s.openRoom(rm.ID)
	}
	n, x := uint32(0), rm.Canceled
	if s.inSteps(x.Tasks) {
		n = x.Tasks
		s.setSweep(rm, &noun.Sweep{Index: s.Meta.Index, Back: true, By: c.By, Next: x.First, Last: x.Last,
			Swept: x.Swept})
	} else {
		for _, id := range s.canceledTasks(rm) {
			s.reopen(s.TaskTable.Mut(id), c.By, true)
			n++
		}
	}
	rm = s.RoomTable.Mut(rm.ID)
	rm.Canceled, rm.ChangedBy, rm.Rev = nil, c.By, s.Meta.Index
	s.Event("room.reopened", core.About{Room: rm.ID}, fmt.Sprintf("by %s, %s", core.Nobody(c.By), noun.Plural(n, "task")))
	s.Touch(rm.ID)
	return noun.Outcome{Room: rm.ID, Rev: rm.Rev, Count: n}
}

// reopen queues a canceled task. One whose hour has not come waits for it.
func (s *State) reopen(t *noun.Task, by string, told bool) {
	t.Result, t.Note = "", ""
	t.ChangeRetry(func(r *noun.Retry) { r.ResultDropped = 0 })
	t.Pass(0, 0) // what the old attempt still says is late
	if told {
		s.Event("task.reopened", core.About{Task: t.ID, Room: t.Room}, "by "+core.Nobody(by))
	}
	hour := t.Retried().NotBefore
	if hour <= s.Meta.Clock {
		hour = 0
	}
	s.MoveUntil(t, noun.TaskQueued, hour)
	s.Promote(t.Role)
}

// canceledTasks are the tasks that the last cancellation of the room canceled, by id.
func (v *View) canceledTasks(rm *noun.Room) (list []noun.TaskID) {
	v.Finished.Ascend(core.FinishedTask{Seq: rm.Canceled.First}, func(f core.FinishedTask) bool {
		if f.Seq > rm.Canceled.Last {
			return false
		}
		if v.comesBack(rm, f.Id, rm.Canceled.Swept) {
			list = append(list, f.Id)
		}
		return true
	})
	return list
}

func (c SetRoomWatch) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	rm, no := s.changeableRoom(c.Room, c.IfRev)
	if rm == nil {
		return no
	}
	if err := c.RoomWatch.Check(); err != nil {
		return core.Refuse(noun.Invalid, "%v", err)
	}
	rm.Watch, rm.ChangedBy, rm.Rev = c.RoomWatch, c.By, s.Meta.Index
	s.Event("room.watchdog", core.About{Room: rm.ID}, c.RoomWatch.Text()+", by "+core.Nobody(c.By))
	s.Touch(rm.ID)
	s.placeRoom(rm)
	return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
}

// changeableRoom finds a room and compares the revision that a human has read.
func (s *State) changeableRoom(name string, ifRev uint64) (*noun.Room, noun.Outcome) {
	rm := s.Room(name)
	switch {
	case rm == nil:
		return nil, s.NoRoom(name)
	case rm.Deleting:
		return nil, core.Refuse(noun.Stopped, "room %q is being deleted", name)
	case ifRev != 0 && ifRev != rm.Rev:
		return nil, core.Changed(fmt.Sprintf("room %q", name), ifRev, rm.Rev)
	}
	return s.RoomTable.Mut(rm.ID), noun.Outcome{}
}

func (s *State) escalateRoom(x *noun.Cancellation) {
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscRoomCanceled, Subject: x.Room, Priority: noun.MailLow,
		Room: x.Room,
		Facts: []noun.KV{{Key: "reason", Value: x.Reason},
			{Key: "tasks", Value: strconv.FormatUint(uint64(x.Tasks), 10)},
			{Key: "silent_for", Value: x.Silent.Round(time.Second).String()}}})
}
