package chain

import (
	"fmt"
	"unicode/utf8"

	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// changeChain replaces what is known of an overseer and keeps its timer in line.
func (s *State) changeChain(a *noun.Agent, change func(*noun.Chain)) {
	old, next := a.Notes().Chain, noun.Chain{Since: s.Meta.Clock}
	if old != nil {
		next = *old
	}
	change(&next)
	s.Rearm(core.TimerChain, uint64(a.ID), &next.Armed, s.lookRow(a, &next))
	if old == nil || *old != next {
		a.Note(func(n *noun.Notes) { n.Chain = &next })
	}
}

// reviewChain follows an agent that becomes an overseer, is one, or ceases to be one.
func (s *State) reviewChain(a *noun.Agent) {
	switch {
	case s.Overseer(a) != nil:
		s.changeChain(a, func(*noun.Chain) {})
	case a.Notes().Chain != nil:
		s.dropChain(a, "its role is none of overseers any more")
	}
}

// dropChain forgets an overseer and ends what is asked about it.
func (s *State) dropChain(a *noun.Agent, why string) {
	if a.Notes().Chain == nil {
		return
	}
	s.endLook(a, why)
	c := *a.Notes().Chain
	s.Rearm(core.TimerChain, uint64(a.ID), &c.Armed, due.Row{})
	a.Note(func(n *noun.Notes) { n.Chain = nil })
}

// reviewOverseers sets all timers anew after the limits have changed.
func (s *State) reviewOverseers() {
	var all []noun.AgentID
	for id := range s.Overseers(0) {
		all = append(all, id)
	}
	for _, id := range all {
		s.reviewChain(s.AgentTable.Mut(id))
	}
}

func (s *State) fireChain(id noun.AgentID) {
	a := s.AgentTable.Mut(id)
	if a == nil || a.Notes().Chain == nil {
		return
	}
	s.changeChain(a, func(c *noun.Chain) { c.Armed = 0 }) // and set anew when it is not due
	c := a.Notes().Chain
	row := s.lookRow(a, c)
	if !row.Due(s.Meta.Clock) {
		return
	}
	switch {
	case c.Task != 0:
		s.lookFailed(a, "triage has not answered within "+s.Meta.Settings.Chain.TriageLimit.String(), true)
	case !s.Meta.Settings.Chain.Enabled || s.chainOff(a) != "":
		s.changeChain(a, func(c *noun.Chain) { c.LookAt = s.Meta.Clock })
	default:
		s.look(a, row.Kind.Name, "")
	}
}

// chainOff tells why nobody looks at an overseer unless a human asks: what a human wants
// is no failure (law L9). Empty: somebody does.
func (v *View) chainOff(a *noun.Agent) string {
	code := v.WhyNot(a)
	switch {
	case v.Paused(a) != "":
		return "it is " + v.PausedText(a, v.Paused(a))
	case v.StopWish(a), code == "no_runner":
		return v.Why(a.ID).Text
	}
	return ""
}

// look begins a look: triage is asked, or where that is not possible the rule decides at
// once. The caller has made sure that none is open.
func (s *State) look(a *noun.Agent, why, by string) {
	spec := s.Overseer(a)
	s.Tally.Looks++
	s.changeChain(a, func(c *noun.Chain) { c.LookAt, c.Asked = s.Meta.Clock, by })
	r, no := s.triageRole(a, spec)
	if r == nil {
		s.decide(a, noun.ByRule, noun.DecideNothing, "", no)
		return
	}
	f := s.OverseerFacts(a)
	text := s.lookText(a, &f)
	s.looks[s.Meta.NextTask] = a.ID
	s.SetAside(s.Meta.NextTask) // a room in which nothing else happens is silent
	t := s.AddTask(r, "Look at "+a.Name, text, noun.LaddersBy, noun.LookPriority, 0)
	s.changeChain(a, func(c *noun.Chain) { c.Task = t.ID })
	s.Event("agent.look", core.About{Agent: a, Task: t.ID, Host: a.Host},
		fmt.Sprintf("%s: triage is asked, role %s; %s", why, s.RoleName(r.ID), f.Words()))
}

// triageRole finds the role that answers looks, or says why nobody of it can; an empty
// reason: none is wanted.
func (v *View) triageRole(a *noun.Agent, spec *noun.OverseerSpec) (*noun.Role, string) {
	if spec.Triage == "" {
		return nil, ""
	}
	rm := v.RoomTable.Get(a.Room)
	r := v.RoleByName(rm.Name, spec.Triage)
	switch {
	case r == nil || r.Retired:
		return nil, "there is no role " + rm.Name + "/" + spec.Triage
	case v.RolePaused(r) != "" || r.Spec.Desired == noun.DesiredStopped:
		return nil, "role " + v.RoleName(r.ID) + " is stopped or paused"
	}
	code := "no_agent"
	for _, id := range r.Agents {
		t := v.AgentTable.Get(id)
		if id == a.ID || v.Paused(t) != "" {
			continue
		}
		switch code = v.WhyNot(t); code {
		case "running", "by_hand", "order_open":
			return r, ""
		case "", "no_task":
			for h := range v.Hosts() {
				if v.Misfit(h, t) == "" {
					return r, ""
				}
			}
			code = "no_host"
		}
	}
	return nil, "no agent of role " + v.RoleName(r.ID) + " can run now (" + code + ")"
}

// lookFailed ends a look without an answer: the mechanical rule decides at once. Late tells
// that the time for it is over; whoever hangs with it then is ended, so that the next look
// gets a life of its own.
func (s *State) lookFailed(a *noun.Agent, why string, late bool) {
	t := s.TaskTable.Get(a.Notes().Chain.Task)
	var hung []noun.AgentID
	if late && t != nil && !t.State.Terminal() {
		began := a.Notes().Chain.LookAt
		for _, id := range s.RoleTable.Get(t.Role).Agents {
			x := s.AgentTable.Get(id)
			idle := x.Task == 0 && !t.State.Held() && x.StartedAt <= began && s.Paused(x) == ""
			if x.Proc.Fenced() && x.Order != noun.StopOrder && (x.Task == t.ID || idle) {
				hung = append(hung, id)
			}
		}
	}
	s.endLook(a, why)
	for _, id := range hung {
		x := s.AgentTable.Mut(id)
		was := core.ShadowOf(x)
		s.EndForLimit(x, "it was asked to look at "+a.Name+" and has not answered within "+
			s.Meta.Settings.Chain.TriageLimit.String())
		s.Settle(x, was)
	}
	s.Tally.LooksFailed++
	s.decide(a, noun.ByRule, noun.DecideNothing, "", why)
}

// endLook removes the marker, and the task with it when it has not ended.
func (s *State) endLook(a *noun.Agent, why string) {
	id := a.Notes().Chain.Task
	if id == 0 {
		return
	}
	if t := s.TaskTable.Mut(id); t != nil && !t.State.Terminal() {
		s.Cancel(t, noun.LaddersBy, why)
		s.Promote(t.Role)
	}
	delete(s.looks, id)
	delete(s.Aside, id)
	s.changeChain(a, func(c *noun.Chain) { c.Task = 0 })
}

// concludeLooks goes on with looks whose tasks have ended, or were given back, in what was
// just done. It is called between commands, where nothing is half done.
func (s *State) concludeLooks() {
	for i := 0; i < len(s.looked); i++ {
		id := s.looked[i]
		a := s.AgentTable.Mut(s.looks[id])
		if a == nil || a.Notes().Chain == nil || a.Notes().Chain.Task != id {
			continue
		}
		t := s.TaskTable.Get(id)
		switch {
		case t == nil:
			s.lookFailed(a, "the task that asked triage is gone", false)
		case t.State == noun.TaskCompleted:
			if s.said.Task != id {
				s.lookFailed(a, "what triage has answered is no decision", false)
				continue
			}
			said := s.said
			s.endLook(a, "")
			s.decide(a, noun.ByTriage, said.Decision, said.Reason, "")
		case t.State == noun.TaskFailed:
			s.lookFailed(a, "triage has failed", false)
		case t.State.Terminal():
			s.lookFailed(a, "the task that asked triage is "+t.State.String(), false)
		default:
			s.lookFailed(a, "triage has died, or given it up", false)
		}
	}
	s.looked, s.said = s.looked[:0], AnswerLook{}
}

// NeedsLevel is the feature level that must have begun before the command may be written.
func (AnswerLook) NeedsLevel() uint32 { return core.LevelRetry }

// Apply completes the task, and keeps the decision for the look that ends with it. One that is
// out of range is none: the look ends without an answer. So does a look whose task was
// completed by a record without a decision.
func (c AnswerLook) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	out := c.CompleteTask.Apply(of)
	if int(c.Decision) < len(noun.DecisionNames()) && len(c.Reason) <= noun.MaxTriageWhy &&
		utf8.ValidString(c.Reason) {
		s.said = c
	}
	return out
}

// followLook notes that something has happened to a task that is a look.
func (s *State) followLook(t core.TaskMove) {
	if _, look := s.looks[t.ID]; look && (t.State.Terminal() || t.From.Held() && !t.State.Held()) {
		s.looked = append(s.looked, t.ID)
	}
}

// endLooks ends the looks of a triage role that goes.
func (s *State) endLooks(r *noun.Role) {
	if len(s.looks) == 0 {
		return
	}
	var asked []noun.AgentID
	for id := range s.Overseers(0) {
		c := s.AgentTable.Get(id).Notes().Chain
		if t := s.TaskTable.Get(c.Task); t != nil && t.Role == r.ID {
			asked = append(asked, id)
		}
	}
	for _, id := range asked {
		s.lookFailed(s.AgentTable.Mut(id), "role "+r.Spec.Name+" is no longer declared", false)
	}
}

// Apply is a look that a human asks for.
func (c LookAtOverseer) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.ChangeableAgent(c.Agent, 0)
	switch {
	case a == nil:
		return no
	case s.Overseer(a) == nil:
		return core.Refuse(noun.Conflict, "%s is no overseer; its role needs `overseer:` in the room file", a.Name)
	case a.Notes().Chain.Task != 0:
		out := core.Refuse(noun.Conflict, "a look at %s is open already: task %d waits for triage", a.Name,
			a.Notes().Chain.Task)
		out.Task = a.Notes().Chain.Task
		return out
	}
	s.look(a, "asked for by "+core.Nobody(c.By), core.Nobody(c.By))
	out := a.Outcome()
	out.Task = a.Notes().Chain.Task
	return out
}

// NextLook is when the overseer is looked at next when nothing happens before, or when the
// answer to the open look must be there; off tells why nobody looks.
func (v *View) NextLook(a *noun.Agent) (at noun.Time, off string) {
	c := a.Notes().Chain
	if c == nil {
		return 0, "it is no overseer"
	}
	row := v.lookRow(a, c)
	switch {
	case c.Task != 0:
		return row.At(), ""
	case !v.Meta.Settings.Chain.Enabled:
		return 0, "the watchdog chain is switched off (setting chain_enabled)"
	}
	if off = v.chainOff(a); off != "" {
		return 0, off
	}
	return row.At(), ""
}

// followOverseer follows an agent that becomes an overseer, is one, or ceases to be one.
func (s *State) followOverseer(a *noun.Agent) {
	s.overseers.Put(a.ID, s.Overseer(a) != nil)
	s.reviewChain(a)
}

// followMail looks at an overseer for which other mail waits.
func (s *State) followMail(id noun.AgentID) {
	if s.overseers.Has(id) {
		s.reviewChain(s.AgentTable.Mut(id))
	}
}

// loseOverseer forgets an agent that goes.
func (s *State) loseOverseer(a *noun.Agent) {
	s.dropChain(a, "its overseer is no longer declared")
	s.overseers.Put(a.ID, false)
}
