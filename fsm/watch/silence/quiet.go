package silence

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// How long rooms are silent: the index that the conversation watchdog asks, and its
// answer for one room. All of it is derived.

// RoomState is how the conversation watchdog sees a room.
type RoomState string

// What the watchdog sees.
const (
	RoomUnwatched RoomState = "unwatched" // the watchdog is off or has not begun
	RoomIdle      RoomState = "idle"      // no open tasks: there is nothing to cancel
	RoomExempt    RoomState = "exempt"    // silent for a reason, see RoomQuiet.Why
	RoomActive    RoomState = "active"    // not silent for too long
	RoomStalled   RoomState = "stalled"   // silent for too long, not warned yet
	RoomStalling  RoomState = "stalling"  // warned; it is canceled when it stays silent
	RoomUntaken   RoomState = "untaken"   // warned, and not canceled: nobody is there who could be silent
)

// RoomQuiet is what the watchdog makes of a room.
type RoomQuiet struct {
	State    RoomState
	Why      string        // of all but RoomStalled and RoomStalling: why nothing is done
	Active   noun.Time     // last activity, or when the watchdog was switched on
	Limit    time.Duration // of silence
	DueAt    noun.Time     // after this it is stalled; 0: never as things are
	CancelAt noun.Time     // of RoomStalling
	Reason   string        // IdleTimeout or RoomDeadline: what it is stalled for after DueAt
}

// silence is what the state derives of a room's silence.
type silence struct {
	excuses excuses
	// excused is the latest end of what agents have declared that hold tasks of the room,
	// lapsed or not; excuser is one of those that declared it.
	excused noun.Time
	excuser noun.AgentID

	in  bool // in one of the trees, at this place
	own bool
	at  noun.Time

	sweep sweepPlace
}

// quietRoom orders rooms by the beginning of their silence or, those with limits of
// their own, by when they become stalled.
type quietRoom struct {
	at noun.Time
	id noun.RoomID
}

func lessQuiet(a, b quietRoom) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.id < b.id
}

func (s *State) silenceOf(id noun.RoomID) *silence {
	x := s.silences[id]
	if x == nil {
		x = &silence{}
		s.silences[id] = x
	}
	return x
}

// noteActivity takes note that something was done or said in a room.
func (s *State) noteActivity(id noun.RoomID) {
	rm := s.RoomTable.Mut(id)
	s.worksAgain(rm)
	if rm != nil && rm.Asked != nil {
		s.withdrawAsked(rm)
	}
	if rm == nil || rm.Active == s.Meta.Clock && rm.ActiveAt == s.Entry.Wall {
		return
	}
	rm.Active, rm.ActiveAt, rm.Quiet = s.Meta.Clock, s.Entry.Wall, s.Meta.Clock
	s.placeRoom(rm)
}

// worksAgain notes that a room works again whose cancellation has left tasks that were put off: it was never
// without open tasks, and begins anew all the same.
func (s *State) worksAgain(rm *noun.Room) {
	if rm == nil || rm.Canceled == nil || rm.ResumedWork() || rm.Sweep != nil || s.Level() < core.LevelRetry {
		return
	}
	if x := s.RoomIndex(rm.ID); x.Open > x.Delayed && rm.Opened != s.Meta.Clock {
		rm.Opened = s.Meta.Clock
		s.placeRoom(rm)
	}
}

// excuse is until when an agent has explained the silence of the room whose task it holds, or what is
// expected of the task does, or what stands on its terminal, or a human who types there; 0: nothing has.
// An agent that uses its model, tools or prints works, though it says no word: a build that takes long is no
// conversation that everybody has forgotten, and of the call of a tool it tells at the end. What flows over a
// terminal for ever excuses for a bound.
func (v *View) excuse(a *noun.Agent) noun.Time {
	t := v.TaskTable.Get(a.Task)
	if t == nil {
		return 0
	}
	end := t.Planned().Due
	if a.Declared != nil {
		end = max(end, a.Declared.Until)
	}
	switch {
	case a.Shows(noun.PromptPermission):
		end = max(end, a.ScreenExcuse())
	case a.Shows(noun.PromptUsageLimit): // for longer than its agent: that one is only nudged, a room is canceled
		end = max(end, a.Screen().At.Add(noun.NeedsInputLimit))
	}
	if v.Level() >= core.LevelRetry {
		if a.Prints() {
			end = max(end, a.Screen().QuietAt.Add(noun.NeedsInputLimit))
		}
		end = max(end, a.ToolUntil())
	}
	return max(end, a.TypedUntil())
}

// excuseText says what the excuse is.
func (v *View) excuseText(a *noun.Agent) string {
	now, t := v.Meta.Clock, v.TaskTable.Get(a.Task)
	switch due := t.Planned().Due; {
	case a.Declared.Holds(now):
		return a.Name + " has declared " + a.Declared.Kind()
	case due > now:
		return fmt.Sprintf("task %d, which %s holds, is expected to be done in %s", t.ID, a.Name,
			due.Sub(now).Round(time.Second))
	case a.Typist() != nil:
		return core.Nobody(a.Typist().By) + " types at the terminal of " + a.Name
	case a.Prints():
		return a.Name + " prints new text"
	case a.ToolUntil() > now && !a.Shows(noun.PromptPermission) && !a.Shows(noun.PromptUsageLimit):
		return fmt.Sprintf("%s has told of tokens or tools in the last %d minutes, and may be in a call of a tool", a.Name,
			noun.ToolCall/time.Minute)
	}
	return a.Name + " waits: " + noun.PromptTexts[a.Screen().Kind]
}

// reviewExcuse follows what an agent has declared. When an excuse goes, the silence is
// counted from there.
func (s *State) reviewExcuse(a *noun.Agent) {
	end, ri := s.excuse(a), s.silences[a.Room]
	if ri == nil {
		if end == 0 {
			return
		}
		ri = s.silenceOf(a.Room)
	}
	if !ri.excuses.put(a.ID, end) {
		return
	}
	was := ri.excused
	if ri.excused, ri.excuser = ri.excuses.last(); ri.excused < was {
		rm := s.RoomTable.Mut(a.Room)
		rm.Quiet = max(rm.Quiet, min(was, s.Meta.Clock))
	} else if ri.excused > was && s.Level() >= core.LevelRetry { // it works, though it says no word: no answer is due
		if rm := s.RoomTable.Mut(a.Room); rm.Asked != nil {
			s.withdrawAsked(rm)
		}
	}
	s.placeRoom(s.RoomTable.Get(a.Room))
}

// reviewExcuses follows what counts as an excuse from a feature level on.
func (s *State) reviewExcuses() {
	for _, a := range s.AgentTable.From(0) {
		s.reviewExcuse(a)
	}
}

// resume counts the silence of a room from now: what excused it is over.
func (s *State) resume(id noun.RoomID) {
	if rm := s.RoomTable.Mut(id); rm != nil {
		rm.Quiet = max(rm.Quiet, s.Meta.Clock)
		s.placeRoom(rm)
	}
}

// openRoom begins the silence of a room that has open tasks again.
func (s *State) openRoom(id noun.RoomID) {
	rm := s.RoomTable.Get(id)
	if s.RoomIndex(id).Open > 0 {
		rm = s.RoomTable.Mut(id)
		rm.Opened, rm.Quiet = s.Meta.Clock, s.Meta.Clock
	}
	s.placeRoom(rm)
}

// beginStretch counts the deadline of a room from the end of its pause: none of its tasks could be begun meanwhile.
// One whose cancellation has left only tasks that are put off begins anew when it works again.
func (s *State) beginStretch(rm *noun.Room) {
	left := rm.Canceled != nil && !rm.ResumedWork()
	if s.RoomIndex(rm.ID).Open == 0 || left || s.Level() < core.LevelRetry {
		return
	}
	rm.Opened = s.Meta.Clock
	s.placeRoom(rm)
}

// placeRoom puts a room where it belongs in the index of silent rooms.
func (s *State) placeRoom(rm *noun.Room) {
	ri := s.silenceOf(rm.ID)
	in := s.RoomIndex(rm.ID).Open > 0 && !rm.Deleting && !rm.Paused && !rm.Watch.Disabled && rm.Sweep == nil
	own, at := rm.Watch != noun.RoomWatch{}, max(rm.Quiet, ri.excused)
	if own {
		row := s.dueRow(rm, ri)
		at = row.At()
	}
	if ri.in == in && ri.own == own && ri.at == at {
		return
	}
	if ri.in {
		s.quietTree(ri.own).Delete(quietRoom{ri.at, rm.ID})
	}
	ri.in, ri.own, ri.at = in, own, at
	if in {
		s.quietTree(own).Set(quietRoom{at, rm.ID})
	}
}

func (v *View) quietTree(own bool) *btree.BTreeG[quietRoom] {
	if own {
		return v.ownQuiet
	}
	return v.allQuiet
}

// Quiet tells how the conversation watchdog sees a room.
func (v *View) Quiet(rm *noun.Room) RoomQuiet {
	set, w, now := &v.Meta.Settings.Watchdog, &v.Meta.Watchdog, v.Meta.Clock
	x := v.silences[rm.ID]
	if x == nil {
		x = &silence{}
	}
	q := RoomQuiet{State: RoomExempt, Active: max(rm.Active, w.Since)}
	switch {
	case !set.Enabled:
		q.State, q.Why = RoomUnwatched, "the watchdog is switched off (setting watchdog_enabled)"
	case v.RoomIndex(rm.ID).Open == 0:
		q.State, q.Why = RoomIdle, "it has no open tasks"
	case rm.Deleting:
		q.Why = "it is being deleted"
	case rm.Sweep.Cancels():
		q.Why = "its tasks are being canceled"
	case rm.Sweep != nil:
		q.Why = "its tasks are being brought back"
	case rm.Watch.Disabled:
		q.Why = "its watchdog is disabled"
	case v.Meta.Paused:
		q.Why = "everything is paused"
	case rm.Paused:
		q.Why = "it is paused"
	}
	if q.Why != "" {
		return q
	}
	row := v.dueRow(rm, x)
	q.DueAt, q.Limit, q.Reason = row.At(), v.limit(rm), IdleTimeout
	if row.Kind == kindDeadline {
		q.Reason = RoomDeadline
	}
	switch {
	case x.excused > now && q.Reason == IdleTimeout:
		q.Why = v.excuseText(v.AgentTable.Get(x.excuser))
	case q.Reason == IdleTimeout && v.heldBack(rm) != "":
		q.DueAt, q.Why = 0, v.heldBack(rm)
	case q.DueAt >= now:
		q.State, q.Why = RoomActive, "it was active lately"
	case rm.Warned > q.DueAt && v.spared(rm, q.Reason) != rm.Unserved:
		q.State = RoomStalled // whom the warning went to is not whom it is for now
	case rm.Warned > q.DueAt && rm.Unserved:
		q.State, q.Why = RoomUntaken, v.unservedText(rm)+"; a human was told, and its tasks wait"
	case rm.Warned > q.DueAt:
		grace := v.graceRow(rm)
		q.State, q.CancelAt = RoomStalling, grace.At()
	default:
		q.State = RoomStalled
	}
	return q
}

// heldBack tells whether every agent of a role with waiting tasks is kept from working, by
// humans, whose decisions are no stall (law L9), by a tool that is out of quota, by a budget or by breakers, of which
// humans were told, or whether the
// tasks themselves are to wait: for their time, or since most of their role have failed. Empty: no.
func (v *View) heldBack(rm *noun.Room) string {
	if x := v.RoomIndex(rm.ID); x.Delayed > 0 && x.Delayed == x.Open {
		return "all its open tasks are put off"
	}
	for _, id := range rm.Roles {
		r, ri := v.RoleTable.Get(id), v.RoleIdx.Get(id)
		if ri.Queued.Len()+ri.Pending.Len()+ri.Delayed.Len() == 0 {
			continue
		}
		switch {
		case r.Half != nil:
			return "its role " + r.Spec.Name + " is half-open: most of its tasks have failed, and single ones are tried"
		case r.Spec.Desired != noun.DesiredRunning:
			return "its role " + r.Spec.Name + " is declared as stopped or paused"
		case v.Level() >= core.LevelRetry && v.RolePaused(r) == "budget":
			return "its role " + r.Spec.Name + " has used up its budget, or its room has"
		case len(r.Agents) > 0 && v.allHeld(r):
			return "every agent of its role " + r.Spec.Name +
				" is stopped or paused by a human, has used up its budget, failed too often, or its tool is out of quota"
		}
	}
	return ""
}

func (v *View) allHeld(r *noun.Role) bool {
	return !slices.ContainsFunc(r.Agents, func(id noun.AgentID) bool {
		return !v.held(v.AgentTable.Get(id))
	})
}

// held tells that a human, a breaker, a usage limit or a budget keeps the agent from working.
func (v *View) held(a *noun.Agent) bool {
	return a.Stopped || a.Paused || a.Retired || v.parked(a) ||
		v.Level() >= core.LevelRetry && v.Paused(a) == "budget"
}

// parked tells that a usage limit, or its breaker, keeps the agent from running. Once that is over it
// has as long as any room to be started and to take a task.
func (v *View) parked(a *noun.Agent) bool {
	return (a.Notes().ParkedWhy != "" || a.Breaker() && v.Level() >= core.LevelRetry) &&
		v.Meta.Clock < a.NotBefore.Add(v.Meta.Settings.Watchdog.Threshold)
}

// quietRooms yields the rooms that may be stalled, those first that are so for the longest
// time, from an index: it visits no other room.
func (v *View) quietRooms() iter.Seq[*noun.Room] {
	return func(yield func(*noun.Room) bool) {
		limit, since, now := v.Meta.Settings.Watchdog.Threshold, v.Meta.Watchdog.Since, v.Meta.Clock
		all, own := v.allQuiet.Iter(), v.ownQuiet.Iter()
		defer all.Release()
		defer own.Release()
		a, b := all.First(), own.First()
		for a || b {
			var id noun.RoomID
			var at noun.Time
			takeA := a && (!b || max(all.Item().at, since).Add(limit) <= own.Item().at)
			if takeA {
				id, at = all.Item().id, max(all.Item().at, since).Add(limit)
				a = all.Next()
			} else {
				id, at = own.Item().id, own.Item().at
				b = own.Next()
			}
			if at >= now || !yield(v.RoomTable.Get(id)) {
				return
			}
		}
	}
}

// StalledRooms yields the rooms that are stalled, warned of or not, those first that are so
// for the longest time. Its cost does not depend on how many other rooms there are.
func (v *View) StalledRooms() iter.Seq2[*noun.Room, RoomQuiet] {
	return func(yield func(*noun.Room, RoomQuiet) bool) {
		if !v.Meta.Settings.Watchdog.Enabled || v.Meta.Paused {
			return
		}
		for rm := range v.quietRooms() {
			q := v.Quiet(rm)
			if q.State != RoomStalled && q.State != RoomStalling {
				continue
			}
			if !yield(rm, q) {
				return
			}
		}
	}
}

// ActiveRooms counts the rooms that have open tasks and are not exempt for good.
func (v *View) ActiveRooms() int { return v.allQuiet.Len() + v.ownQuiet.Len() }

// Watchdog is the replicated part of the conversation watchdog.
func (v *View) Watchdog() *noun.Watchdog { return &v.Meta.Watchdog }

// openTasksOf lists the open tasks of a room by id, with those that are put off or without.
func (v *View) openTasksOf(rm *noun.Room, delayed bool) []noun.TaskID {
	list := v.heldTasksOf(rm)
	collect := func(q core.Queued) bool {
		if _, aside := v.Aside[q.Id]; !aside { // it ends by itself
			list = append(list, q.Id)
		}
		return true
	}
	for _, id := range rm.Roles {
		ri := v.RoleIdx.Get(id)
		if ri.Queued.Len() > 0 {
			ri.Queued.Scan(collect)
		}
		if ri.Pending.Len() > 0 {
			ri.Pending.Scan(collect)
		}
		if delayed && ri.Delayed.Len() > 0 {
			ri.Delayed.Scan(func(d core.DelayedTask) bool { return collect(core.Queued{Id: d.Id}) })
		}
	}
	slices.Sort(list)
	return list
}

// heldTasksOf lists those that agents hold, by id. It walks over agents, and over no task that waits.
func (v *View) heldTasksOf(rm *noun.Room) (list []noun.TaskID) {
	for _, id := range rm.Roles {
		ri := v.RoleIdx.Get(id)
		if ri.Tasks[noun.TaskAcknowledged]+ri.Tasks[noun.TaskInProgress] == 0 {
			continue
		}
		for _, agent := range v.RoleTable.Get(id).Agents {
			if a := v.AgentTable.Get(agent); a.Task != 0 {
				if _, aside := v.Aside[a.Task]; !aside {
					list = append(list, a.Task)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// indexRooms places all rooms, after a restore.
func (s *State) indexRooms() {
	for _, a := range s.AgentTable.From(0) {
		if end := s.excuse(a); end != 0 {
			ri := s.silenceOf(a.Room)
			ri.excuses.put(a.ID, end)
			ri.excused, ri.excuser = ri.excuses.last()
		}
	}
	for _, rm := range s.RoomTable.From(0) {
		if rm.Sweep != nil {
			s.sweeping.Set(rm.ID)
		}
		s.placeRoom(rm)
	}
}
