package core

import (
	"fmt"
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// speaker finds the agent that speaks and checks that its incarnation is the
// newest (law L6) and its token is right. A refusal has a code other than OK.
func (s *State) speaker(sp *Speaker) (*noun.Agent, noun.Outcome) {
	id, ok := s.agentByName[sp.Agent]
	if !ok {
		return nil, s.NoAgent(sp.Agent)
	}
	a := s.AgentTable.Mut(id)
	no := s.Impostor(a, sp)
	switch {
	case sp.Inc == a.Inc && s.unborn(a):
		return nil, Refuse(noun.Superseded,
			"incarnation %s was of an agent that was deleted; %s has not lived since it was declared again; stop",
			sp.Inc, a.Name)
	case no.Code == noun.OK:
		return a, no
	case no.Code == noun.Invalid:
		s.noteWrongIdentity(a, "incarnation "+sp.Inc.String()+" was presented, which was never given out")
	case no.Code == noun.Denied:
		s.noteWrongIdentity(a, "incarnation "+sp.Inc.String()+" was presented with a token that is not its own")
	}
	return nil, no
}

// Impostor refuses who is not the agent's newest incarnation (law L6) or has not its token: Superseded for an older
// one, Invalid for one that was never given out, Denied for a wrong token. OK: it is who it says.
func (*View) Impostor(a *noun.Agent, sp *Speaker) noun.Outcome {
	switch {
	case sp.Inc < a.Inc:
		return Refuse(noun.Superseded, "incarnation %s of %s was superseded by %s; stop", sp.Inc, a.Name, a.Inc)
	case sp.Inc > a.Inc:
		return Refuse(noun.Invalid, "incarnation %s of %s was never given out; the newest is %s", sp.Inc, a.Name, a.Inc)
	case string(sp.TokenHash) != a.TokenHash: // also a token where none was given: it is another agent's
		return Refuse(noun.Denied, "the token is not that of incarnation %s of %s; use its own VIGIL_TOKEN_FILE",
			a.Inc, a.Name)
	}
	return noun.Outcome{}
}

// unborn tells that the agent has the number of a life that was not its own: until its first
// one it carries the highest that any removed agent had, so that it gets a greater one.
func (v *View) unborn(a *noun.Agent) bool { return a.Inc != 0 && v.LeaseTable.Get(a.ID).Inc == 0 }

// noteWrongIdentity makes a wrong identity visible, at most once a minute and agent: usually
// an agent was started in the environment of another one. No token is written.
func (s *State) noteWrongIdentity(a *noun.Agent, what string) {
	if a.Notes().RefusedAt > s.Meta.Clock {
		return
	}
	a.Note(func(n *noun.Notes) { n.RefusedAt = s.Meta.Clock.Add(time.Minute) })
	s.Event("agent.identity_refused", About{Agent: a}, what)
}

// living is speaker, and the life is not over.
func (s *State) living(sp *Speaker) (*noun.Agent, noun.Outcome) {
	a, no := s.speaker(sp)
	if a != nil && s.MayReturn(a) { // as VerdictAdopt: it may go on
		return nil, Refuse(noun.Rejoin,
			"the fence of incarnation %s of %s has ended and nothing newer is ordered; "+
				"join again when its host is heard", a.Inc, a.Name)
	}
	if a != nil && a.Managed && !a.Proc.Fenced() {
		return nil, Refuse(noun.Superseded, "incarnation %s of %s has ended; stop", a.Inc, a.Name)
	}
	return a, no
}

// Present is living, and a life that was started by hand is in its room.
func (s *State) Present(sp *Speaker) (*noun.Agent, noun.Outcome) {
	a, no := s.living(sp)
	if a != nil && !a.Managed && a.Part == noun.PartDisconnected {
		return nil, Refuse(noun.Rejoin, "%s has no lease; join again", a.Name)
	}
	return a, no
}

// leased is living with a participant whose lease has not ended.
func (s *State) leased(sp *Speaker) (*noun.Agent, noun.Outcome) {
	a, no := s.living(sp)
	if a == nil {
		return nil, no
	}
	if a.Part == noun.PartDisconnected || s.LeaseTable.Get(a.ID).Until <= s.Meta.Clock {
		return nil, Refuse(noun.Rejoin, "%s has no lease; join again", a.Name)
	}
	return a, noun.Outcome{}
}

// Join makes the incarnation WAITING. With Inc 0 it is a start by hand: the agent
// named, or the first free one of the role when Agent ends in "/role.*".
type Join struct{ Speaker }

func (c Join) Apply(s *State) noun.Outcome {
	if c.Inc == 0 {
		return s.joinByHand(&c)
	}
	a, no := s.living(&c.Speaker)
	if a == nil {
		return no
	}
	if no := s.mayEnter(a); no.Code != noun.OK {
		return no
	}
	return s.enter(a)
}

// mayEnter refuses a life that was started by hand and that a human has stopped (law L9).
func (v *View) mayEnter(a *noun.Agent) noun.Outcome {
	if !a.Managed && v.StopWish(a) {
		return Refuse(noun.Stopped, "%s is stopped; `vigil agent start %s` allows it again", a.Name, a.Name)
	}
	return noun.Outcome{}
}

// enter makes the incarnation WAITING, or leaves it ACTIVE while it holds a task.
func (s *State) enter(a *noun.Agent) noun.Outcome {
	if l := s.LeaseTable.Mut(a.ID); l.Until != 0 && l.Until <= s.Meta.Clock {
		// ended, its timer waits for the next entry: never revived
		s.Rearm(TimerLease, uint64(a.ID), &l.ArmedL, due.Row{})
		s.fireLease(a.ID)
	}
	was := ShadowOf(a)
	if a.Task == 0 {
		a.Part = noun.PartWaiting
	}
	if was.part != a.Part {
		a.Begun()
		s.Event("agent.joined", About{Agent: a}, "")
	}
	a.Since = s.Meta.Clock
	a.TaskKnown()
	a.Note(func(n *noun.Notes) { n.Adopted = false })
	l := s.grantLease(a)
	l.Vouch = a.Part == noun.PartActive && s.Vouched(a)
	s.Settle(a, was)
	if s.Pending(a.Role) > 0 {
		s.Result.Effects.Claimable = append(s.Result.Effects.Claimable, a.Role)
	}
	out := a.Outcome()
	out.TTL, out.Rev = l.TTL, a.Rev
	return out
}

// Vouched tells that the supervisor of the agent proves its life while it works on a task.
func (v *View) Vouched(a *noun.Agent) bool { return a.Managed && v.ProofOf(a) == noun.ProofProcess }

// ProofOf tells who proves the life of an agent that is started by its host. A life goes on as it began, whatever its
// role says since: its supervisor was told when it was to start it, and does not hear of that.
func (v *View) ProofOf(a *noun.Agent) noun.Proof {
	switch {
	case !v.retries():
		return v.RoleTable.Get(a.Role).Spec.Proof
	case v.LeaseTable.Get(a.ID).Own:
		return noun.ProofAgent
	}
	return noun.ProofProcess
}

// keepProofs notes how the lives that there are began, as far as that is known, when the level begins that keeps it.
func (s *State) keepProofs() {
	for _, a := range s.AgentTable.From(0) {
		if s.RoleTable.Get(a.Role).Spec.Proof == noun.ProofAgent {
			s.LeaseTable.Mut(a.ID).Own = true
		}
	}
}

func (s *State) joinByHand(c *Join) noun.Outcome {
	a, no := s.freeSlot(c.Agent)
	if a == nil {
		return no
	}
	if no := s.Afford(noun.ForAgents, a.Room, noun.CostJoin, 0); no.Code != noun.OK {
		return no
	}
	was := ShadowOf(a)
	a.Managed, a.Proc, a.Host = false, noun.ProcNone, 0
	s.newLife(a, s.NextInc(a))
	a.TokenHash = string(c.TokenHash)
	if out := s.enterFrom(a, was); out.Code != noun.OK {
		return out
	}
	out := a.Outcome()
	out.TTL, out.Rev = s.LeaseTable.Get(a.ID).TTL, a.Rev
	return out
}

// enterFrom is enter for an agent that was changed since the shadow was taken.
func (s *State) enterFrom(a *noun.Agent, was shadow) noun.Outcome {
	s.Settle(a, was)
	return s.enter(a)
}

// freeSlot finds the slot of a start by hand: the one named, or with "role.*" the
// first that nobody holds.
func (s *State) freeSlot(name string) (*noun.Agent, noun.Outcome) {
	if id, ok := s.agentByName[name]; ok {
		a := s.AgentTable.Mut(id)
		if no := s.slotTaken(a); no.Code != noun.OK {
			return nil, no
		}
		return a, noun.Outcome{}
	}
	room, role, any := noun.SplitAny(name)
	r := s.RoleByName(room, role)
	if r == nil || !any {
		return nil, s.NoAgent(name)
	}
	if id, ok := s.roleIndex(r.ID).free.first(); ok {
		return s.AgentTable.Mut(id), noun.Outcome{}
	}
	if len(r.Agents) == 0 {
		return nil, Refuse(noun.Conflict, "role %s/%s has no agent; apply the room with replicas", room, role)
	}
	return nil, s.slotTaken(s.AgentTable.Get(r.Agents[len(r.Agents)-1]))
}

// free tells whether a start by hand may take the slot.
func (v *View) free(a *noun.Agent) bool {
	return a.Part == noun.PartDisconnected && a.Order == noun.NoOrder && !a.Proc.Fenced() &&
		v.LeaseTable.Get(a.ID).Fence == 0 && a.Proc != noun.ProcUnproven && !v.StopWish(a)
}

func (s *State) slotTaken(a *noun.Agent) noun.Outcome {
	switch {
	case s.StopWish(a):
		return Refuse(noun.Stopped, "%s is stopped; `vigil agent start %s` allows it again", a.Name, a.Name)
	case a.Part != noun.PartDisconnected:
		return Refuse(noun.Conflict, "%s is taken by incarnation %s, which is %s", a.Name, a.Inc, a.Part)
	case a.Order != noun.NoOrder || a.Proc.Fenced() || s.LeaseTable.Get(a.ID).Fence != 0:
		return Refuse(noun.Conflict,
			"%s is taken: host %s starts or runs incarnation %s; stop it with `vigil agent stop %s`",
			a.Name, s.hostName(a.Host), a.Inc, a.Name)
	case a.Proc == noun.ProcUnproven:
		return Refuse(noun.Conflict, "%s is taken: %s", a.Name, s.unprovenText(a))
	}
	return noun.Outcome{}
}

// Leave makes it DISCONNECTED at once and recovers what it held (law L5). Its process may leave as it dies of the
// task, so that with a task in hand counts like a life that is lost with its host, unless it was told to stop. One
// that is over a limit, and leaves since it is ended for that, is charged as if it had not left.
type Leave struct {
	Speaker
	Reason string
}

func (c Leave) Apply(s *State) noun.Outcome {
	a, no := s.speaker(&c.Speaker)
	if a == nil {
		return no
	}
	out := a.Outcome()
	if a.Part == noun.PartDisconnected {
		return out
	}
	why := c.Reason
	if why == "" {
		why = "left"
	}
	s.Event("agent.left", About{Agent: a, Task: a.Task}, noun.Clip(why, noun.MaxReason))
	e := &ending{why: "its holder left"}
	switch {
	case a.Overdue && s.retries():
		e.why += ", as it was ended: " + a.OrderReason // whoever reads the log sees that it counts
		if e.charge, e.trial = true, s.tried(a); e.trial {
			s.noteTrial(a)
		}
		e.spared = !e.trial && s.acquit(a)
	case !told(a) && !s.StopWish(a):
		s.noteLost(a)
	}
	s.disconnect(a.ID, e)
	return out
}

// Claim takes the named task, or with 0 the first PENDING one of its role. An
// incarnation that already holds a task gets the same one again.
type Claim struct {
	Speaker
	Task  noun.TaskID
	Start bool // what is taken counts as started, as by StartTask
}

func (c Claim) Apply(s *State) noun.Outcome {
	a, no := s.leased(&c.Speaker)
	if a == nil {
		return no
	}
	if a.Task != 0 { // a lost answer, or an agent that forgot what it holds
		t := s.TaskTable.Mut(a.Task)
		if c.Task != 0 && c.Task != a.Task {
			return Refuse(noun.Conflict, "%s holds task %d (attempt %d): complete, fail or hand it off first",
				a.Name, t.ID, t.Attempt)
		}
		if c.Start {
			s.start(a, t)
		}
		return s.claimed(a, t)
	}
	if code := s.Paused(a); code != "" { // law L9: what is paused takes nothing new
		if c.Task == 0 {
			return noun.Outcome{Code: noun.NoTask, Detail: a.Name + " is " + s.PausedText(a, code)}
		}
		return Refuse(noun.Stopped, "%s is %s", a.Name, s.PausedText(a, code))
	}
	t, no := s.claimable(a, c.Task)
	if t == nil {
		return no
	}
	switch {
	case a.Order == noun.StopOrder:
		return Refuse(noun.Stopped, "%s is being stopped: %s", a.Name, a.OrderReason)
	// by hand, or its turn comes yet; what is managed has a stop order
	case a.Retired || s.RoleTable.Get(a.Role).Retired:
		return Refuse(noun.Stopped, "%s is no longer declared: its role has fewer replicas", a.Name)
	}
	was := ShadowOf(a)
	t.Pass(a.ID, a.Inc)
	if t.Attempt++; t.Attempt > 1 {
		s.Tally.Retried++
	}
	t.Note = ""
	s.planAttempt(t)
	s.Move(t, noun.TaskAcknowledged)
	a.Task, a.Part, a.Since, a.TaskSince = t.ID, noun.PartActive, s.Meta.Clock, s.Meta.Clock
	a.TaskKnown()
	s.grantLease(a).Vouch = s.Vouched(a)
	s.Settle(a, was)
	s.Event("task.claimed", About{Agent: a, Task: t.ID, attempt: t.Attempt}, "")
	s.Promote(t.Role)
	s.touchTask(t)
	if c.Start {
		s.start(a, t)
	}
	return s.claimed(a, t)
}

// claimable finds the task that a claim may take.
func (s *State) claimable(a *noun.Agent, id noun.TaskID) (*noun.Task, noun.Outcome) {
	if id == 0 {
		first, ok := s.roleIndex(a.Role).first()
		if !ok {
			return nil, noun.Outcome{Code: noun.NoTask, Detail: "no task is waiting for this role"}
		}
		return s.TaskTable.Mut(first), noun.Outcome{}
	}
	t := s.TaskTable.Mut(id)
	switch {
	case t == nil:
		return nil, Refuse(noun.NotFound, "%s", noun.AbsentTask(id))
	case t.Role != a.Role:
		return nil, Refuse(noun.Conflict, "task %d is for role %s, %s has another", id, s.RoleName(t.Role), a.Name)
	case t.State != noun.TaskPending:
		return nil, noun.Outcome{Code: noun.Conflict, Rev: t.Rev,
			Detail: fmt.Sprintf("task %d is %s%s", id, t.State, s.heldBy(t))}
	}
	return t, noun.Outcome{}
}

func (v *View) heldBy(t *noun.Task) string {
	if !t.State.Held() {
		return ""
	}
	name := "a removed agent"
	if a := v.AgentTable.Get(t.Holder); a != nil {
		name = a.Name
	}
	return fmt.Sprintf(", held by %s (incarnation %s, attempt %d)", name, t.HolderInc, t.Attempt)
}

func (s *State) claimed(a *noun.Agent, t *noun.Task) noun.Outcome {
	out := a.Outcome()
	out.Task, out.Attempt, out.Rev, out.TTL = t.ID, t.Attempt, t.Rev, s.LeaseTable.Get(a.ID).TTL
	return out
}
