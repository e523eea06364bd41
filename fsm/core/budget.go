package core

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// Pauses of the restart budget that are no settings.
const (
	// faultPause lies between starts that fail before anything of the agent ran; it
	// doubles up to faultPauseMost.
	faultPause     = 30 * time.Second
	faultPauseMost = 5 * time.Minute
	// MaxUsagePause bounds what a host may say of a usage limit (ReportExit).
	MaxUsagePause = 24 * time.Hour
)

// Codes with which shells end that cannot find or execute a program. From a life that
// has had no task they are a fault of its start: the host lacks something. With a task
// they are a crash like any other, or the task could do anything uncharged (law L11).
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// backoff is the pause after so many failures in a row.
var backoff = [...]time.Duration{0, 2 * time.Second, 5 * time.Second, 15 * time.Second,
	45 * time.Second, 2 * time.Minute, 5 * time.Minute}

// charge books an end on the agent's restart budget (law L11). Ends on purpose
// and ends of a host or a fence never count. worked tells that the life has shown progress with its task.
func (s *State) charge(a *noun.Agent, x *noun.Exit, worked bool) {
	set, now := &s.Meta.Settings, s.Meta.Clock
	healthy := a.Useful() && now.Sub(a.StartedAt) >= set.HealthyAfter
	// a pause for a usage limit is no open breaker
	if healthy || x.Kind == noun.ExitClean && a.Useful() || a.Notes().ParkedWhy != "" {
		a.Parked = false
	}
	useful := a.Useful()
	if s.Level() >= LevelRetry {
		worked = worked || a.UsedTokens() || now.Sub(a.StartedAt) >= set.HealthyAfter
	} else {
		worked = false
	}
	limits := a.Notes().Limits
	a.Note(func(n *noun.Notes) {
		if n.ParkedWhy = ""; useful || worked {
			n.Limits = 0
		}
	})
	if useful || worked {
		s.toolWorks(a, limits)
	}
	if healthy || x.Kind == noun.ExitClean && a.Useful() {
		a.Failures, a.Starts = 0, nil
		a.Note(func(n *noun.Notes) { n.Fruitless = 0 })
	}
	a.NotBefore = 0
	if x.Kind == noun.ExitCrash || x.Kind == noun.ExitClean || x.Kind == noun.ExitTimedOut ||
		x.Kind == noun.ExitUsageLimit {
		a.Begun() // it did start
	}
	switch x.Kind {
	case noun.ExitOrdered, noun.ExitFenceEnded, noun.ExitHostGone:
	case noun.ExitUsageLimit:
		s.parkForUsage(a, x)
	case noun.ExitStartFailed:
		s.chargeFault(a, x)
	case noun.ExitClean: // ended without any work: a pause and, where it had some to do, in the end the breaker
		switch {
		case useful:
		case s.Level() < LevelRetry || s.hasWork(a):
			s.chargeFailure(a)
		case s.RoleTable.Get(a.Role).Spec.Start == noun.StartOnDemand: // nothing waits, and it ended
		default:
			s.backOff(a)
		}
	default:
		a.Starts = append(s.recentStarts(a), now)
		s.chargeFailure(a)
	}
}

// recovered closes the breaker and forgets the failures of a life that is healthy:
// its trial has succeeded (incident I89). The next failure is a first one.
func (s *State) recovered(a *noun.Agent) {
	if a.Parked && a.Notes().ParkedWhy == "" {
		s.Event("agent.recovered", About{Agent: a},
			fmt.Sprintf("its trial is healthy for %s; %s forgotten",
				s.Meta.Settings.HealthyAfter, noun.Plural(a.Failures, "failure is", "failures are")))
	}
	s.forgive(a)
}

// forgive clears the restart budget of an agent that is healthy, or that a human wants started.
func (s *State) forgive(a *noun.Agent) {
	limits := a.Notes().Limits
	a.Forgive()
	s.toolWorks(a, limits)
}

func (v *View) recentStarts(a *noun.Agent) (recent []noun.Time) {
	for _, at := range a.Starts {
		if v.Meta.Clock.Sub(at) < v.Meta.Settings.BreakerWindow {
			recent = append(recent, at)
		}
	}
	return recent
}

// hasWork tells that an agent that has ended could have had a task, or that something calls for it.
func (v *View) hasWork(a *noun.Agent) bool {
	return v.Pending(a.Role) > 0 && v.Paused(a) == "" || v.called(a)
}

// slowLoop tells that the agent has failed twice as often in a row as opens the breaker within its window,
// with no healthy life in between: at any pace it does nothing but take tasks down with it.
func (s *State) slowLoop(a *noun.Agent) bool {
	if s.Level() < LevelRetry {
		return false
	}
	a.Note(func(n *noun.Notes) { n.Fruitless++ })
	return a.Notes().Fruitless >= 2*s.Meta.Settings.BreakerStarts
}

// chargeFailure counts one failure: a back-off, or the open breaker. An agent whose
// one trial failed is parked again.
func (s *State) chargeFailure(a *noun.Agent) {
	set, slow := &s.Meta.Settings, s.slowLoop(a)
	if a.Parked || uint32(len(a.Starts)) >= set.BreakerStarts || slow {
		a.Failures++
		a.Starts = nil
		s.park(a, set.BreakerPause, noun.Plural(a.Failures, "failure"))
		s.escalateAgent(noun.EscBreaker, a)
		return
	}
	s.backOff(a)
}

// backOff lets the agent wait for longer with each failure in a row.
func (s *State) backOff(a *noun.Agent) {
	a.Failures++
	if pause := backoff[min(int(a.Failures)-1, len(backoff)-1)]; pause > 0 {
		a.NotBefore = s.Meta.Clock.Add(pause + jitter(pause, a.ID, a.Inc))
	}
}

// chargeFault books a start of which nothing ever ran (no such program, no right to
// execute it). The first one since a start succeeded is a failure, so that another
// host may be tried at once; the cause of the next ones lies on the hosts, and they
// only wait.
func (s *State) chargeFault(a *noun.Agent, x *noun.Exit) {
	fault, faults := s.noteFault(a, x)
	switch {
	case faults == 1:
		a.Starts = append(s.recentStarts(a), s.Meta.Clock)
		s.chargeFailure(a)
	case a.Parked: // the trial has not taken place
		s.park(a, s.Meta.Settings.BreakerPause, "its trial could not start: "+fault)
	default:
		s.waitFault(a, faults)
	}
	s.callFault(a, faults)
}

// noteSlow books a start for which its host was too slow: the acceptance of the order was too old when the program
// could have run. No agent is to blame for a slow disk or cluster, so it is no failure. The next one follows at once,
// those after it wait, and a human is called when it goes on.
func (s *State) noteSlow(a *noun.Agent, x *noun.Exit) {
	_, faults := s.noteFault(a, x)
	if faults > 1 || a.Parked { // the trial has not taken place, and the breaker stays open
		s.waitFault(a, faults)
	}
	s.callFault(a, faults)
}

// noteFault counts a start of which nothing ever ran since one succeeded.
func (s *State) noteFault(a *noun.Agent, x *noun.Exit) (fault string, faults uint32) {
	fault, faults = x.Reason, a.Notes().Faults+1
	if fault == "" {
		fault = "its host gave no reason"
	}
	a.Note(func(n *noun.Notes) { n.StartFault, n.Faults = fault, faults })
	return fault, faults
}

func (s *State) waitFault(a *noun.Agent, faults uint32) {
	pause := min(faultPause<<min(max(faults, 2)-2, 4), faultPauseMost)
	a.NotBefore = s.Meta.Clock.Add(pause + jitter(pause, a.ID, a.Inc))
}

func (s *State) callFault(a *noun.Agent, faults uint32) {
	if faults >= noun.BrokenStarts {
		s.escalateAgent(noun.EscBrokenStart, a)
	}
}

// Lives in a row that end at a usage limit without any work done, from which on a human is called.
const (
	vainEnds = 2
	// vainNamed is for waits of at least the breaker's pause, which tools name: those may be a little off.
	vainNamed = 3
)

// parkForUsage waits for the end of a usage limit, until the time that its tool names. Where lives in a row end at
// the limit without any work done (see charge), a wait that is shorter than the breaker's pause doubles up to that:
// an outage, or an expired login, must not have the same task begun again and again, nor keep an agent for hours
// when it is over. A human is called once waiting has not helped. A task that needs several windows of a quota
// works in each, so each of its lives waits for as long as is said.
func (s *State) parkForUsage(a *noun.Agent, x *noun.Exit) {
	set, row := &s.Meta.Settings, a.Notes().Limits
	pause := x.RetryAfter
	if pause <= 0 {
		pause = set.UsagePause
	}
	pause = min(pause, MaxUsagePause)
	most := min(set.BreakerPause, MaxUsagePause)
	vain := false
	switch {
	case s.Level() < LevelRetry:
		pause = min(pause<<min(row, 10), MaxUsagePause)
	case pause < most:
		pause = min(max(pause, time.Second)<<min(row, 16), most)
		vain = pause == most && row+1 >= vainEnds
	default:
		vain = row+1 >= vainNamed || x.RetryAfter <= 0 && row+1 >= vainEnds
	}
	why := "a usage limit"
	if x.Reason != "" {
		why += ": " + x.Reason
	}
	a.Note(func(n *noun.Notes) {
		n.ParkedWhy = why
		n.Limits++
	})
	s.park(a, pause, why)
	a.NotBefore = a.NotBefore.Add(jitter(min(pause, 5*time.Minute), a.ID, a.Inc)) // one limit parks a whole fleet
	if vain {
		s.waitsInVain(a)
	}
}

// waitsInVain calls a human about an agent whose lives end at a limit of its tool, however long it waits: once for all
// of its role, which have one account. Once more where that escalation is closed, or was pushed out or never let in by
// others: who has closed it hears that it goes on.
func (s *State) waitsInVain(a *noun.Agent) {
	r := s.RoleTable.Mut(a.Role)
	if r.Retired { // declared again, it begins anew
		return
	}
	called := r.Vain != 0 && s.Hooks.called(noun.EscLimitLasts, s.RoleName(r.ID))
	if r.Vain = max(r.Vain, a.NotBefore.Add(s.Meta.Settings.BreakerPause)); !called {
		s.escalateAgent(noun.EscLimitLasts, a)
	}
}

// toolWorks tells that an agent has worked, or that a human wants it started, after so many lives in a row that ended
// at a limit of its tool in vain. That of one that never had any says nothing about the others, which may be on
// another host with a login of its own, as long as one of these still waits.
func (s *State) toolWorks(a *noun.Agent, limits uint32) {
	if r := s.RoleTable.Get(a.Role); r.Vain != 0 && (limits >= vainEnds || r.Vain <= s.Meta.Clock) {
		s.endVain(s.RoleTable.Mut(a.Role))
	}
}

// endVain ends that a human is called about agents of a role which wait for their tool in vain.
func (s *State) endVain(r *noun.Role) {
	if r.Vain != 0 {
		r.Vain = 0
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscLimitLasts, Subject: s.RoleName(r.ID)})
	}
}

func (s *State) park(a *noun.Agent, pause time.Duration, why string) {
	a.Parked, a.NotBefore = true, s.Meta.Clock.Add(pause)
	s.Event("agent.parked", About{Agent: a}, why+"; next start in "+pause.String())
}

// jitter spreads restarts by up to a fifth of the pause. It is a function of the
// incarnation, since all servers must draw the same number.
func jitter(pause time.Duration, id noun.AgentID, inc noun.Incarnation) time.Duration {
	return time.Duration(uint64(pause) / 5 * (mix(uint64(id), uint64(inc)) >> 48) >> 16)
}

// mix is a hash of two numbers, of which the upper bits are good.
func mix(a, b uint64) uint64 {
	h := (a<<32 ^ b + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	return (h ^ h>>29) * 0x94d049bb133111eb
}

// exitOf judges what a host reports of an end. A stop order makes it an end on
// purpose, unless a limit gave the order.
func exitOf(a *noun.Agent, c *ReportExit) noun.Exit {
	x := noun.Exit{Kind: c.Kind, Code: c.Code, Signal: c.Signal, Reason: noun.Clip(c.Reason, noun.MaxReason),
		Tail: noun.Clip(c.Tail, noun.MaxTail)}
	switch {
	case a.Order == noun.StopOrder && !a.Overdue:
		x.Kind, x.Reason = noun.ExitOrdered, a.OrderReason
	case c.Kind == noun.ExitUsageLimit:
		x.RetryAfter = min(max(c.RetryAfter, 0), MaxUsagePause)
	case a.Overdue:
		x.Kind, x.Reason = noun.ExitTimedOut, a.OrderReason
	case c.Kind == noun.ExitStartFailed || c.Kind == noun.ExitOrdered || c.Kind == noun.ExitTimedOut:
	case a.TaskTaken() && (c.Code != 0 || c.Signal != "" || !a.Useful()):
		x.Kind = noun.ExitOrdered // on purpose, though by no stop order
		what := "its task was canceled"
		if a.Notes().Late { // as if it had been ended for that
			x.Kind, what = noun.ExitTimedOut, "its task was taken back at a limit"
		}
		if x.Reason == "" {
			x.Reason = what
		}
	case c.Code == 0 && c.Signal == "" && a.Task == 0:
		x.Kind = noun.ExitClean
	case (c.Code == codeNotFound || c.Code == codeNotExecutable) && a.Task == 0 && !a.Useful():
		x.Kind = noun.ExitStartFailed
	default:
		x.Kind = noun.ExitCrash
	}
	return x
}

// EndForLimit ends what has taken longer than a limit allows: the life, or for an agent
// started by hand, of which there is no process to stop, its hold on the task. The
// attempt is charged, the life too (law L11: a limit is no way around the budget).
func (s *State) EndForLimit(a *noun.Agent, why string) {
	if a.Proc.Fenced() {
		s.OpenStop(a, why)
		a.Overdue = true
		return
	}
	t := s.TaskTable.Mut(a.Task)
	s.takeTask(a)
	s.takeBack(t, &ending{why: why, charge: true})
}
