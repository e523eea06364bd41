package fsm

import (
	"fmt"
	"time"
)

// nextInc is the incarnation that the agent's next start gets.
func (s *State) nextInc(a *Agent) Incarnation {
	base := max(a.Inc, s.meta.IncFloor)
	if base.Epoch() < s.meta.Epoch {
		return MakeIncarnation(s.meta.Epoch, 1)
	}
	return base + 1
}

// NextIncarnation is the number that OrderStart must carry now.
func (s *State) NextIncarnation(a *Agent) Incarnation { return s.nextInc(a) }

// newLife resets what belonged to the old incarnation. The caller has checked that
// no fence holds.
func (s *State) newLife(a *Agent, inc Incarnation) *Lease {
	a.Inc, a.PID, a.TokenHash, a.Done, a.Task = inc, 0, "", 0, 0
	a.StartedAt, a.Since = s.meta.Clock, s.meta.Clock
	l := s.leases.mut(uint64(a.ID))
	s.rearm(timerLease, uint64(a.ID), &l.ArmedL, 0)
	s.rearm(timerFence, uint64(a.ID), &l.ArmedF, 0)
	*l = Lease{Inc: inc, TTL: int64(s.roles.mut(uint64(a.Role)).Spec.TTL)}
	return l
}

func (s *State) grantLease(a *Agent) *Lease {
	l := s.leases.mut(uint64(a.ID))
	l.Until = s.meta.Clock + Time(l.TTL)
	s.rearm(timerLease, uint64(a.ID), &l.ArmedL, l.Until)
	return l
}

func (s *State) grantFence(a *Agent) *Lease {
	l := s.leases.mut(uint64(a.ID))
	l.Fence = s.meta.Clock + Time(l.TTL)
	s.rearm(timerFence, uint64(a.ID), &l.ArmedF, l.Fence)
	return l
}

// disconnect ends the participant (leave, lease, exit) and recovers its task in
// the same step (law L2). The caller may hold no shadow of the agent.
func (s *State) disconnect(id AgentID, why string, charge bool) {
	a := s.agents.mut(uint64(id))
	was := a.shadow()
	s.release(a, why, charge, false)
	s.settle(a, was)
}

// release is disconnect without settling, for callers that change more.
func (s *State) release(a *Agent, why string, charge, killed bool) {
	if a.Part != PartDisconnected {
		a.Part, a.Since = PartDisconnected, s.meta.Clock
	}
	l := s.leases.mut(uint64(a.ID))
	l.Until, l.Vouch = 0, false
	s.rearm(timerLease, uint64(a.ID), &l.ArmedL, 0)
	if a.Task != 0 {
		t := s.tasks.mut(uint64(a.Task))
		a.Task = 0
		s.recover(t, why, charge, killed)
	}
}

// lose ends a fence without an exit report: another host may start the agent.
func (s *State) lose(id AgentID) {
	a := s.agents.mut(uint64(id))
	was := a.shadow()
	l := s.leases.mut(uint64(id))
	l.Fence = 0
	s.event("agent.fence_ended", about{agent: a, task: a.Task, host: a.Host}, "its host was silent until its fence ended")
	s.figures.Exits[ExitFenceEnded]++
	a.LastExit = &Exit{Inc: a.Inc, At: s.meta.Clock, Wall: s.now.Wall, Kind: ExitFenceEnded,
		Reason: "its host was silent until its fence ended", Task: a.Task, Host: a.Host}
	s.release(a, "the fence of its holder ended", false, false)
	a.Proc, a.Order, a.OrderReason = ProcLost, NoOrder, ""
	s.settle(a, was)
}

// buried takes note of an end that somebody saw: the process is gone.
func (s *State) buried(a *Agent, x Exit) {
	was := a.shadow()
	l := s.leases.mut(uint64(a.ID))
	l.Fence = 0
	s.rearm(timerFence, uint64(a.ID), &l.ArmedF, 0)
	x.Inc, x.At, x.Wall, x.Task, x.Host = a.Inc, s.meta.Clock, s.now.Wall, a.Task, a.Host
	a.LastExit = &x
	s.figures.Exits[x.Kind]++
	s.event("agent.exited", about{agent: a, task: a.Task, host: a.Host}, x.sentence())
	fault := x.Kind == ExitCrash || x.Kind == ExitStartFailed
	s.release(a, "its holder ended: "+x.sentence(), fault, x.Kind == ExitCrash)
	a.Proc, a.Order, a.OrderReason, a.PID = ProcNone, NoOrder, "", 0
	s.charge(a, x.Kind)
	s.settle(a, was)
}

func (x *Exit) sentence() string {
	switch {
	case x.Kind == ExitStartFailed:
		return "could not be started: " + x.Reason
	case x.Signal != "":
		return "ended by signal: " + x.Signal
	case x.Reason != "" && x.Kind != ExitCrash:
		return x.Reason
	}
	return fmt.Sprintf("exited with code %d", x.Code)
}

// backoff is the pause after so many failures in a row.
var backoff = [...]time.Duration{0, 2 * time.Second, 5 * time.Second, 15 * time.Second,
	45 * time.Second, 2 * time.Minute, 5 * time.Minute}

// charge books an end on the agent's restart budget (law L11). Ends on purpose
// and ends of a host or a fence never count.
func (s *State) charge(a *Agent, kind ExitKind) {
	set, now := &s.meta.Settings, s.meta.Clock
	healthy := a.Done > 0 && now.Sub(a.StartedAt) >= set.HealthyAfter
	if healthy || kind == ExitClean && a.Done > 0 {
		a.Failures, a.Starts, a.Parked = 0, nil, false
	}
	a.NotBefore = 0
	switch kind {
	case ExitOrdered, ExitFenceEnded, ExitHostGone:
		return
	case ExitClean:
		if a.Done > 0 {
			return
		}
	default:
		var recent []Time
		for _, at := range a.Starts {
			if now.Sub(at) < set.BreakerWindow {
				recent = append(recent, at)
			}
		}
		a.Starts = append(recent, now)
	}
	a.Failures++
	if a.Parked || uint32(len(a.Starts)) >= set.BreakerStarts {
		a.Parked, a.Starts = true, nil
		a.NotBefore = now.Add(set.BreakerPause)
		s.event("agent.parked", about{agent: a}, fmt.Sprintf("%d failures; next trial in %s", a.Failures, set.BreakerPause))
		return
	}
	pause := backoff[min(int(a.Failures)-1, len(backoff)-1)]
	a.NotBefore = now.Add(pause + jitter(pause, a.ID, a.Inc))
	if pause == 0 {
		a.NotBefore = 0
	}
}

// jitter spreads restarts by up to a fifth of the pause. It is a function of the
// incarnation, since all servers must draw the same number.
func jitter(pause time.Duration, id AgentID, inc Incarnation) time.Duration {
	h := (uint64(id)<<32 ^ uint64(inc) + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>29) * 0x94d049bb133111eb
	return time.Duration(uint64(pause) / 5 * (h >> 48) >> 16)
}

// forgive clears the restart budget: a human asked for a start.
func (a *Agent) forgive() {
	a.Failures, a.NotBefore, a.Parked, a.Starts = 0, 0, false, nil
}

// openStop opens a stop order for an incarnation that may run.
func (s *State) openStop(a *Agent, reason string) {
	if !a.Proc.Fenced() {
		return
	}
	if a.Order == StopOrder {
		s.figures.OrdersDeduped++
		return
	}
	a.Order, a.OrderSince, a.OrderReason = StopOrder, s.meta.Clock, reason
	s.event("order.stop", about{agent: a, host: a.Host}, reason)
}

// withdraw takes back a start order that no host has accepted. Its number is used up.
func (s *State) withdraw(a *Agent, reason string) {
	a.Proc, a.Order, a.OrderReason = ProcNone, NoOrder, ""
	a.Host = 0
	s.event("order.canceled", about{agent: a}, reason)
}

// intend makes an agent follow what humans have decided (law L9): what must not
// run is stopped, an order that is not accepted yet is withdrawn.
func (s *State) intend(a *Agent, reason string) {
	switch {
	case !s.stopWish(a):
	case a.Proc == ProcOrdered:
		s.withdraw(a, reason)
	case a.Proc.Fenced():
		s.openStop(a, reason)
	case a.Part != PartDisconnected:
		s.release(a, reason, false, false)
	}
}

// stopWish tells whether a human wants the agent not to run.
func (s *State) stopWish(a *Agent) bool {
	r, rm := s.roles.mut(uint64(a.Role)), s.rooms.mut(uint64(a.Room))
	return a.Stopped || a.Retired || r.Retired || rm.Deleting || r.Spec.Desired == DesiredStopped
}
