package fsm

import (
	"fmt"
	"time"
)

// prodWithin is how old a decision may be when it is typed; later its mail is enough.
const prodWithin = time.Minute

// What the chain writes to overseers (seed 004, Boot Decision Matrix).
const (
	wakeSubject    = "Wake: check your inbox"
	wakeBody       = "No patrol of yours was reported for long. Go on with your patrol and report it (vigil patrol report), declare why you are silent, or hand over to a fresh life (vigil handoff). Without any answer you are interrupted and restarted, or a human is called."
	checkInSubject = "Check-in: pending work"
	checkInBody    = "Mail waits for you and your last patrol is a while ago. Read it, and report your next patrol (vigil patrol report)."
)

// decide ends a look: with what the rule says now, or with what triage has said as far as
// facts that do not come from it allow. Degraded says why triage was not heard.
func (s *State) decide(a *Agent, by Decider, said Decision, why, degraded string) {
	c := *a.Notes().Chain
	f := s.OverseerFacts(a)
	rule := Decide(&f)
	d, overruled, act := rule, c.Overruled, "nothing is done"
	if by == ByTriage {
		d = said
		switch over := fmt.Sprintf("triage has said %s, the rule says %s", said, rule); {
		case rule == DecideStart && said != DecideStart:
			d, by, degraded = rule, ByRule, over
		case f.Patrolled && c.PatrolAt > c.LookAt && said != DecideNothing && !f.Dead:
			d, act = DecideNothing, fmt.Sprintf("nothing is done: triage has said %s, and it has patrolled since", said)
		case said < rule && overruled >= maxOverruled:
			d, by, degraded = rule, ByRule, fmt.Sprintf("%s, for the %dth look in a row", over, overruled+1)
		}
		if overruled++; said >= rule {
			overruled = 0
		}
	}
	switch d {
	case DecideStart:
		act = s.startOverseer(a, &f)
	case DecideWake:
		act = s.wakeOverseer(a)
	case DecideNudge:
		act = s.nudgeOverseer(a)
	}
	s.figures.Decisions[by-ByRule][d]++
	s.changeChain(a, func(c *Chain) {
		c.Decision, c.By, c.DecidedAt, c.Facts, c.Degraded, c.Act, c.Why = d, by, s.meta.Clock, f.words(), degraded, clip(act, MaxReason), why
		if c.Overruled = overruled; !f.Dead {
			c.Starts = 0
		}
	})
	text := fmt.Sprintf("%s by %s: %s; %s", d, by, f.words(), act)
	if degraded != "" {
		text += "; degraded: " + degraded
	}
	if no := s.Degraded(a.ID); no != "" { // nothing can be typed or observed (seed 004, Degraded Mode)
		text += "; " + no
	}
	s.event("agent.triage", about{agent: a, host: a.Host}, clip(text, MaxReason))
}

// startOverseer makes sure that a dead overseer is started, which supervision does: a look
// never overrides a human's word, the brake or a budget (laws L9 and L11).
func (s *State) startOverseer(a *Agent, f *OverseerFacts) string {
	if !f.Dead {
		return "it runs, so there is nothing to start"
	}
	s.want(a)
	s.res.Effects.Plan = true
	s.changeChain(a, func(c *Chain) { c.Starts++ })
	why := s.Why(a.ID)
	if s.chainOff(a) == "" && a.Notes().Chain.Starts == maxStarts {
		s.event("agent.needs_human", about{agent: a}, fmt.Sprintf("overseer was dead at %d looks in a row: %s", maxStarts, why.Text))
		s.escalateOverseer(a, why.Code)
	}
	if why.Code == "start_due" {
		return "a start is due"
	}
	return "its start waits: " + why.Text
}

// wakeOverseer asks it to go on, as the second rung of the ladder does: when that has no
// effect, the ladder goes on with the third. While an episode of the ladder is open, nothing
// is said twice.
func (s *State) wakeOverseer(a *Agent) string {
	now, old := s.meta.Clock, a.Notes().Ladder
	switch {
	case !a.on():
		return "it does not run, so nobody can be woken"
	case a.Order == StopOrder:
		return "it is being stopped"
	case old != nil && old.Inc == a.Inc && s.lifesign(a) < old.At:
		return "the ladder for stuck agents is at it, rung " + old.Rung.String()
	case old != nil && old.Inc == a.Inc && now.Sub(old.At) < s.meta.Settings.Ladder.Cooldown:
		return "it was asked " + s.since(old.At).String() + " ago and has answered since"
	}
	next := Ladder{Inc: a.Inc, Rung: RungWake, At: now, Began: now, Steps: 1, Done: a.Done}
	if old != nil {
		prev := *old // views share it
		s.withdrawMail(&prev)
		if !s.gotOn(a, old) {
			next.Restarts = old.Restarts
		}
	}
	s.withdrawChainMail(a)
	next.Inquiry = s.askByMail(a, LaddersBy, "wake", MailHigh, wakeSubject, wakeBody)
	a.note(func(n *Notes) { n.Ladder = &next })
	s.changeChain(a, func(c *Chain) { c.WokenAt, c.Mail = now, next.Inquiry })
	return s.prodLater(a, "it is woken by mail")
}

func (s *State) nudgeOverseer(a *Agent) string {
	switch old := a.Notes().Ladder; {
	case !a.on():
		return "it does not run, so nobody can be nudged"
	case old != nil && old.Inc == a.Inc && s.lifesign(a) < old.At:
		return "the ladder for stuck agents is at it, rung " + old.Rung.String()
	}
	s.withdrawChainMail(a)
	id := s.askByMail(a, LaddersBy, "check-in", MailNormal, checkInSubject, checkInBody)
	s.changeChain(a, func(c *Chain) { c.Mail = id })
	return s.prodLater(a, "it is nudged by mail")
}

// prodLater has the leader type what was decided.
func (s *State) prodLater(a *Agent, act string) string {
	if a.Proc != ProcRunning || s.Degraded(a.ID) != "" { // the event says why nothing is typed
		return act
	}
	s.changeChain(a, func(c *Chain) { c.Prod = s.meta.Clock })
	return act + " and in its terminal, if it has one"
}

// withdrawChainMail closes what the chain wrote last, when nobody has answered it.
func (s *State) withdrawChainMail(a *Agent) {
	s.recallMail(a.Notes().Chain.Mail)
}

// reportPatrol takes a patrol in.
func (s *State) reportPatrol(c *ReportPatrol) Outcome {
	if c.Action != "" {
		if err := CheckName(c.Action); err != nil {
			return refuse(Invalid, "action: %v", err)
		}
	}
	a, no := s.present(&c.Speaker)
	switch {
	case a == nil:
		return no
	case s.Overseer(a) == nil:
		return refuse(Conflict, "%s is no overseer; its role needs `overseer:` in the room file", a.Name)
	}
	old := a.Notes().Chain
	fresh := old.Inc != a.Inc || old.Patrols == 0
	out := a.outcome()
	if !fresh && c.Cycle != 0 && c.Cycle == old.Cycle {
		out.Count = old.Patrols
		return out
	}
	s.withdrawChainMail(a)
	was := a.shadow()
	s.changeChain(a, func(x *Chain) {
		if fresh {
			x.Patrols = 0
		}
		if c.Cycle == 0 {
			c.Cycle = x.Cycle + 1
		}
		x.Inc, x.PatrolAt, x.Cycle, x.Action, x.Healthy, x.Unhealthy = a.Inc, s.meta.Clock, c.Cycle, c.Action, c.Healthy, c.Unhealthy
		x.Patrols++
		x.Prod, x.Overruled, x.Starts = 0, 0, 0
	})
	s.settle(a, was)
	out.Count = a.Notes().Chain.Patrols
	return out
}

// HandoverDue tells that the overseer has made as many patrols as one life should.
func (v *View) HandoverDue(a *Agent) bool {
	spec := v.Overseer(a)
	return spec != nil && spec.HandoffAfter > 0 && a.patrols() >= spec.HandoffAfter
}

// handOver leaves the mail and orders the next life. A life that is younger than the time
// between two looks may not: lives that only hand over are no work (law L11).
func (s *State) handOver(c *HandOver) Outcome {
	a, no := s.present(&c.Speaker)
	if a == nil {
		return no
	}
	least := s.meta.Settings.Chain.Interval
	switch code := s.paused(a); {
	case s.Overseer(a) == nil:
		return refuse(Conflict, "%s is no overseer; its role needs `overseer:` in the room file", a.Name)
	case s.stopWish(a):
		return refuse(Stopped, "%s is stopped, so no next life would get the hand-over", a.Name)
	case code != "":
		return refuse(Stopped, "%s is %s", a.Name, s.pausedText(a, code))
	case !a.Managed:
		return refuse(Conflict, "%s was started by hand, and vigil cannot start its next life; send the mail to it yourself and end", a.Name)
	case s.roles.Get(a.Role).Spec.Runner == "":
		return refuse(Conflict, "role %s names no runner, so vigil cannot start the next life of %s", s.roleName(a.Role), a.Name)
	case a.Order == StopOrder:
		return refuse(Conflict, "%s is being stopped: %s", a.Name, a.OrderReason)
	case s.meta.Clock.Sub(a.StartedAt) < least:
		return refuse(Conflict, "this life of %s is %s old; it may hand over after %s (setting overseer_interval)", a.Name, s.since(a.StartedAt), least)
	}
	r, rm := s.roles.Get(a.Role), s.rooms.Get(a.Room)
	sent := s.sendMail(&SendMail{Speaker: c.Speaker, To: fmt.Sprintf("%s/%s.%d", rm.Name, r.Spec.Name, a.Index),
		Subject: c.Subject, Body: c.Body, Kind: HandOverKind})
	if sent.Code != OK {
		return sent
	}
	was := a.shadow()
	a.forgetResume()
	s.event("agent.handed_over", about{agent: a, host: a.Host}, fmt.Sprintf("mail %d is for its next life; it has made %d patrols", sent.Mail, a.patrols()))
	s.openStop(a, "it hands over to its next life")
	s.settle(a, was)
	out := a.outcome()
	out.Mail = sent.Mail
	return out
}

// handover tells that a mail is what an earlier life of the agent has left to the next.
func (v *View) handover(a *Agent, m *Mail) bool {
	return m.Kind == HandOverKind && m.FromInc != 0 && m.From == a.Name
}

// mailRank orders what a life reads: the hand-over first.
func (v *View) mailRank(a *Agent, m *Mail) int {
	if v.handover(a, m) {
		return -1
	}
	return m.Priority.rank()
}

func (s *State) prodOverseer(c *ProdOverseer) Outcome {
	a, no := s.prodded(c.Agent, c.Inc)
	if a == nil {
		return no
	}
	at := a.Notes().Chain.Prod
	if at == 0 || at != c.At {
		return refuse(Conflict, "nothing of a decision is left to be typed for %s", a.Name)
	}
	s.changeChain(a, func(x *Chain) { x.Prod = 0 })
	out := a.outcome()
	if at < a.StartedAt || s.meta.Clock.Sub(at) > prodWithin || a.Proc != ProcRunning || a.Order == StopOrder {
		out.Count = 1
	}
	return out
}

func (s *State) prodded(id AgentID, inc Incarnation) (*Agent, Outcome) {
	a := s.agents.Mut(id)
	switch {
	case a == nil || a.Notes().Chain == nil:
		return nil, refuse(NotFound, "there is no overseer number %d", id)
	case a.Inc != inc:
		return nil, refuse(Superseded, "incarnation %s of %s is not the newest", inc, a.Name)
	}
	return a, Outcome{}
}

func (s *State) noteProd(c *NoteProd) Outcome {
	a, no := s.prodded(c.Agent, c.Inc)
	if a == nil {
		return no
	}
	s.event("agent.prod_failed", about{agent: a, host: a.Host}, clip("nothing was typed: "+c.Reason, MaxReason))
	return a.outcome()
}
