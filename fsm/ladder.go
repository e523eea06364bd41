package fsm

import (
	"fmt"
	"iter"

	"vigil/fsm/noun"
)

// The ladder for a stuck agent: one whose process lives and that does not get on, which is
// what the verdicts stalled, unresponsive and deaf say. Its rungs are a nudge, an inquiry
// that wakes it, an interrupt, a restart, and at last a human. The leader's duty proposes a
// rung (StepLadder), and everything is decided again here, inside the log record, so a plan
// that is late, made twice or made by two leaders changes nothing.
//
// Each rung has a deadline, which passes alike whether the rung could be used or not. A word
// of the agent after a rung ends the episode (see lifesign); the next one begins with the
// first rung, and not before the cool-down. Nothing is restarted on one signal: the verdict
// says one thing, and the nudge and the inquiry without an answer say another.

// StepLadder takes the next rung with a life that is stuck. Seen is when the last rung was
// taken that the planner knew of, 0 for none.
type StepLadder struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	Rung  noun.Rung
	Seen  noun.Time
}

// NoteRung says that a rung could not be used: nothing was typed, and why. The ladder goes
// on in its own time.
type NoteRung struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Rung   noun.Rung
	Reason string // fixed words of vigil or tmux, nothing of a task or a mail
}

// Climb is where an agent stands on the ladder.
type Climb struct {
	noun.Ladder           // of the present episode; zero: none
	Next        noun.Rung // NoRung: none follows
	Due         noun.Time // of Next, in cluster time
	Seen        noun.Time // for StepLadder
	Why         string
}

// Climb tells which rung is next for an agent, and when; Why says why none follows, or is
// empty for an agent that is not stuck.
func (v *View) Climb(id noun.AgentID) Climb {
	a := v.Agent(id)
	if a == nil {
		return Climb{}
	}
	g := v.Signals(id, true)
	l, c := a.Notes().Ladder, Climb{}
	if l != nil {
		if c.Seen = l.At; l.Inc == a.Inc && v.lifesign(a) < l.At {
			c.Ladder = *l
		}
	}
	switch g.kind() {
	case AgentStalled, AgentUnresponsive, AgentDeaf:
	default:
		c.Ladder = noun.Ladder{}
		return c
	}
	if c.Why = v.spared(a, &c.Ladder); c.Why != "" {
		return c
	}
	set := &v.meta.Settings.Ladder
	switch c.Next = v.nextRung(a, &g, &c.Ladder); {
	case c.Next == noun.NoRung:
		c.Why = "a human was told; nothing follows until it recovers"
	case c.Next == noun.RungNudge && l == nil:
		c.Due = v.meta.Clock
	case c.Next == noun.RungNudge:
		c.Due = l.At.Add(set.Cooldown)
	default:
		c.Due = c.At.Add(set.Deadline(c.Rung) + v.absent(a, c.At))
	}
	return c
}

// spared tells why the ladder leaves a stuck agent alone; empty: it does not.
func (v *View) spared(a *noun.Agent, l *noun.Ladder) string {
	switch {
	case !v.meta.Settings.Ladder.Enabled:
		return "the ladder is switched off (setting ladder_enabled)"
	case v.roles.Get(a.Role).Spec.Ladder == noun.LadderOff:
		return "the ladder is switched off for its role"
	case v.stopWish(a):
		return "it is not meant to run"
	case v.paused(a) != "":
		return "it is " + v.pausedText(a, v.paused(a))
	case a.Order == noun.StopOrder && l.Rung < noun.RungRestart:
		return "it is being stopped: " + a.OrderReason
	case v.meta.HoldUntil > v.meta.Clock:
		return "hosts report after a restore"
	case v.meta.Brake.Set != 0:
		return "the brake is set: " + v.meta.Brake.Why
	}
	return ""
}

// nextRung is the rung that follows in the episode.
func (v *View) nextRung(a *noun.Agent, g *Signals, l *noun.Ladder) noun.Rung {
	switch l.Rung {
	case noun.NoRung:
		return noun.RungNudge
	case noun.RungNudge:
		return noun.RungWake
	case noun.RungWake, noun.RungInterrupt:
		if v.unrestartable(a, g) != "" {
			return noun.RungEscalate
		}
		return l.Rung + 1
	case noun.RungRestart:
		return noun.RungEscalate
	}
	return noun.NoRung
}

// unrestartable tells why the ladder neither interrupts nor restarts an agent but asks a
// human; empty: it does. Who reports its health in time is not dead, whatever sends the
// reports, and a second proof that it is stuck is missing.
func (v *View) unrestartable(a *noun.Agent, g *Signals) string {
	spec := &v.roles.Get(a.Role).Spec
	switch l := a.Notes().Ladder; {
	case spec.Ladder == noun.LadderEscalate:
		return "its role says so"
	case spec.Ladder == noun.LadderCareful && !v.spoke(a):
		return "it has said nothing since it began, so nobody can tell that it works no more"
	case g.HealthEvery > 0 && g.Declared != nil && !g.unreported():
		return "it reports its health in time"
	case spec.Ladder == noun.LadderCareful && v.beatsItself(a, g):
		return "its own beats go on, so it is not dead"
	case spec.Ladder == noun.LadderCareful && g.flows():
		return "new text comes on its terminal, so perhaps it works"
	case a.Proc.Fenced() && spec.Runner == "":
		return "its role names no runner to start it again"
	case !a.Proc.Fenced() && a.Task == 0:
		return "it was started by hand and holds no task"
	case l != nil && l.Restarts >= noun.MaxLadderRestarts:
		return fmt.Sprintf("%d restarts in a row did not help", l.Restarts)
	}
	return ""
}

// spoke tells that the agent has shown progress with its task, or has declared something or
// used mail in this life: then its silence says something. An agent that holds no task loses
// none.
func (v *View) spoke(a *noun.Agent) bool {
	t := v.tasks.Get(a.Task)
	return t == nil || t.Progress > t.ChangedAt || a.Declared != nil || a.Notes().MailAt != 0 || a.Patrols() > 0
}

// beatsItself tells that the agent works on a task and renews its lease by itself, not its
// supervisor for it: its beats have not stopped, so nothing says that it has failed (seed
// 002, 1.5.3). Missing reports say so: whatever sends the beats may be something beside it.
func (v *View) beatsItself(a *noun.Agent, g *Signals) bool {
	own := !a.Managed || v.roles.Get(a.Role).Spec.Proof == noun.ProofAgent
	return own && g.Task != 0 && g.Part == noun.PartActive && g.leased() && !g.unreported()
}

// lifesign is the last word of an agent that ends an episode: a new life, a task taken,
// started, ended or in progress, mail sent or acknowledged, a declaration that says
// something new or excuses a silence. A health report that repeats the last one is none,
// since what sends it need not be what works (incident I41).
func (v *View) lifesign(a *noun.Agent) noun.Time {
	at := max(a.StartedAt, a.Since, a.Notes().MailAt)
	if d := a.Declared; d != nil {
		at = max(at, d.Since, min(d.Excused, v.meta.Clock))
	}
	at = max(at, min(a.ScreenExcuse(), v.meta.Clock))
	if a.Patrols() > 0 {
		at = max(at, a.Notes().Chain.PatrolAt)
	}
	if t := v.tasks.Get(a.Task); t != nil {
		at = max(at, t.ChangedAt, t.Progress)
	}
	return at
}

// gotOn tells that the agent has got on with work since a rung was taken.
func (v *View) gotOn(a *noun.Agent, l *noun.Ladder) bool {
	if t := v.tasks.Get(a.Task); t != nil && t.Progress >= l.At && t.Progress > t.ChangedAt { // the start is none
		return true
	}
	if a.Patrols() > 0 && a.Notes().Chain.PatrolAt >= l.At {
		return true
	}
	return a.Inc != l.Inc && a.Done > 0 || a.Done > l.Done
}

// Apply takes a rung.
func (c StepLadder) Apply(s *State) noun.Outcome {
	a := s.agents.Mut(c.Agent)
	switch {
	case a == nil:
		return refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc:
		return refuse(noun.Superseded, "incarnation %s of %s is not the newest", c.Inc, a.Name)
	}
	at := s.Climb(a.ID)
	switch {
	case at.Why != "":
		return refuse(noun.Conflict, "%s takes no rung: %s", a.Name, at.Why)
	case at.Next == noun.NoRung:
		return refuse(noun.Conflict, "%s is not stuck", a.Name)
	case at.Seen != c.Seen || at.Next != c.Rung:
		return refuse(noun.Conflict, "the next rung of %s is %s, not %s", a.Name, at.Next, c.Rung)
	case at.Due > s.meta.Clock:
		return refuse(noun.Conflict, "%s of %s is not due yet", at.Next, a.Name)
	}
	if !s.takeRung() {
		return refuse(noun.Conflict, "%d rungs were taken within %s, more are not allowed (setting ladder_per_pass)",
			s.meta.Ladder.In, s.meta.Settings.Ladder.Interval)
	}
	v := s.Verdict(a.ID, true)
	was := shadowOf(a)
	next := at.Ladder
	next.Inc, next.Rung, next.At, next.Done = a.Inc, c.Rung, s.meta.Clock, a.Done
	next.Steps++
	s.rung(a, &next, &v)
	a.Note(func(n *noun.Notes) { n.Ladder = &next })
	s.settle(a, was)
	return a.Outcome()
}

// takeRung holds the cluster to its rungs within one look (law L11).
func (s *State) takeRung() bool {
	w := &s.meta.Ladder
	if w.In == 0 || s.meta.Clock.Sub(w.At) >= s.meta.Settings.Ladder.Interval {
		w.At, w.In = s.meta.Clock, 0
	}
	if w.In >= s.meta.Settings.Ladder.PerPass {
		return false
	}
	w.In++
	return true
}

// MayBeStuck yields, by number from behind after on, the agents that hold a task. What it
// costs does not depend on how many others there are.
func (v *View) MayBeStuck(after noun.AgentID) func(yield func(noun.AgentID) bool) {
	return func(yield func(noun.AgentID) bool) {
		if v.atWork.BTreeG != nil {
			v.atWork.Ascend(after+1, yield)
		}
	}
}

// DeafPlace is a place in the order of MayBeDeaf. The zero value is before all.
type DeafPlace struct {
	role noun.RoleID
	seen int // agents of the role up to here
}

// MayBeDeaf yields, in a fixed order from behind after on, the agents that are in their room
// and hold no task while one has waited for them for longer than the pending limit of their
// role. Who is paused may not take it, and is left out. It visits only roles with claimable
// tasks.
func (v *View) MayBeDeaf(after DeafPlace) iter.Seq2[DeafPlace, noun.AgentID] {
	return func(yield func(DeafPlace, noun.AgentID) bool) {
		v.offered.Ascend(after.role, func(id noun.RoleID) bool {
			r, first := v.roles.Get(id), v.tasks.Get(v.FirstPending(id))
			if r == nil || first == nil || v.meta.Clock.Sub(first.ChangedAt) <= r.Spec.PendingLimit || v.rolePaused(r) != "" {
				return true
			}
			at := DeafPlace{role: id}
			if id == after.role {
				at.seen = min(after.seen, len(r.Agents))
			}
			for _, id := range r.Agents[at.seen:] {
				at.seen++
				a := v.agents.Get(id)
				if a != nil && a.Part != noun.PartDisconnected && a.Task == 0 && !a.Paused && !yield(at, id) {
					return false
				}
			}
			return true
		})
	}
}
