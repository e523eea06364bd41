package escalation

import (
	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Kinds of deadlines of escalations.
var (
	kindRemind = &due.Kind{Name: "escalation reminder", Then: "it is announced again, if what it is about still lasts"}
	kindAgain  = &due.Kind{Name: "cool-down", Then: "it is announced again, if it still lasts or is urgent"}
	kindRetry  = &due.Kind{Name: "notice", Then: "its delivery is tried again"}
)

// noticeRow is the row for which a notice must be tried again, or a new one made.
func (v *View) noticeRow(e *noun.Escalation) (r due.Row) {
	if !e.Notice.Pending {
		return due.Sooner(v.againRow(e), v.remindRow(e))
	}
	for i := range e.Notice.Deliveries {
		if d := &e.Notice.Deliveries[i]; !d.Over() && d.Next > v.Meta.Clock {
			r = due.Sooner(r, due.Until(kindRetry, due.OfEscalation(e.ID), d.At, d.Next))
		}
	}
	return r
}

// againRow is the row for which an escalation is announced again that has happened again, or has come back, too
// soon after its last notice: the end of the cool-down.
func (v *View) againRow(e *noun.Escalation) due.Row {
	cooldown := v.Meta.Settings.Escalation.Cooldown
	if !v.again(e) || v.Meta.Clock.Sub(e.Notice.At) >= cooldown {
		return due.Row{}
	}
	return due.Row{Kind: kindAgain, Of: due.OfEscalation(e.ID), From: e.Notice.At, Span: cooldown}
}

// again tells that an open escalation has happened again since its last notice, and nobody was told.
func (v *View) again(e *noun.Escalation) bool {
	return v.Level() >= core.LevelRetry && e.State == noun.EscalationOpen && !e.Notice.Pending && e.Last > e.Notice.At
}

// remindRow is the row for which an escalation is announced again that nobody looks after, if it
// still lasts then: every escalation_remind from the last notice on.
func (v *View) remindRow(e *noun.Escalation) due.Row {
	every := v.Meta.Settings.Escalation.Remind
	if e.State != noun.EscalationOpen || e.Notice.Pending || every == 0 {
		return due.Row{}
	}
	past := v.Meta.Clock.Sub(e.Notice.At)
	return due.Row{Kind: kindRemind, Of: due.OfEscalation(e.ID), From: e.Notice.At, Span: every * (past/every + 1)}
}

// agentRows adds what is due of the open escalations about an agent.
func (v *View) agentRows(a *noun.Agent, l *due.List) {
	for kind := noun.EscalationKind(1); kind < noun.EscalationKindsPlus; kind++ {
		if e := v.EscalationTable.Get(v.byKey[escalationKey{kind, a.Name}]); e != nil {
			l.Add(v.noticeRow(e))
		}
	}
}
