package ladder

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// rung changes the state as the rung l.Rung demands: mail, an order, an event. What belongs into a
// terminal the leader types after the commit.
func (s *State) rung(a *noun.Agent, l *noun.Ladder, v *judge.Verdict) {
	because, degraded := v.Because(), s.Degraded(a.ID)
	say := func(kind, text string) {
		if degraded != "" {
			text += "; " + degraded
		}
		s.Event(kind, core.About{Agent: a, Task: a.Task, Host: a.Host}, noun.Clip(text, noun.MaxReason))
	}
	switch l.Rung {
	case noun.RungNudge:
		if old := a.Notes().Ladder; old != nil {
			prev := *old // views share it
			s.withdrawMail(&prev)
			if !s.GotOn(a, old) {
				l.Restarts = old.Restarts
			}
		}
		if s.Level() >= core.LevelRetry {
			l.Episodes = s.wordsOnly(a) + 1
		}
		l.Began = s.Meta.Clock
		say("agent.nudged", "by "+noun.LaddersBy+": "+because)
		l.Nudge = s.Hooks.Write(core.Letter{To: a, From: noun.LaddersBy, Kind: "nudge", Priority: noun.MailNormal,
			Subject: nudgeSubject, Body: nudgeBody}).Mail
	case noun.RungWake:
		say("agent.woken", fmt.Sprintf("no answer to a nudge for %s; %s", s.Since(l.Began), because))
		l.Inquiry = s.Hooks.Write(core.Letter{To: a, From: noun.LaddersBy,
			Kind: "status-inquiry", Priority: noun.MailHigh, Subject: inquirySubject, Body: s.inquiryText(a)}).Mail
	case noun.RungInterrupt:
		say("agent.interrupted", "no answer to "+s.asked(l)+"; "+because)
	case noun.RungRestart:
		why := "stuck: " + because + "; no answer to " + s.asked(l)
		say("agent.restarted_stuck", why)
		s.withdrawMail(l)
		l.Restarts++
		s.blame(a)
		s.EndForLimit(a, noun.Clip(why, noun.MaxReason))
	case noun.RungEscalate:
		g := s.Signals(a.ID, true)
		text := because + "; no answer to " + s.asked(l)
		if old := a.Notes().Ladder; l.Began == 0 { // the first rung of its episode
			prev := *old // views share it
			s.withdrawMail(&prev)
			l.Began, l.Restarts, l.Episodes = old.Began, old.Restarts, old.Episodes+1
			text = fmt.Sprintf("%s; it has answered %d nudges in a row and not got on", because, old.Episodes)
		}
		l.Held = s.Level() >= core.LevelRetry && l.Steps > 1 && s.Paused(a) != ""
		switch why := s.unrestartable(a, &g); {
		case l.Steps == 1:
		case l.Restarts > 0 && a.Notes().Ladder.Rung == noun.RungRestart:
			text += "; the restart did not end it"
		case why != "":
			text += "; not restarted, since " + why
		}
		say("agent.needs_human", text+"; see `vigil agent explain "+a.Name+"`")
		s.escalateStuck(a, l, v.Kind)
	}
}

// blame counts a life that the ladder ends against the task that it holds, like a death of
// its own: a task that hangs whoever takes it must not go through the lives of a role, nor be
// FAILED at its attempt limit, which calls nobody. Where the conversation that a life goes on with may be the cause,
// its end is judged when it comes.
func (s *State) blame(a *noun.Agent) {
	if a.Proc.Fenced() && s.Unblamed(a) {
		return
	}
	if t := s.TaskTable.Mut(a.Task); t != nil && !s.Shielded(t) {
		t.Kills++
		t.Stuck = true
	}
}

// asked says what the agent has left without an answer, and for how long.
func (v *View) asked(l *noun.Ladder) string {
	text := fmt.Sprintf("a nudge and an inquiry for %s", v.Since(l.Began))
	var dumb []string
	for r := noun.RungNudge; r <= noun.RungInterrupt; r++ {
		if l.Failed&(1<<r) != 0 {
			dumb = append(dumb, r.String())
		}
	}
	if len(dumb) > 0 {
		text += " (nothing could be typed: " + strings.Join(dumb, ", ") + ")"
	}
	return text
}

// What the ladder writes to agents.
const (
	nudgeSubject = "Are you getting on?"
	nudgeBody    = "Nothing is seen of your work. Go on with your task, report progress, " +
		"or say what you wait for (declare); acknowledge this mail."
	inquirySubject = "Status inquiry"
	inquiryBody    = "You did not answer a nudge. Report progress, declare what you wait for, " +
		"or fail the task if you cannot go on. Acknowledge this mail: " +
		"without any answer you are interrupted and restarted, or a human is called."
)

// inquiryText is what an inquiry says. It names the task and the deadline.
func (v *View) inquiryText(a *noun.Agent) string {
	if a.Task == 0 {
		return inquiryBody
	}
	return fmt.Sprintf("%s It is about task %d; answer within %s. "+
		"If the task takes longer, say how long: `vigil task progress --expect 40m`.",
		inquiryBody, a.Task, v.Meta.Settings.Ladder.Wake)
}

// withdrawMail closes what an episode has asked and nobody has answered, so that no later
// life is asked about it, and no human is told that mail is overdue.
func (s *State) withdrawMail(l *noun.Ladder) {
	for _, id := range [...]noun.MailID{l.Nudge, l.Inquiry} {
		s.Hooks.Recall.Call(id)
	}
	l.Nudge, l.Inquiry = 0, 0
}

// Apply remembers that a rung reached nobody.
func (c NoteRung) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a := s.AgentTable.Mut(c.Agent)
	if a == nil {
		return core.Refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	}
	l := a.Notes().Ladder
	if l == nil || l.Inc != c.Inc || c.Rung == noun.NoRung || c.Rung > l.Rung {
		return core.Refuse(noun.Superseded, "no rung %s of incarnation %s of %s was taken", c.Rung, c.Inc, a.Name)
	}
	if bit := uint8(1) << c.Rung; l.Failed&bit == 0 {
		next := *l
		next.Failed |= bit
		a.Note(func(n *noun.Notes) { n.Ladder = &next })
		s.Event("agent.rung_failed", core.About{Agent: a, Host: a.Host},
			noun.Clip(c.Rung.String()+": "+c.Reason, noun.MaxReason))
	}
	return a.Outcome()
}

// AnswerExtends is how much longer a task is expected to take when its agent answers a
// question about it and does not say how long.
const AnswerExtends = 30 * time.Minute

// answer extends what is expected of the agent's task when the agent answers what the
// ladder has asked, after the expected completion has passed. It is called before the
// word is noted.
func (s *State) answer(a *noun.Agent) {
	l := a.Notes().Ladder
	if l == nil || l.Inc != a.Inc || s.Lifesign(a) >= l.At {
		return
	}
	if t := s.TaskTable.Get(a.Task); t == nil || t.Plan == nil || !t.Plan.Passed(s.Meta.Clock) {
		return
	}
	s.Extend(a, s.TaskTable.Mut(a.Task), s.Meta.Clock.Add(AnswerExtends))
}

// escalateStuck calls a human for an agent with which the ladder is at its end.
func (s *State) escalateStuck(a *noun.Agent, l *noun.Ladder, verdict judge.Kind) {
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscAgentStuck, Subject: a.Name, Priority: noun.MailHigh,
		Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.RoomTable.Get(a.Room).Name, Host: s.HostNameOf(a),
		Facts: []noun.KV{{Key: "verdict", Value: verdict.String()},
			{Key: "asked_for", Value: s.Since(l.Began).String()},
			{Key: "restarts", Value: strconv.FormatUint(uint64(l.Restarts), 10)}}})
}
