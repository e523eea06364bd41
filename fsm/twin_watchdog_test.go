package fsm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// watchdog is what leaders and humans say of silent rooms; plans are often stale.
func (c *chaos) watchdog(s *State) Command {
	set := &s.Meta.Settings.Watchdog
	switch {
	case c.one(3):
		return c.escalation(s)
	case set.Threshold > time.Minute || !set.Enabled && c.one(2):
		return PutSettings{Values: []noun.KV{{Key: "watchdog_threshold", Value: "4s"},
			{Key: "watchdog_min_age", Value: "1s"}, {Key: "watchdog_grace", Value: "2s"},
			{Key: "watchdog_enabled", Value: "true"}, {Key: "watchdog_interval", Value: "10s"}}}
	}
	room := pick(c, c.rooms)
	switch n := c.rng.IntN(12); {
	case n == 0:
		return SetRoomWatch{Room: room,
			By: "x", RoomWatch: noun.RoomWatch{IdleLimit: time.Duration(c.rng.IntN(8)) * time.Second,
				Deadline: pick(c, []time.Duration{0, 0, 9 * time.Second, -1}), Disabled: c.one(4),
				Untaken: noun.Untaken(s.Meta.Index % 3)}}
	case n < 4:
		return ReopenRoom{Room: room, By: "x"}
	}
	for rm, q := range s.StalledRooms() {
		if q.State == RoomStalling && !c.one(8) {
			return CancelIdleRoom{Room: rm.ID, Active: q.Active, Warned: rm.Warned}
		}
		return WarnRoom{Room: rm.ID, Active: q.Active}
	}
	if rm := s.Room(room); rm != nil && c.one(2) {
		return CancelIdleRoom{Room: rm.ID, Active: rm.Active, Warned: rm.Warned}
	}
	return WarnRoom{Room: noun.RoomID(c.rng.IntN(4)), Active: s.Meta.Clock}
}

// silentTwin is the conversation watchdog without index and without anything kept: what
// it knows of a room are the words that were spoken in it.
type silentTwin struct {
	active  map[noun.RoomID]noun.Time
	resumed map[noun.RoomID]noun.Time // when the last pause of the room was over, but of what a cancellation has left
}

// heard gives the room in which an accepted command was something done or said.
func (w *silentTwin) heard(s *State, c Command, out noun.Outcome, before map[noun.TaskID]noun.TaskState,
	seqs map[noun.AgentID]uint64) noun.RoomID {
	task := func(id noun.TaskID) noun.RoomID {
		if t := s.Task(id); t != nil {
			return t.Room
		}
		return 0
	}
	agent := func(name string) noun.RoomID {
		if a := s.AgentByName(name); a != nil {
			return a.Room
		}
		return 0
	}
	switch c := c.(type) {
	case CreateTask, ApplyRoom, SetRoomWatch, ReopenRoom:
		return out.Room
	case Claim:
		if !before[out.Task].Held() {
			return task(out.Task)
		}
	case StartTask:
		if before[c.Task] == noun.TaskAcknowledged {
			return task(c.Task)
		}
	case ProgressTask:
		return task(c.Task)
	case CompleteTask:
		if !before[c.Task].Terminal() {
			return task(c.Task)
		}
	case Handoff:
		if !before[c.Task].Terminal() {
			return task(c.Task)
		}
	case FailTask:
		if !before[c.Task].Terminal() {
			return task(c.Task)
		}
	case CancelTask:
		if before[c.Task] != noun.TaskCanceled {
			return task(c.Task)
		}
	case RetryTask:
		return task(c.Task)
	case UnquarantineTask:
		return task(c.Task)
	case Declare:
		if c.Seq == 0 || c.Seq > seqs[out.Agent] {
			return agent(c.Agent)
		}
	case SetAgent:
		return agent(c.Agent)
	case RestartAgent:
		return agent(c.Agent)
	case UnparkAgent:
		return agent(c.Agent)
	case AckMail:
		if out.Count == 0 {
			return agent(c.Agent)
		}
	case SendMail:
		switch {
		case c.From == noun.LaddersBy && c.Agent == "":
		case c.Agent != "":
			return agent(c.Agent)
		default:
			return s.Mail(out.Mail).Room
		}
	}
	return 0
}

// unserved tells by a walk over all tasks and agents that those of a room wait for agents that vigil starts,
// and nobody is there who could be silent.
func (w *silentTwin) unserved(s *State, rm *noun.Room) (waits bool) {
	for id, x := range s.TaskTable.From(0) {
		if _, aside := s.Aside[id]; aside || x.Room != rm.ID || x.State.Terminal() || x.Delayed() {
			continue
		}
		if x.State.Held() {
			return false
		}
		waits = waits || s.Role(x.Role).Spec.Runner != ""
		for a := range s.Agents("") {
			late := s.Clock() >= a.NotBefore.Add(s.Settings().Watchdog.Threshold)
			if a.Role == x.Role && a.Part != noun.PartDisconnected && !a.Stopped && !a.Paused && !a.Retired &&
				(late || a.Notes().ParkedWhy == "" && !a.Breaker()) {
				return false
			}
		}
	}
	return waits
}

// spares tells that a warning of a room goes to a human, and nothing of it is canceled.
func (w *silentTwin) spares(s *State, rm *noun.Room) bool {
	kept := s.Quiet(rm).Reason != RoomDeadline && w.unserved(s, rm)
	switch own := rm.Watch; {
	case s.Level() < core.LevelRetry || rm.Lived && !kept:
		return false
	case own.Untaken != noun.UntakenAsSet:
		return own.Untaken == noun.UntakenWarn
	default:
		return kept || own.IdleLimit <= 0 && own.Deadline <= 0
	}
}

// canceled compares what became of the tasks of a room by its cancellation: all that were open have ended, but what
// was put off and for which nobody could be silent. Those are counted.
func (w *silentTwin) canceled(s *State, room noun.RoomID, reason string, before map[noun.TaskID]noun.TaskState,
	hours map[noun.TaskID]noun.Time) (left int, err error) {
	for id, x := range s.TaskTable.From(0) {
		if _, aside := s.Aside[id]; aside || x.Room != room || before[id].Terminal() {
			continue
		}
		stays := hours[id] > 0 && reason != RoomDeadline && s.Level() >= core.LevelRetry
		if stays {
			left++
		}
		if stays != x.Delayed() || stays == (x.State == noun.TaskCanceled) || x.Retried().NotBefore != hours[id] {
			return left, fmt.Errorf("task %d was to come at %d and is %s, canceled for %s", id, hours[id], x.State, reason)
		}
	}
	return left, nil
}

// The index, the last activity that is kept and the decision about every room agree with
// what is found by walking over everything.
func TestTwinOfTheWatchdogAgrees(t *testing.T) {
	stalled, canceled, reopened, spared, left, resumed := 0, uint64(0), 0, 0, 0, 0
	for _, seed := range seeds(t, 6) {
		c, s := newChaos(seed, true), New()
		opening := c.opening()
		if seed%2 == 0 {
			opening = append(opening, c.entry(Request{Cmd: RaiseLevel{Level: core.LevelRetry}},
				Request{Cmd: PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: "0"}}}}))
		}
		for _, e := range opening {
			s.Apply(e)
		}
		w := &silentTwin{map[noun.RoomID]noun.Time{}, map[noun.RoomID]noun.Time{}}
		for range 2500 {
			e := c.next(s)
			if len(e.Requests) > 1 { // what each command did is seen one by one
				e.Requests = e.Requests[:1]
			}
			for i, r := range e.Requests {
				switch p := r.Cmd.(type) {
				case SetPause: // another end of a pause is a word of its own
					p.For = 0
					e.Requests[i].Cmd = p
				case CreateTask:
					if seed%2 == 0 && c.one(4) { // for longer than most silences
						p.After = 30 * time.Second
						e.Requests[i].Cmd = p
					}
				}
			}
			if rm := s.Room("r"); seed%2 == 0 && rm != nil && !rm.Deleting && len(e.Requests) == 1 && c.one(25) {
				e.Requests[0] = Request{Cmd: SetPause{Scope: "r", Pause: !rm.Paused, By: "x"}}
			}
			// What time and beats do is done before, so that it is not taken for the command's.
			s.Apply(&Entry{Index: e.Index, Term: e.Term, Stint: e.Stint, Stamp: e.Stamp, Wall: e.Wall, Beats: e.Beats})
			c.index++
			e.Index, e.Beats = c.index, nil
			for rm, q := range s.StalledRooms() { // one with tasks that are put off is canceled as soon as it may be
				switch {
				case s.RoomIndex(rm.ID).Delayed == 0 || len(e.Requests) == 0:
				case q.State == RoomStalled:
					e.Requests = []Request{{Cmd: WarnRoom{Room: rm.ID, Active: q.Active}}}
				case q.CancelAt <= s.Clock():
					e.Requests = []Request{{Cmd: CancelIdleRoom{Room: rm.ID, Active: q.Active, Warned: rm.Warned}}}
				}
			}
			before, seqs := map[noun.TaskID]noun.TaskState{}, map[noun.AgentID]uint64{}
			hours, reasons := map[noun.TaskID]noun.Time{}, map[noun.RoomID]string{}
			paused := map[string]bool{}
			for _, x := range s.TaskTable.From(0) {
				before[x.ID], hours[x.ID] = x.State, x.Retried().NotBefore
			}
			for a := range s.Agents("") {
				paused[a.Name] = a.Paused
				if a.Declared != nil {
					seqs[a.ID] = a.Declared.Seq
				}
			}
			for rm := range s.Rooms("") {
				paused[rm.Name] = rm.Paused
			}
			spares := map[noun.RoomID]bool{}
			for rm := range s.Rooms("") {
				spares[rm.ID], reasons[rm.ID] = w.spares(s, rm), s.Quiet(rm).Reason
			}
			repeated := s.Figures().Repeated
			out := s.Apply(e).Outcomes
			if len(out) == 1 && out[0].Code == noun.OK && s.Figures().Repeated == repeated {
				id := w.heard(s, e.Requests[0].Cmd, out[0], before, seqs)
				if p, ok := e.Requests[0].Cmd.(SetPause); ok && p.Scope != "" && paused[p.Scope] != p.Pause {
					if id = out[0].Room; id == 0 {
						id = s.AgentByName(p.Scope).Room
					} else if rm := s.Room(p.Scope); rm != nil && !p.Pause && s.Level() >= core.LevelRetry &&
						s.RoomIndex(id).Open > 0 && (rm.Canceled == nil || rm.ResumedWork()) {
						w.resumed[id] = s.Meta.Clock
						resumed++
					}
				}
				if id != 0 {
					w.active[id] = s.Meta.Clock
				}
				switch c := e.Requests[0].Cmd.(type) {
				case ReopenRoom:
					reopened++
					for _, x := range s.TaskTable.From(0) {
						if before[x.ID].Terminal() && !x.State.Terminal() && x.Delayed() != (hours[x.ID] > s.Meta.Clock) {
							t.Fatalf("seed %d, entry %d: task %d is put off: %v, its hour is %d", seed, e.Index, x.ID,
								x.Delayed(), hours[x.ID])
						}
					}
				case CancelIdleRoom:
					n, err := w.canceled(s, c.Room, reasons[c.Room], before, hours)
					if left += n; err != nil {
						t.Fatalf("seed %d, entry %d: %v", seed, e.Index, err)
					}
					if spares[c.Room] {
						t.Fatalf("seed %d, entry %d: room %d is canceled, and nobody serves it", seed, e.Index, c.Room)
					}
				case WarnRoom:
					if rm := s.RoomByID(c.Room); rm.Unserved != spares[c.Room] {
						t.Fatalf("seed %d, entry %d: a human is told of room %s: %v, the twin says %v", seed, e.Index,
							rm.Name, rm.Unserved, spares[c.Room])
					} else if rm.Lived && rm.Unserved {
						spared++
					}
				}
			}
			var naive []noun.RoomID
			for rm := range s.Rooms("") {
				if rm.Active != w.active[rm.ID] {
					t.Fatalf("seed %d, entry %d, %#v: room %s was active at %s, the twin says %s", seed,
						e.Index, e.Requests, rm.Name,
						time.Duration(rm.Active), time.Duration(w.active[rm.ID]))
				}
				if q := s.Quiet(rm); q.State == RoomStalled || q.State == RoomStalling {
					naive = append(naive, rm.ID)
				}
				if rm.Opened < w.resumed[rm.ID] {
					t.Fatalf("seed %d, entry %d: the deadline of room %s counts from %s, its pause was over at %s", seed,
						e.Index, rm.Name, time.Duration(rm.Opened), time.Duration(w.resumed[rm.ID]))
				}
			}
			var found []noun.RoomID
			last := noun.Time(0)
			for rm, q := range s.StalledRooms() {
				if found = append(found, rm.ID); q.DueAt < last && rm.Watch == (noun.RoomWatch{}) &&
					s.Settings().Watchdog.MinAge <= s.Settings().Watchdog.Threshold {
					t.Fatalf("seed %d, entry %d: room %s is due before the one that came before it", seed,
						e.Index, rm.Name)
				}
				last = q.DueAt
			}
			slices.Sort(naive)
			slices.Sort(found)
			if !slices.Equal(naive, found) && !s.Meta.Paused {
				t.Fatalf("seed %d, entry %d: rooms %v are stalled, the index finds %v", seed, e.Index, naive, found)
			}
			stalled += len(found)
			if err := s.Check(); err != nil {
				t.Fatalf("seed %d, entry %d, %+v: %v", seed, e.Index, e.Requests, err)
			}
		}
		canceled += s.Meta.Watchdog.Canceled
	}
	if *seedFlag == 0 && (stalled == 0 || canceled == 0 || reopened == 0 || spared == 0 || left == 0 ||
		resumed == 0) {
		t.Errorf("%d stalled, %d canceled, %d reopened, %d spared, %d tasks left, %d resumed: the log "+
			"exercises nothing", stalled, canceled, reopened, spared, left, resumed)
	}
	t.Logf("%d stalled, %d canceled, %d reopened, %d spared, %d tasks left, %d resumed", stalled, canceled,
		reopened, spared, left, resumed)
}
