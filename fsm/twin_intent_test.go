package fsm

import (
	"vigil/fsm/noun"
)

// What the twin makes of intents, and of ends and limits; see twin_test.go.

func (w *twin) setAgent(c SetAgent) noun.Code {
	a := w.agents[c.Agent]
	if a == nil {
		return noun.NotFound
	}
	a.stopped = c.Stop
	switch {
	case !c.Stop:
	case a.proc == noun.ProcOrdered:
		a.proc, a.host = noun.ProcNone, 0
	case a.proc.Fenced():
		a.stopping = true
	default:
		w.disconnect(a, false, false)
	}
	return noun.OK
}

func (w *twin) isPaused(a *twinAgent) bool { return a.paused || w.pausedRoom || w.pausedAll }

// setPause takes back start orders that no host has accepted.
func (w *twin) setPause(c SetPause) noun.Code {
	switch {
	case c.Scope == "":
		w.pausedAll = c.Pause
	case c.Scope == "r":
		w.pausedRoom = c.Pause
	case w.agents[c.Scope] == nil:
		return noun.NotFound
	default:
		w.agents[c.Scope].paused = c.Pause
	}
	for _, a := range w.agents {
		if a.proc == noun.ProcOrdered && w.isPaused(a) {
			a.proc, a.host = noun.ProcNone, 0
		}
	}
	return noun.OK
}

func (w *twin) exit(c ReportExit) noun.Code {
	a, no := w.onHost(c.Agent, c.Inc, c.Host)
	if no == noun.OK && a.proc == noun.ProcUnproven { // somebody has seen its end
		a.proc = noun.ProcNone
	}
	if no == noun.Superseded || no == noun.OK && !a.proc.Fenced() {
		return noun.OK
	}
	if no != noun.OK {
		return no
	}
	ordered := a.stopping && !a.overdue || c.Kind == noun.ExitOrdered && !a.overdue || c.Kind == noun.ExitUsageLimit
	failed := !ordered && (a.overdue || c.Kind == noun.ExitStartFailed || c.Kind == noun.ExitTimedOut)
	crashed := !failed && !ordered && (c.Code != 0 || a.task != 0)
	w.disconnect(a, failed || crashed, crashed)
	a.proc, a.fence, a.stopping, a.overdue, a.stuck = noun.ProcNone, 0, false, false, ""
	return noun.OK
}

// turn ends a turn that has taken too long: the life, or, started by hand, its hold.
func (w *twin) turn(a *twinAgent, first bool) {
	limit := w.roles[a.role].TurnLimit
	due := a.task != 0 && !a.stopping && limit > 0 && a.taskSince.Add(limit) <= w.due
	switch over := a.until <= w.due || a.proc.Fenced() && a.fence <= w.due || w.drainOver(a); {
	case !due || over && !first:
	case a.proc.Fenced():
		a.stopping, a.overdue = true, true
	default:
		t := w.tasks[a.task]
		w.takeFrom(t)
		w.recover(t, true, false, -1)
	}
}
