package chain

import (
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Kinds of deadlines of overseers. Their names are the reasons of looks.
var (
	kindTurn   = &due.Kind{Name: "its turn", Then: thenLook}
	kindEnded  = &due.Kind{Name: "its process has ended", Then: thenLook}
	kindMail   = &due.Kind{Name: "mail waits for it and its patrol is stale", Then: thenLook}
	kindStale  = &due.Kind{Name: "its patrol is very stale", Then: thenLook}
	kindTriage = &due.Kind{Name: "answer of triage", Then: "the look ends without it, and the mechanical rule decides"}
)

const thenLook = "vigil looks at the overseer"

// lookRow is the row for which an overseer must be looked at next: its turn, or an event since the
// last look that comes before. While a look is open it is the answer that must be there.
func (v *View) lookRow(a *noun.Agent, c *noun.Chain) due.Row {
	set, of := &v.Meta.Settings.Chain, due.OfAgent(a.ID)
	if c.Task != 0 {
		return due.Row{Kind: kindTriage, Of: of, From: c.LookAt, Span: set.TriageLimit}
	}
	r := v.turnRow(a, c)
	last := r.From
	sooner := func(k *due.Kind, x due.Row) {
		if x.Kind, x.Of = k, of; x.At() > last {
			r = due.Sooner(r, x)
		}
	}
	if !a.Lives() {
		if x := a.LastExit; x != nil && x.Inc == a.Inc && x.Kind != noun.ExitOrdered && a.Proc != noun.ProcOrdered {
			sooner(kindEnded, due.Row{From: x.At})
		}
		return r
	}
	f, patrol := v.OverseerFacts(a), v.Unpatrolled(a)
	if f.Mail > 0 {
		stale := patrol
		stale.Span = f.Fresh
		_, oldest := v.ChainMail(a)
		stale.Put = due.Hold{Until: oldest, Why: "no mail waited before"}
		sooner(kindMail, stale)
	}
	patrol.Span = f.Stale + 1
	sooner(kindStale, patrol)
	return r
}

// turnRow is the row of an overseer's turn, when nothing happens before.
func (v *View) turnRow(a *noun.Agent, c *noun.Chain) due.Row {
	return due.Row{Kind: kindTurn, Of: due.OfAgent(a.ID), From: max(c.Since, c.LookAt, c.DecidedAt),
		Span: v.Meta.Settings.Chain.Interval}
}

// agentRows adds when an overseer is looked at next.
func (v *View) agentRows(a *noun.Agent, l *due.List) {
	if _, off := v.NextLook(a); off == "" {
		l.Add(v.lookRow(a, a.Notes().Chain))
	}
}
