package core

import (
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// timerKind orders timers that are due at the same instant.
type timerKind uint8

const (
	timerHold timerKind = iota
	timerHost
	TimerLease
	timerFence
	TimerTask
	TimerAgent
	timerSession
	timerBrake
	TimerMail
	TimerEscalation
	TimerChain
	timerRole
	timerRoom
	timerPause
	TimerUsage
	timerKinds
)

// timer is one deadline. The queue is derived: each object keeps the instant at
// which its timer is set, so a restored state has the same queue.
type timer struct {
	At  noun.Time
	key uint64 // the kind in the upper 8 bits, the id below
}

const timerIDBits = 56

func TimerAt(at noun.Time, kind timerKind, id uint64) timer {
	return timer{at, uint64(kind)<<timerIDBits | id}
}

func (t timer) kind() timerKind { return timerKind(t.key >> timerIDBits) }
func (t timer) id() uint64      { return t.key & (1<<timerIDBits - 1) }

func lessTimer(a, b timer) bool {
	if a.At != b.At {
		return a.At < b.At
	}
	return a.key < b.key
}

func (s *State) Arm(kind timerKind, id uint64, at noun.Time) {
	if at != 0 {
		s.Timers.Set(TimerAt(at, kind, id))
	}
}

// Rearm sets the one timer of an object, whose setting is kept in *armed, for its earliest row; no
// row: it has no timer. A timer that is set earlier than needed stays: it fires, looks and
// re-arms. So a deadline that only moves away costs nothing.
func (s *State) Rearm(kind timerKind, id uint64, armed *noun.Time, row due.Row) {
	switch at := row.At(); {
	case at == 0:
		if *armed != 0 {
			s.Timers.Delete(TimerAt(*armed, kind, id))
			*armed = 0
		}
	case *armed == 0:
		*armed = at
		s.Timers.Set(TimerAt(at, kind, id))
	case at < *armed:
		s.Timers.Delete(TimerAt(*armed, kind, id))
		*armed = at
		s.Timers.Set(TimerAt(at, kind, id))
	}
}

// NextTimer returns when the next timer is due; the leader proposes an entry then.
func (v *View) NextTimer() (noun.Time, bool) {
	if v.unworked() {
		return v.Meta.Clock, true
	}
	t, ok := v.Timers.Min()
	return t.At, ok
}

// Behind tells that timers are due which the next entry will fire.
func (v *View) Behind() bool {
	at, ok := v.NextTimer()
	return ok && at <= v.Meta.Clock
}

// What weighs how much, in units of some 0.3 us of processor time. A timer is as heavy as what is
// done about it: a lease that ends with a task weighs several times what one does that only moves
// away. So things are weighed where they are done and not by their kind, and nothing that a timer
// does, in a feature too, is forgotten.
const (
	weightOfTimer  = 1
	weightOfEvent  = 1
	weightOfMove   = 1 // of a task
	weightOfSettle = 1
	weightOfLook   = 1 // at so many roles: looksPerWeight
	looksPerWeight = 4
)

// Weight is what the last entry has weighed, its commands included.
func (s *State) Weight() int { return s.weight }

// Weigh adds to the weight of the present entry.
func (s *State) Weigh(units int) { s.weight += units }

// fire runs what is due at the clock, in order, until that weighs FirePerEntry. What one timer does
// is bounded, so no entry is long; the leader adds the next one at once while more is due. The
// bound counts what is done and measures no time: all servers stop at the same timer.
func (s *State) fire() {
	for {
		t, ok := s.Timers.Min()
		if !ok || t.At > s.Meta.Clock {
			return
		}
		if s.weight >= noun.FirePerEntry {
			s.Result.Effects.More = true
			return
		}
		s.Timers.PopMin()
		if t.kind() == timerHold { // not weighed: a restored state may not have it any more
			was := s.weight
			s.armHold()
			s.reviewAll()
			s.weight = was
			continue
		}
		s.Weigh(weightOfTimer)
		switch t.kind() {
		case timerHost:
			s.fireHost(noun.HostID(t.id()))
		case TimerLease:
			s.fireLease(noun.AgentID(t.id()))
		case timerFence:
			s.fireFence(noun.AgentID(t.id()))
		case TimerTask:
			s.fireTask(noun.TaskID(t.id()))
		case TimerAgent:
			s.fireAgent(noun.AgentID(t.id()))
		case timerSession:
			s.fireSession(noun.SessionID(t.id()))
		case timerBrake:
			s.fireBrake()
		case timerRole:
			s.fireRole(noun.RoleID(t.id()))
		case timerRoom:
			s.fireRoom(noun.RoomID(t.id()))
		case timerPause:
			s.firePause()
		default:
			s.Hooks.Timers[t.kind()](t.id())
		}
	}
}

func (s *State) fireLease(id noun.AgentID) {
	l := s.LeaseTable.Mut(id)
	if l == nil {
		return
	}
	l.ArmedL = 0
	if l.Until == 0 {
		return
	}
	if row := s.leaseRow(id, l); !row.Due(s.Meta.Clock) {
		s.noteBeatless(s.AgentTable.Get(id), l)
		s.Rearm(TimerLease, uint64(id), &l.ArmedL, row)
		return
	}
	s.Tally.ended(s.Meta.Clock.Sub(l.Until))
	a := s.AgentTable.Mut(id)
	s.Event("agent.lease_ended", About{Agent: a, Task: a.Task},
		"no proof of life for "+time.Duration(l.TTL).String())
	silent := s.hostSilent(a, l)
	if silent {
		if !told(a) {
			s.noteLost(a)
		}
		s.noteLeft(a)
	}
	s.disconnect(id, &ending{why: "the lease of its holder ended", charge: !silent})
}

// hostSilent tells that the lease which ends now does so since the agent's host is silent: no fault of the task or its
// holder. An agent that proves itself is heard at other moments than its host, so its lease may end before the fence.
func (v *View) hostSilent(a *noun.Agent, l *noun.Lease) bool {
	now := v.Meta.Clock
	if v.retries() {
		now = now.Add(noun.SilentFence(time.Duration(l.TTL)))
	}
	return a.Proc.Fenced() && l.Fence <= now
}

// fenceOver tells that the agent's host has been silent until the end of the fence,
// whichever of the timers fires first: no fault of the task or its holder.
func (v *View) fenceOver(a *noun.Agent) bool {
	return a.Proc.Fenced() && v.LeaseTable.Get(a.ID).Fence <= v.Meta.Clock
}

func (s *State) fireFence(id noun.AgentID) {
	l := s.LeaseTable.Mut(id)
	if l == nil {
		return
	}
	l.ArmedF = 0
	if l.Fence == 0 {
		return
	}
	if row := s.fenceRow(id, l); !row.Due(s.Meta.Clock) {
		s.Rearm(timerFence, uint64(id), &l.ArmedF, row)
		return
	}
	s.brakeLost()
	s.lose(id, "its host was silent until its fence ended", false)
}

func (s *State) fireSession(id noun.SessionID) {
	ss := s.SessionTable.Mut(id)
	if ss == nil {
		return
	}
	ss.Armed = 0
	if row := s.sessionRow(ss); !row.Due(s.Meta.Clock) {
		s.Rearm(timerSession, uint64(id), &ss.Armed, row)
		return
	}
	s.SessionTable.Del(id)
}
