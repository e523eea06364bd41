package chain

import (
	"fmt"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// ProdWithin is how old a decision may be when it is typed; later its mail is enough.
const ProdWithin = time.Minute

// What the chain writes to overseers.
const (
	wakeSubject = "Wake: check your inbox"
	wakeBody    = "No patrol of yours was reported for long. " +
		"Go on with your patrol and report it (vigil patrol report), " +
		"declare why you are silent, or hand over to a fresh life (vigil handoff). " +
		"Without any answer you are interrupted and restarted, or a human is called."
	checkInSubject = "Check-in: pending work"
	checkInBody    = "Mail waits for you and your last patrol is a while ago. " +
		"Read it, and report your next patrol (vigil patrol report)."
)

// decide ends a look: with what the rule says now, or with what triage has said as far as
// facts that do not come from it allow. Degraded says why triage was not heard.
func (s *State) decide(a *noun.Agent, by noun.Decider, said noun.Decision, why, degraded string) {
	c := *a.Notes().Chain
	f := s.OverseerFacts(a)
	rule := judge.Decide(&f)
	d, overruled, act := rule, c.Overruled, "nothing is done"
	if by == noun.ByTriage {
		d = said
		switch over := fmt.Sprintf("triage has said %s, the rule says %s", said, rule); {
		case rule == noun.DecideStart && said != noun.DecideStart:
			d, by, degraded = rule, noun.ByRule, over
		case f.Patrolled && c.PatrolAt > c.LookAt && said != noun.DecideNothing && !f.Dead:
			d, act = noun.DecideNothing,
				fmt.Sprintf("nothing is done: triage has said %s, and it has patrolled since", said)
		case said < rule && overruled >= noun.MaxOverruled:
			d, by, degraded = rule, noun.ByRule, fmt.Sprintf("%s, for the %dth look in a row", over, overruled+1)
		}
		if overruled++; said >= rule {
			overruled = 0
		}
	}
	switch d {
	case noun.DecideStart:
		act = s.startOverseer(a, &f)
	case noun.DecideWake:
		act = s.wakeOverseer(a)
	case noun.DecideNudge:
		act = s.nudgeOverseer(a)
	}
	s.Tally.Decisions[by-noun.ByRule][d]++
	s.changeChain(a, func(c *noun.Chain) {
		c.Decision, c.By, c.DecidedAt, c.Facts, c.Degraded, c.Act, c.Why = d, by, s.Meta.Clock, f.Words(),
			degraded, noun.Clip(act, noun.MaxReason), why
		if c.Overruled = overruled; !f.Dead {
			c.Starts = 0
		}
	})
	text := fmt.Sprintf("%s by %s: %s; %s", d, by, f.Words(), act)
	if degraded != "" {
		text += "; degraded: " + degraded
	}
	if no := s.Degraded(a.ID); no != "" { // nothing can be typed or observed
		text += "; " + no
	}
	s.Event("agent.triage", core.About{Agent: a, Host: a.Host}, noun.Clip(text, noun.MaxReason))
}

// startOverseer makes sure that a dead overseer is started, which supervision does: a look
// never overrides a human's word, the brake or a budget (laws L9 and L11).
func (s *State) startOverseer(a *noun.Agent, f *judge.OverseerFacts) string {
	if !f.Dead {
		return "it runs, so there is nothing to start"
	}
	s.Want(a)
	s.Result.Effects.Plan = true
	s.changeChain(a, func(c *noun.Chain) { c.Starts++ })
	why := s.Why(a.ID)
	if s.chainOff(a) == "" && a.Notes().Chain.Starts == noun.MaxStarts {
		s.Event("agent.needs_human", core.About{Agent: a},
			fmt.Sprintf("overseer was dead at %d looks in a row: %s", noun.MaxStarts, why.Text))
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
func (s *State) wakeOverseer(a *noun.Agent) string {
	now, old := s.Meta.Clock, a.Notes().Ladder
	switch {
	case !a.Lives():
		return "it does not run, so nobody can be woken"
	case a.Order == noun.StopOrder:
		return "it is being stopped"
	case old != nil && old.Inc == a.Inc && s.Lifesign(a) < old.At:
		return "the ladder for stuck agents is at it, rung " + old.Rung.String()
	case old != nil && old.Inc == a.Inc && now.Sub(old.At) < s.Meta.Settings.Ladder.Cooldown:
		return "it was asked " + s.Since(old.At).String() + " ago and has answered since"
	}
	next := noun.Ladder{Inc: a.Inc, Rung: noun.RungWake, At: now, Began: now, Steps: 1, Done: a.Done}
	if old != nil {
		s.Hooks.Recall.Call(old.Nudge)
		s.Hooks.Recall.Call(old.Inquiry)
		if !s.GotOn(a, old) {
			next.Restarts = old.Restarts
		}
	}
	s.withdrawChainMail(a)
	next.Inquiry = s.Hooks.Write(core.Letter{To: a, From: noun.LaddersBy, Kind: "wake", Priority: noun.MailHigh,
		Subject: wakeSubject, Body: wakeBody}).Mail
	a.Note(func(n *noun.Notes) { n.Ladder = &next })
	s.changeChain(a, func(c *noun.Chain) { c.WokenAt, c.Mail = now, next.Inquiry })
	return s.prodLater(a, "it is woken by mail")
}

func (s *State) nudgeOverseer(a *noun.Agent) string {
	switch old := a.Notes().Ladder; {
	case !a.Lives():
		return "it does not run, so nobody can be nudged"
	case old != nil && old.Inc == a.Inc && s.Lifesign(a) < old.At:
		return "the ladder for stuck agents is at it, rung " + old.Rung.String()
	}
	s.withdrawChainMail(a)
	id := s.Hooks.Write(core.Letter{To: a, From: noun.LaddersBy, Kind: "check-in", Priority: noun.MailNormal,
		Subject: checkInSubject, Body: checkInBody}).Mail
	s.changeChain(a, func(c *noun.Chain) { c.Mail = id })
	return s.prodLater(a, "it is nudged by mail")
}

// prodLater has the leader type what was decided.
func (s *State) prodLater(a *noun.Agent, act string) string {
	if a.Proc != noun.ProcRunning || s.Degraded(a.ID) != "" { // the event says why nothing is typed
		return act
	}
	s.changeChain(a, func(c *noun.Chain) { c.Prod = s.Meta.Clock })
	return act + " and in its terminal, if it has one"
}

// withdrawChainMail closes what the chain wrote last, when nobody has answered it.
func (s *State) withdrawChainMail(a *noun.Agent) {
	s.Hooks.Recall.Call(a.Notes().Chain.Mail)
}

// Apply takes a patrol in.
func (c ReportPatrol) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if c.Action != "" {
		if err := noun.CheckName(c.Action); err != nil {
			return core.Refuse(noun.Invalid, "action: %v", err)
		}
	}
	a, no := s.Present(&c.Speaker)
	switch {
	case a == nil:
		return no
	case s.Overseer(a) == nil:
		return core.Refuse(noun.Conflict, "%s is no overseer; its role needs `overseer:` in the room file", a.Name)
	}
	old := a.Notes().Chain
	fresh := old.Inc != a.Inc || old.Patrols == 0
	out := a.Outcome()
	if !fresh && c.Cycle != 0 && c.Cycle == old.Cycle {
		out.Count = old.Patrols
		return out
	}
	s.withdrawChainMail(a)
	was := core.ShadowOf(a)
	s.changeChain(a, func(x *noun.Chain) {
		if fresh {
			x.Patrols = 0
		}
		if c.Cycle == 0 {
			c.Cycle = x.Cycle + 1
		}
		x.Inc, x.PatrolAt, x.Cycle, x.Action, x.Healthy, x.Unhealthy = a.Inc, s.Meta.Clock, c.Cycle, c.Action,
			c.Healthy, c.Unhealthy
		x.Patrols++
		x.Prod, x.Overruled, x.Starts = 0, 0, 0
	})
	s.Settle(a, was)
	out.Count = a.Notes().Chain.Patrols
	return out
}

// HandoverDue tells that the overseer has made as many patrols as one life should.
func (v *View) HandoverDue(a *noun.Agent) bool {
	spec := v.Overseer(a)
	return spec != nil && spec.HandoffAfter > 0 && a.Patrols() >= spec.HandoffAfter
}

// Apply leaves the mail and orders the next life. A life that is younger than the time
// between two looks may not: lives that only hand over are no work (law L11).
func (c HandOver) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.Present(&c.Speaker)
	if a == nil {
		return no
	}
	least := s.Meta.Settings.Chain.Interval
	switch code := s.Paused(a); {
	case s.Overseer(a) == nil:
		return core.Refuse(noun.Conflict, "%s is no overseer; its role needs `overseer:` in the room file", a.Name)
	case s.StopWish(a):
		return core.Refuse(noun.Stopped, "%s is stopped, so no next life would get the hand-over", a.Name)
	case code != "":
		return core.Refuse(noun.Stopped, "%s is %s", a.Name, s.PausedText(a, code))
	case !a.Managed:
		return core.Refuse(noun.Conflict,
			"%s was started by hand, and vigil cannot start its next life; send the mail to it yourself and end", a.Name)
	case s.RoleTable.Get(a.Role).Spec.Runner == "":
		return core.Refuse(noun.Conflict, "role %s names no runner, so vigil cannot start the next life of %s",
			s.RoleName(a.Role), a.Name)
	case a.Order == noun.StopOrder:
		return core.Refuse(noun.Conflict, "%s is being stopped: %s", a.Name, a.OrderReason)
	case s.Meta.Clock.Sub(a.StartedAt) < least:
		return core.Refuse(noun.Conflict,
			"this life of %s is %s old; it may hand over after %s (setting overseer_interval)", a.Name,
			s.Since(a.StartedAt), least)
	}
	sent := s.Hooks.Write(core.Letter{Speaker: c.Speaker, To: a, Subject: c.Subject, Body: c.Body,
		Kind: noun.HandOverKind})
	if sent.Code != noun.OK {
		return sent
	}
	was := core.ShadowOf(a)
	a.ForgetResume()
	s.Event("agent.handed_over", core.About{Agent: a, Host: a.Host},
		fmt.Sprintf("mail %d is for its next life; it has made %d patrols", sent.Mail, a.Patrols()))
	s.OpenStop(a, "it hands over to its next life")
	s.Settle(a, was)
	out := a.Outcome()
	out.Mail = sent.Mail
	return out
}

func (c ProdOverseer) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.prodded(c.Agent, c.Inc)
	if a == nil {
		return no
	}
	at := a.Notes().Chain.Prod
	if at == 0 || at != c.At {
		return core.Refuse(noun.Conflict, "nothing of a decision is left to be typed for %s", a.Name)
	}
	s.changeChain(a, func(x *noun.Chain) { x.Prod = 0 })
	out := a.Outcome()
	if at < a.StartedAt || s.Meta.Clock.Sub(at) > ProdWithin || a.Proc != noun.ProcRunning ||
		a.Order == noun.StopOrder {
		out.Count = 1
	}
	return out
}

func (s *State) prodded(id noun.AgentID, inc noun.Incarnation) (*noun.Agent, noun.Outcome) {
	a := s.AgentTable.Mut(id)
	switch {
	case a == nil || a.Notes().Chain == nil:
		return nil, core.Refuse(noun.NotFound, "there is no overseer number %d", id)
	case a.Inc != inc:
		return nil, core.Refuse(noun.Superseded, "incarnation %s of %s is not the newest", inc, a.Name)
	}
	return a, noun.Outcome{}
}

func (c NoteProd) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.prodded(c.Agent, c.Inc)
	if a == nil {
		return no
	}
	s.Event("agent.prod_failed", core.About{Agent: a, Host: a.Host},
		noun.Clip("nothing was typed: "+c.Reason, noun.MaxReason))
	return a.Outcome()
}

// escalateOverseer calls a human for an overseer that does not start; why is the code of
// the reason.
func (s *State) escalateOverseer(a *noun.Agent, why string) {
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscOverseerDown, Subject: a.Name, Priority: noun.MailHigh,
		Agent: a.Name, Inc: a.Inc,
		Room: s.RoomTable.Get(a.Room).Name, Host: s.HostNameOf(a),
		Facts: []noun.KV{{Key: "start_waits_for", Value: why}}})
}
