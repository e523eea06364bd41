package ladder

import (
	"fmt"
	"iter"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// The ladder for a stuck agent: one whose process lives and that does not get on, which is
// what the verdicts stalled, unresponsive and deaf say. Its rungs are a nudge, an inquiry
// that wakes it, an interrupt, a restart, and at last a human. The leader's duty proposes a
// rung (StepLadder), and everything is decided again here, inside the log record, so a plan
// that is late, made twice or made by two leaders changes nothing.
//
// Each rung has a deadline, which passes alike whether the rung could be used or not. A word
// of the agent after a rung ends the episode (see Lifesign); the next one begins with the
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
		if c.Seen = l.At; l.Inc == a.Inc && (v.Lifesign(a) < l.At || v.outspoken(a, l)) {
			c.Ladder = *l
		}
		if l.Held && v.Paused(a) == "" {
			c.Ladder = noun.Ladder{}
		}
	}
	switch g.Kind() {
	case judge.AgentStalled, judge.AgentUnresponsive, judge.AgentDeaf:
	default:
		c.Ladder = noun.Ladder{}
		return c
	}
	if c.Why = v.spared(a, &c.Ladder); c.Why != "" {
		return c
	}
	if c.Next = v.nextRung(a, &g, &c.Ladder); c.Next == noun.NoRung {
		c.Why = "a human was told; nothing follows until it recovers"
		return c
	}
	row := v.rungRow(a, &c, l)
	c.Due = row.At()
	return c
}

// spared tells why the ladder leaves a stuck agent alone; empty: it does not.
func (v *View) spared(a *noun.Agent, l *noun.Ladder) string {
	switch {
	case !v.Meta.Settings.Ladder.Enabled:
		return "the ladder is switched off (setting ladder_enabled)"
	case v.RoleTable.Get(a.Role).Spec.Ladder == noun.LadderOff:
		return "the ladder is switched off for its role"
	case v.StopWish(a):
		return "it is not meant to run"
	case v.Paused(a) != "" && (a.Task == 0 || v.Level() < core.LevelRetry): // with a task its life works on
		return "it is " + v.PausedText(a, v.Paused(a))
	case a.Order == noun.StopOrder && l.Rung < noun.RungRestart:
		return "it is being stopped: " + a.OrderReason
	case a.Typist() != nil:
		return core.Nobody(a.Typist().By) + " types at its terminal"
	case v.Meta.HoldUntil > v.Meta.Clock:
		return "hosts report after a restore"
	case v.Meta.Brake.Set != 0:
		return "the brake is set: " + v.Meta.Brake.Why
	}
	return ""
}

// nextRung is the rung that follows in the episode.
func (v *View) nextRung(a *noun.Agent, g *judge.Signals, l *noun.Ladder) noun.Rung {
	switch l.Rung {
	case noun.NoRung:
		if v.wordsOnly(a) >= noun.MaxLadderEpisodes-1 {
			return noun.RungEscalate
		}
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

// wordsOnly is how many episodes in a row the present life has ended with words, and done no work since: it
// may acknowledge every nudge for ever, and nobody would be told.
func (v *View) wordsOnly(a *noun.Agent) uint32 {
	l := a.Notes().Ladder
	if l == nil || l.Inc != a.Inc || v.Level() < core.LevelRetry || v.gotOn(a, l) {
		return 0
	}
	if l.Held { // no word has ended that one
		return max(l.Episodes, 1) - 1
	}
	return l.Episodes
}

// outspoken tells that a human was told of an agent that only ever says words: another one ends nothing.
func (v *View) outspoken(a *noun.Agent, l *noun.Ladder) bool {
	return l.Rung == noun.RungEscalate && l.Episodes >= noun.MaxLadderEpisodes && !v.gotOn(a, l)
}

// gotOn tells that the agent has got on since the last rung, or has taken another task, or that its terminal has
// explained its silence since: a usage limit that is shown again after each nudge is no word of the agent.
func (v *View) gotOn(a *noun.Agent, l *noun.Ladder) bool {
	return v.GotOn(a, l) || a.Task != 0 && a.TaskSince > l.At || min(a.ScreenExcuse(), v.Meta.Clock) >= l.At
}

// unrestartable tells why the ladder neither interrupts nor restarts an agent but asks a
// human; empty: it does. Who reports its health in time is not dead, whatever sends the
// reports, and a second proof that it is stuck is missing.
func (v *View) unrestartable(a *noun.Agent, g *judge.Signals) string {
	spec := &v.RoleTable.Get(a.Role).Spec
	switch l := a.Notes().Ladder; {
	case spec.Ladder == noun.LadderEscalate:
		return "its role says so"
	case v.Paused(a) != "" && v.Level() >= core.LevelRetry: // nobody would start it again (law L9)
		return "it is " + v.PausedText(a, v.Paused(a))
	case spec.Ladder == noun.LadderCareful && !v.Spoke(a):
		return "it has said nothing since it began, so nobody can tell that it works no more"
	case g.Prompt == noun.PromptUsageLimit: // its next life would stand there too, and its task be charged for it
		return "its terminal shows that its tool is out of quota"
	case g.HealthEvery > 0 && g.Declared != nil && !g.Unreported():
		return "it reports its health in time"
	case spec.Ladder == noun.LadderCareful && v.beatsItself(a, g):
		return "its own beats go on, so it is not dead"
	case spec.Ladder == noun.LadderCareful && g.Flows():
		return "new text comes on its terminal, so perhaps it works"
	case spec.Ladder == noun.LadderCareful && g.UsesTools():
		return "it has used a tool a moment ago, so perhaps it works"
	case a.Proc.Fenced() && spec.Runner == "":
		return "its role names no runner to start it again"
	case !a.Proc.Fenced() && a.Task == 0:
		return "it was started by hand and holds no task"
	case l != nil && l.Restarts >= noun.MaxLadderRestarts:
		return fmt.Sprintf("%d restarts in a row did not help", l.Restarts)
	}
	return ""
}

// beatsItself tells that the agent works on a task and renews its lease by itself, not its
// supervisor for it: its beats have not stopped, so nothing says that it has failed.
// Missing reports say so: whatever sends the beats may be something beside it.
func (v *View) beatsItself(a *noun.Agent, g *judge.Signals) bool {
	return !v.Vouched(a) && g.Task != 0 && g.Part == noun.PartActive && g.Leased() && !g.Unreported()
}

// Apply takes a rung.
func (c StepLadder) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a := s.AgentTable.Mut(c.Agent)
	switch {
	case a == nil:
		return core.Refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc:
		return core.Refuse(noun.Superseded, "incarnation %s of %s is not the newest", c.Inc, a.Name)
	}
	at := s.Climb(a.ID)
	switch {
	case at.Why != "":
		return core.Refuse(noun.Conflict, "%s takes no rung: %s", a.Name, at.Why)
	case at.Next == noun.NoRung:
		return core.Refuse(noun.Conflict, "%s is not stuck", a.Name)
	case at.Seen != c.Seen || at.Next != c.Rung:
		return core.Refuse(noun.Conflict, "the next rung of %s is %s, not %s", a.Name, at.Next, c.Rung)
	case at.Due > s.Meta.Clock:
		return core.Refuse(noun.Conflict, "%s of %s is not due yet", at.Next, a.Name)
	}
	if !s.takeRung() {
		return core.Refuse(noun.Conflict,
			"%d rungs were taken within %s, more are not allowed (setting ladder_per_pass)",
			s.Meta.Ladder.In, s.Meta.Settings.Ladder.Interval)
	}
	v := s.Verdict(a.ID, true)
	was := core.ShadowOf(a)
	next := at.Ladder
	next.Inc, next.Rung, next.At, next.Done = a.Inc, c.Rung, s.Meta.Clock, a.Done
	next.Steps++
	s.rung(a, &next, &v)
	a.Note(func(n *noun.Notes) { n.Ladder = &next })
	s.Settle(a, was)
	return a.Outcome()
}

// takeRung holds the cluster to its rungs within one look (law L11).
func (s *State) takeRung() bool {
	w := &s.Meta.Ladder
	if w.In == 0 || s.Meta.Clock.Sub(w.At) >= s.Meta.Settings.Ladder.Interval {
		w.At, w.In = s.Meta.Clock, 0
	}
	if w.In >= s.Meta.Settings.Ladder.PerPass {
		return false
	}
	w.In++
	return true
}

// MayBeStuck yields, by number from behind after on, the agents that hold a task. What it
// costs does not depend on how many others there are.
func (v *View) MayBeStuck(after noun.AgentID) func(yield func(noun.AgentID) bool) {
	return func(yield func(noun.AgentID) bool) {
		if v.AtWork.BTreeG != nil {
			v.AtWork.Ascend(after+1, yield)
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
		v.Offered.Ascend(after.role, func(id noun.RoleID) bool {
			r, first := v.RoleTable.Get(id), v.TaskTable.Get(v.FirstPending(id))
			if r == nil || first == nil || v.Meta.Clock.Sub(first.ChangedAt) <= r.Spec.PendingLimit ||
				v.RolePaused(r) != "" {
				return true
			}
			at := DeafPlace{role: id}
			if id == after.role {
				at.seen = min(after.seen, len(r.Agents))
			}
			for _, id := range r.Agents[at.seen:] {
				at.seen++
				a := v.AgentTable.Get(id)
				if a != nil && a.Part != noun.PartDisconnected && a.Task == 0 && !a.Paused && !yield(at, id) {
					return false
				}
			}
			return true
		})
	}
}

// Check tests what a single state can show of the ladder.
func (v *View) Check(c *core.Checker) {
	for _, a := range v.AgentTable.From(0) {
		l := a.Notes().Ladder
		if l == nil {
			continue
		}
		c.That(l.Rung > noun.NoRung && l.Rung <= noun.RungEscalate && l.Began <= l.At &&
			l.At <= v.Meta.Clock, "L11: the ladder of %s is at %+v", a.Name, *l)
		c.That(l.Steps > 0 && uint32(l.Rung) >= l.Steps && l.Restarts <= noun.MaxLadderRestarts,
			"L11: the ladder of %s is at %+v", a.Name, *l)
		c.That(l.Episodes <= noun.MaxLadderEpisodes, "L11: the ladder of %s is at %+v", a.Name, *l)
		c.That(l.Inc <= a.Inc, "L6: the ladder of %s is for incarnation %s, it is at %s", a.Name, l.Inc, a.Inc)
	}
}
