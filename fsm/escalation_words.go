package fsm

import (
	"vigil/fsm/noun"
)

// EscalationKindNames are the words for kinds, by number; the first is empty.
func EscalationKindNames() (names []string) {
	for _, w := range noun.EscalationKinds {
		names = append(names, w.Name)
	}
	return names
}

// Lasts tells whether what an escalation is about is still so. A human closes it in any case.
func (v *View) Lasts(e *noun.Escalation) bool {
	switch a := v.AgentByName(e.Agent); e.Kind {
	case noun.EscStuckProcess:
		return a != nil && a.Stuck() != ""
	case noun.EscBreaker:
		return a != nil && a.Breaker()
	case noun.EscBrokenStart:
		return a != nil && a.Notes().StartFault != "" && a.Notes().Faults >= noun.BrokenStarts
	case noun.EscAgentStuck:
		return a != nil && v.Climb(a.ID).Rung == noun.RungEscalate
	case noun.EscPrompt:
		return a != nil && a.Shows(noun.PromptPermission)
	case noun.EscOverseerDown:
		return a != nil && v.Overseer(a) != nil && !a.Lives() && v.chainOff(a) == ""
	case noun.EscMailUnanswered:
		if a == nil {
			return false
		}
		if box := v.mailboxes.Get(a.ID); box != nil {
			for _, id := range box.open {
				if v.mails.Get(id).Escalated {
					return true
				}
			}
		}
		return false
	case noun.EscTaskQuarantined:
		t := v.tasks.Get(e.Task)
		return t != nil && t.State == noun.TaskQuarantined
	case noun.EscMassFailure:
		return v.meta.Brake.Set != 0
	case noun.EscRoomCanceled:
		rm := v.Room(e.Room)
		return rm != nil && rm.Canceled != nil
	case noun.EscStatesDiffer:
		for i := range v.meta.Marks {
			if v.disputed(&v.meta.Marks[i]) {
				return true
			}
		}
	case noun.EscServerDiverged:
		for _, id := range v.meta.Diverged {
			if id == e.Subject {
				return true
			}
		}
	}
	return false
}
