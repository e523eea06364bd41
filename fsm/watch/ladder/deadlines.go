package ladder

import (
	"vigil/fsm/due"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// Kinds of deadlines of the ladder.
var (
	kindRung     = &due.Kind{Name: "next rung", Then: "the leader's next look takes the next rung of the ladder"}
	kindCooldown = &due.Kind{Name: "cool-down", Then: "the leader's next look begins with the first rung of the ladder"}
	kindStalled  = &due.Kind{Name: "progress awaited", Then: "it counts as stalled, and the ladder begins"}
	kindDeaf     = &due.Kind{Name: "claim awaited", Then: "it counts as deaf to its tasks, and the ladder begins"}
)

// rungRow is the row of the rung that follows in an episode, or of the first one of the next
// episode. Last is the last rung that was taken, in whichever episode; nil: none.
func (v *View) rungRow(a *noun.Agent, c *Climb, last *noun.Ladder) due.Row {
	of, set := due.OfAgent(a.ID), &v.Meta.Settings.Ladder
	switch {
	case c.Rung == noun.NoRung && last == nil:
		return due.Row{Kind: kindRung, Of: of, From: v.Meta.Clock}
	case c.Rung == noun.NoRung:
		return due.Row{Kind: kindCooldown, Of: of, From: last.At, Span: set.Cooldown}
	}
	return due.Row{Kind: kindRung, Of: of, From: c.At, Span: set.Deadline(c.Rung), Absent: v.Absent(a, c.At)}
}

// agentRows adds what the ladder waits for with an agent.
func (v *View) agentRows(a *noun.Agent, l *due.List) {
	c := v.Climb(a.ID)
	switch {
	case c.Next != noun.NoRung:
		l.Add(v.rungRow(a, &c, a.Notes().Ladder))
	case c.Why == "" && v.spared(a, &c.Ladder) == "":
		l.Add(v.silenceRow(a))
	}
}

// silenceRow is the row after which an agent that goes on as it is counts as stuck: silent with
// its task, or deaf to one that waits. It is for people; Judge decides.
func (v *View) silenceRow(a *noun.Agent) (r due.Row) {
	spec := &v.RoleTable.Get(a.Role).Spec
	if t := v.TaskTable.Get(a.Task); t != nil {
		if t.State != noun.TaskInProgress {
			return r
		}
		r = v.Silence(a, max(t.ChangedAt, t.Progress, a.Notes().MailAt))
		r.Kind, r.Of, r.Span = kindStalled, due.OfAgent(a.ID), max(spec.ProgressLimit, judge.StalledAfter)
		r.Put = due.Hold{Until: t.Planned().Due, Why: "its task is expected to be done later"}
		return r
	}
	if t := v.TaskTable.Get(v.FirstPending(a.Role)); t != nil && a.Part != noun.PartDisconnected &&
		a.Order != noun.StopOrder {
		r = v.Silence(a, max(t.ChangedAt, a.Since, a.TaskSince))
		r.Kind, r.Of, r.Span = kindDeaf, due.OfAgent(a.ID), spec.PendingLimit
	}
	return r
}
