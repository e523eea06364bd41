package escalation

import (
	"fmt"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// What becomes of escalations when what they are about is gone, and when too many are open. Both came
// with a feature level; before it, what comes on top of the limit opens nothing.

// maxGiveWay is how many open escalations are looked at for one that is over.
const maxGiveWay = 64

// looksAtOnce is how many of these looks weigh as much as an event.
const looksAtOnce = 8

// ofAgents are the kinds whose subject is an agent and that no watchdog closes when it goes.
var ofAgents = [...]noun.EscalationKind{noun.EscStuckProcess, noun.EscBreaker, noun.EscBrokenStart,
	noun.EscMailUnanswered, noun.EscAgentStuck, noun.EscPrompt, noun.EscNeedsInput,
	noun.EscOverseerDown, noun.EscUnproven}

// openEscalation orders those that are not closed: the least urgent first, then the oldest.
type openEscalation struct {
	rank int
	id   noun.EscalationID
}

func lessOpen(a, b openEscalation) bool {
	if a.rank != b.rank {
		return a.rank > b.rank
	}
	return a.id < b.id
}

func placeOf(e *noun.Escalation) openEscalation { return openEscalation{e.Priority.Rank(), e.ID} }

func (s *State) givesWay() bool { return s.Meta.Level >= core.LevelRetry }

// fits tells whether one more escalation of this priority may be open. At the limit one gives way
// that is not more urgent and is over, else the oldest of the least urgent ones below it: so what is
// urgent gets through, whatever nobody has closed. What is lost by that is counted.
func (s *State) fits(p noun.MailPriority) bool {
	if s.opened < noun.MaxOpenEscalations {
		return true
	}
	if !s.givesWay() {
		s.Meta.Escalations.Dropped++
		return false
	}
	var over, least noun.EscalationID
	looks := 0
	s.open.Scan(func(o openEscalation) bool {
		if o.rank < p.Rank() || looks == maxGiveWay {
			return false
		}
		if looks++; least == 0 && o.rank > p.Rank() {
			least = o.id
		}
		if !s.Lasts(s.EscalationTable.Get(o.id)) {
			over = o.id
		}
		return over == 0
	})
	s.Weigh(looks / looksAtOnce)
	if over != 0 {
		s.close(s.EscalationTable.Mut(over), noun.LaddersBy, isOver)
		return true
	}
	s.Meta.Escalations.Dropped++
	if least == 0 {
		return false
	}
	s.close(s.EscalationTable.Mut(least), noun.LaddersBy,
		fmt.Sprintf("%d were open, and it gave way to a more urgent one", noun.MaxOpenEscalations))
	return true
}

// gone tells that the agent, task or room that an escalation is about is no more.
func (v *View) gone(e *noun.Escalation) bool {
	switch e.Kind {
	case noun.EscTaskQuarantined:
		return v.TaskTable.Get(e.Task) == nil
	case noun.EscRoomCanceled, noun.EscUntaken:
		return v.Room(e.Subject) == nil
	}
	for _, kind := range ofAgents {
		if e.Kind == kind {
			return v.AgentByName(e.Subject) == nil
		}
	}
	return false
}

// closeGone closes what is about nothing any more, when the level begins that does so.
func (s *State) closeGone(uint32) {
	if !s.givesWay() {
		return
	}
	var list []noun.EscalationID
	s.open.Scan(func(o openEscalation) bool {
		if s.gone(s.EscalationTable.Get(o.id)) {
			list = append(list, o.id)
		}
		return true
	})
	for _, id := range list {
		s.close(s.EscalationTable.Mut(id), noun.LaddersBy, isOver)
	}
}

// agentGoes closes what is about an agent that is removed.
func (s *State) agentGoes(a *noun.Agent) {
	for _, kind := range ofAgents {
		s.subjectGoes(kind, a.Name)
	}
}

// taskGoes closes what is about a task that is removed.
func (s *State) taskGoes(t *noun.Task) {
	if s.opened > 0 {
		s.subjectGoes(noun.EscTaskQuarantined, noun.TaskSubject(t.ID))
		if t.State == noun.TaskFailed {
			s.failedLess(t)
		}
	}
}

// roleGoes closes what is about failed tasks of a role that is no longer declared: nobody can retry them.
func (s *State) roleGoes(r *noun.Role) { s.subjectGoes(noun.EscTaskFailed, s.RoleName(r.ID)) }

// roomGoes closes what is about a room that is removed; who serves it closes the rest.
func (s *State) roomGoes(id noun.RoomID) {
	s.subjectGoes(noun.EscRoomCanceled, s.RoomTable.Get(id).Name)
}

func (s *State) subjectGoes(kind noun.EscalationKind, subject string) {
	if s.opened > 0 && s.givesWay() {
		s.over(noun.Escalation{Kind: kind, Subject: subject})
	}
}
