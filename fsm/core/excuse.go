package core

import (
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Why clocks stand.
const (
	whyDeclared = "what it has declared"
	whyScreen   = "the prompt on its terminal"
	whyTyped    = "a human who types at its terminal"
	whyTools    = "its uses of tools"
	whyPrints   = "new text on its terminal"
	whyUnheard  = "its host is not heard"
	whyRestored = "a backup was restored"
	whyComeBack = "it was looked at, and something may come back with it"
)

// excuse is until when nobody expects anything of an agent.
func excuse(a *noun.Agent) due.Hold {
	h := screenExcuse(a)
	if d := a.Declared; d != nil && d.Excused >= h.Until {
		h = due.Hold{Until: d.Excused, Why: whyDeclared}
	}
	return h
}

// screenExcuse is the part of excuse that is not the agent's own word.
func screenExcuse(a *noun.Agent) due.Hold {
	h := due.Hold{Until: a.ScreenExcuse(), Why: whyScreen}
	if at := a.TypedUntil(); at != 0 && at == h.Until {
		h.Why = whyTyped
	}
	return h
}

// outsideMost is for how long a life that has left its room may show signs of work before its start limit
// runs: as long as one may declare by default. What flows over a terminal for ever is no work.
const outsideMost = 4 * time.Hour

// outsideExcuse is until when nobody expects of a life that it joins its room: what it declares counts and,
// once it has been there, that it works. A human may have given it something to do that is no task.
func (v *View) outsideExcuse(a *noun.Agent) due.Hold {
	if v.Level() < LevelRetry || a.TaskTaken() { // what it does may be for a task that it has no more
		return screenExcuse(a)
	}
	h := excuse(a)
	l, from := v.LeaseTable.Get(a.ID), a.Since
	switch {
	case l.Beat == 0: // it never had a lease
		return h
	case !a.Adopted(): // that its host has brought it back since it left begins nothing anew
		from = min(from, l.Beat.Add(time.Duration(l.TTL)))
	}
	most := from.Add(outsideMost)
	if u := a.Notes().Used; u != nil && u.Inc == a.Inc && min(u.Tool, most) > h.Until {
		h = due.Hold{Until: min(u.Tool, most), Why: whyTools}
	}
	switch sc := a.Screen(); {
	case a.Prints() && most > h.Until:
		h = due.Hold{Until: most, Why: whyPrints}
	case sc != nil && min(sc.PrintedUntil(), most) > h.Until: // it has printed until then
		h = due.Hold{Until: min(sc.PrintedUntil(), most), Why: whyPrints}
	}
	return h
}
