package core

import (
	"time"

	"vigil/fsm/noun"
)

// longestDrain bounds the deadline of a drain.
const longestDrain = 365 * 24 * time.Hour

// DrainHost is a human's wish that nothing runs on a host; Off ends it. After
// Deadline (0: never) what still holds a task is stopped too. After For, 1 s to 365 days (0: never),
// it ends by itself.
type DrainHost struct {
	Host     noun.HostID
	Off      bool
	Deadline time.Duration
	By       string
	For      time.Duration
}

// Apply notes a human's wish (law L9) and follows it at once: settle stops what
// holds no task, the host's timer the rest at the deadline.
func (c DrainHost) Apply(s *State) noun.Outcome {
	h := s.HostTable.Mut(c.Host)
	switch {
	case h == nil:
		return Refuse(noun.NotFound, "there is no host number %d", c.Host)
	case c.Deadline < 0 || c.Deadline > longestDrain:
		return Refuse(noun.Invalid, "the deadline of a drain is %s, 0 (none) to %s is allowed", c.Deadline,
			longestDrain)
	case checkFor(c.For, !c.Off).Code != noun.OK:
		return checkFor(c.For, !c.Off)
	case c.For != 0 && c.Deadline >= c.For:
		return Refuse(noun.Invalid, "the drain ends after %s and would stop what is at work after %s: "+
			"the deadline must come before the end", c.For, c.Deadline)
	case c.Off:
		s.undrain(h, "by "+Nobody(c.By))
		return noun.Outcome{Host: h.ID, Rev: h.Rev}
	}
	until := noun.Time(0)
	if c.Deadline > 0 {
		until = s.Meta.Clock.Add(c.Deadline)
	}
	if !h.Drain || h.DrainBy == DrainBySelf || c.By != DrainBySelf { // a human's wish outlives the daemon's
		h.DrainBy = noun.Clip(c.By, noun.MaxName*4)
		if end := noun.EndIn(s.Meta.Clock, c.For); !h.Drain || end != h.DrainEnd {
			h.DrainEnd = end
			s.Event("host.drained", About{Host: h.ID}, forText(c.For)+"by "+Nobody(h.DrainBy))
		}
	}
	if e := h.DrainEnd.At; e != 0 && until >= e { // the daemon's deadline, which a human's end comes before
		until = h.DrainUntil
	}
	h.Drain, h.DrainAt, h.DrainUntil, h.Rev = true, s.Entry.Wall, until, s.Meta.Index
	s.armHost(h)
	s.clearHost(h)
	return noun.Outcome{Host: h.ID, Rev: h.Rev, Count: s.hostIndex(h.ID).running + s.hostIndex(h.ID).starting}
}

// undrain ends a drain; why is for the event.
func (s *State) undrain(h *noun.Host, why string) {
	if !h.Drain {
		return
	}
	h.Drain, h.DrainBy, h.DrainAt, h.DrainUntil, h.DrainEnd, h.Rev = false, "", 0, 0, noun.End{}, s.Meta.Index
	s.Event("host.undrained", About{Host: h.ID}, why)
	s.Result.Effects.Plan = true
}

// clearHost has every agent of a drained host looked at.
func (s *State) clearHost(h *noun.Host) {
	s.withdrawAll(h, "host "+h.Name+" is drained by "+Nobody(h.DrainBy))
	for _, id := range s.AgentsOn(h.ID) {
		a := s.AgentTable.Mut(id)
		s.Settle(a, ShadowOf(a))
	}
	s.Result.Effects.Plan = true
}

// drain opens the stop order of a life on a drained host: as soon as it holds no
// task, or when the drain's time is up. It is part of settle.
func (s *State) drain(a *noun.Agent) {
	if a.Host == 0 || !a.Proc.Fenced() || a.Order == noun.StopOrder {
		return
	}
	if h := s.HostTable.Get(a.Host); h != nil && h.Drain && (a.Task == 0 || s.drainOver(h)) {
		s.OpenStop(a, "host "+h.Name+" is drained by "+Nobody(h.DrainBy))
	}
}

func (v *View) drainOver(h *noun.Host) bool {
	return h.DrainUntil != 0 && h.DrainUntil <= v.Meta.Clock
}

// withdrawAll takes back the start orders that a host has not accepted.
func (s *State) withdrawAll(h *noun.Host, why string) {
	for _, id := range s.AgentsOn(h.ID) {
		if a := s.AgentTable.Mut(id); a.Proc == noun.ProcOrdered {
			was := ShadowOf(a)
			s.withdraw(a, why)
			s.Settle(a, was)
		}
	}
}

// heard gives the sign of life of a host that is said to be dead; "": there is none.
func (v *View) heard(h *noun.Host) string {
	switch x := h.Hearsay(); {
	case h.State == noun.HostReady || h.State == noun.HostReturning:
		return "is " + h.State.String()
	case x.Stream == noun.HearAlive:
		return "is heard on its stream"
	case x.Gossip == noun.HearAlive:
		return "is heard in gossip"
	case h.Until != 0 && v.SinceBeat(h) < SilentFor:
		return "has just sent a beat"
	}
	return ""
}

// ConfirmDead is a human's word that nothing of a host runs any more: its lives
// are over at once. Refused for a host that is heard, unless Force.
type ConfirmDead struct {
	Host  noun.HostID
	Force bool
	By    string
}

// Apply ends the fences of a host by a human's word. It is outside law L7 by
// that human's choice.
func (c ConfirmDead) Apply(s *State) noun.Outcome {
	h := s.HostTable.Mut(c.Host)
	if h == nil {
		return Refuse(noun.NotFound, "there is no host number %d", c.Host)
	}
	if sign := s.heard(h); sign != "" && !c.Force {
		return Refuse(noun.Conflict, "host %s %s: drain it, or make sure that nothing of it runs and force it",
			h.Name, sign)
	}
	h.Until, h.DoubtAt, h.SuspectWhy, h.SteadyAt = 0, 0, "", 0
	if h.State != noun.HostLost {
		s.leaveAs(h, noun.HostLost, "confirmed dead by "+Nobody(c.By))
	} else {
		s.Event("host.confirmed_dead", About{Host: h.ID}, "by "+Nobody(c.By))
	}
	s.armHost(h)
	out := noun.Outcome{Host: h.ID, Rev: h.Rev}
	for _, id := range s.AgentsOn(h.ID) {
		switch a, why := s.AgentTable.Mut(id), "its host was confirmed dead by "+Nobody(c.By); {
		case a.Proc.Fenced():
			s.lose(id, why, true)
			out.Count++
		case a.Proc == noun.ProcUnproven:
			s.prove(a, nil, why)
			out.Count++
		}
	}
	s.reported(h)
	return out
}

// ReportPressure says why a host takes no starts at the moment; empty: it does.
type ReportPressure struct {
	Host   noun.HostID
	Boot   string
	Reason string
}

// Apply notes why a host takes no starts. What it has not accepted goes
// elsewhere; what it runs is not touched.
func (c ReportPressure) Apply(s *State) noun.Outcome {
	h := s.HostTable.Mut(c.Host)
	switch {
	case h == nil:
		return Refuse(noun.NotFound, "there is no host number %d; register again", c.Host)
	case h.Boot != c.Boot:
		return Refuse(noun.Superseded, "host %s has registered with another boot id since", h.Name)
	}
	why := noun.Clip(c.Reason, noun.MaxReason)
	if h.Pressure == why {
		return noun.Outcome{Host: h.ID, Rev: h.Rev}
	}
	if (h.Pressure == "") != (why == "") { // not for every new figure in the reason
		kind := "host.pressure"
		if why == "" {
			kind = "host.pressure_over"
		}
		s.Event(kind, About{Host: h.ID}, why)
	}
	h.Pressure, h.Rev = why, s.Meta.Index
	if why != "" {
		s.withdrawAll(h, "host "+h.Name+" takes no starts: "+why)
	}
	s.Result.Effects.Plan = true
	return noun.Outcome{Host: h.ID, Rev: h.Rev}
}

// DrainBySelf is who drains a host whose agentd was told to hand its agents over
// and leave: not a human's wish, so it ends with the host's good-bye.
const DrainBySelf = "its agentd, which is shutting down"
