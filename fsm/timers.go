package fsm

import (
	"time"

	"vigil/fsm/noun"
)

// timerKind orders timers that are due at the same instant.
type timerKind uint8

const (
	timerHold timerKind = iota
	timerHost
	timerLease
	timerFence
	timerTask
	timerAgent
	timerSession
	timerBrake
	timerMail
	timerEscalation
	timerChain
	timerKinds
)

// timer is one deadline. The queue is derived: each object keeps the instant at
// which its timer is set, so a restored state has the same queue.
type timer struct {
	at  noun.Time
	key uint64 // the kind in the upper 8 bits, the id below
}

const timerIDBits = 56

func timerAt(at noun.Time, kind timerKind, id uint64) timer {
	return timer{at, uint64(kind)<<timerIDBits | id}
}

func (t timer) kind() timerKind { return timerKind(t.key >> timerIDBits) }
func (t timer) id() uint64      { return t.key & (1<<timerIDBits - 1) }

func lessTimer(a, b timer) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.key < b.key
}

func (s *State) arm(kind timerKind, id uint64, at noun.Time) {
	if at != 0 {
		s.timers.Set(timerAt(at, kind, id))
	}
}

// rearm sets the one timer of an object, whose setting is kept in *armed. A timer
// that is set earlier than needed stays: it fires, looks and re-arms. So a
// deadline that only moves away costs nothing.
func (s *State) rearm(kind timerKind, id uint64, armed *noun.Time, at noun.Time) {
	switch {
	case at == 0:
		if *armed != 0 {
			s.timers.Delete(timerAt(*armed, kind, id))
			*armed = 0
		}
	case *armed == 0:
		*armed = at
		s.timers.Set(timerAt(at, kind, id))
	case at < *armed:
		s.timers.Delete(timerAt(*armed, kind, id))
		*armed = at
		s.timers.Set(timerAt(at, kind, id))
	}
}

// NextTimer returns when the next timer is due; the leader proposes an entry then.
func (v *View) NextTimer() (noun.Time, bool) {
	if v.unworked() {
		return v.meta.Clock, true
	}
	t, ok := v.timers.Min()
	return t.at, ok
}

// behind tells that timers are due which the next entry will fire.
func (v *View) behind() bool {
	at, ok := v.NextTimer()
	return ok && at <= v.meta.Clock
}

// fire runs what is due at the clock, in order, at most TimersPerStep.
func (s *State) fire() {
	for n := 0; ; {
		t, ok := s.timers.Min()
		if !ok || t.at > s.meta.Clock {
			return
		}
		if n == noun.TimersPerStep {
			s.res.Effects.More = true
			return
		}
		s.timers.PopMin()
		if t.kind() == timerHold { // not counted: a restored state may not have it any more
			s.armHold()
			s.reviewAll()
			continue
		}
		n++
		switch t.kind() {
		case timerHost:
			s.fireHost(noun.HostID(t.id()))
		case timerLease:
			s.fireLease(noun.AgentID(t.id()))
		case timerFence:
			s.fireFence(noun.AgentID(t.id()))
		case timerTask:
			s.fireTask(noun.TaskID(t.id()))
		case timerAgent:
			s.fireAgent(noun.AgentID(t.id()))
		case timerSession:
			s.fireSession(noun.SessionID(t.id()))
		case timerBrake:
			s.fireBrake()
		default:
			s.hooks.Timers[t.kind()](t.id())
		}
	}
}

func (s *State) fireLease(id noun.AgentID) {
	l := s.leases.Mut(id)
	if l == nil {
		return
	}
	l.ArmedL = 0
	if l.Until == 0 {
		return
	}
	if l.Until > s.meta.Clock {
		s.noteBeatless(s.agents.Get(id), l)
		s.rearm(timerLease, uint64(id), &l.ArmedL, l.Until)
		return
	}
	s.figures.ended(s.meta.Clock.Sub(l.Until))
	a := s.agents.Mut(id)
	s.event("agent.lease_ended", about{agent: a, task: a.Task},
		"no proof of life for "+time.Duration(l.TTL).String())
	s.disconnect(id, "the lease of its holder ended", !s.silent(a))
}

// silent tells that the agent's host has been silent until the end of the fence,
// whichever of the timers fires first: no fault of the task or its holder.
func (v *View) silent(a *noun.Agent) bool {
	return a.Proc.Fenced() && v.leases.Get(a.ID).Fence <= v.meta.Clock
}

func (s *State) fireFence(id noun.AgentID) {
	l := s.leases.Mut(id)
	if l == nil {
		return
	}
	l.ArmedF = 0
	if l.Fence == 0 {
		return
	}
	if l.Fence > s.meta.Clock {
		s.rearm(timerFence, uint64(id), &l.ArmedF, l.Fence)
		return
	}
	s.brakeLost()
	s.lose(id, "its host was silent until its fence ended")
}

func (s *State) fireSession(id noun.SessionID) {
	ss := s.sessions.Mut(id)
	if ss == nil {
		return
	}
	ss.Armed = 0
	if end := ss.Used.Add(s.meta.Settings.SessionTTL); end > s.meta.Clock {
		s.rearm(timerSession, uint64(id), &ss.Armed, end)
		return
	}
	s.sessions.Del(id)
}
