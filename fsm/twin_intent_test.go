package fsm

import (
	"math"
	"time"

	"vigil/fsm/noun"
)

// What the twin makes of intents, and of ends and limits; see twin_test.go.

func (w *twin) setAgent(c SetAgent) noun.Code {
	a, end, ok := w.agents[c.Agent], w.endOf(c.For), w.mayLast(c.For, c.Stop)
	if !ok {
		return noun.Invalid
	}
	if a == nil {
		return noun.NotFound
	}
	a.stopped, a.stopEnd = c.Stop, end
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
	end := w.endOf(c.For)
	switch {
	case !w.mayLast(c.For, c.Pause):
		return noun.Invalid
	case c.Scope == "":
		w.pausedAll, w.allEnd = c.Pause, end
	case c.Scope == "r":
		w.pausedRoom, w.roomEnd = c.Pause, end
	case w.agents[c.Scope] == nil:
		return noun.NotFound
	default:
		w.agents[c.Scope].paused, w.agents[c.Scope].pauseEnd = c.Pause, end
	}
	for _, a := range w.agents {
		if a.proc == noun.ProcOrdered && w.isPaused(a) {
			a.proc, a.host = noun.ProcNone, 0
		}
	}
	return noun.OK
}

// mayLast tells that something may be said to last so long; set: it is something that lasts at all.
func (w *twin) mayLast(d time.Duration, set bool) bool {
	return d == 0 || set && d >= time.Second && d <= 365*24*time.Hour
}

// endOf is when what lasts so long from now ends; 0: never.
func (w *twin) endOf(d time.Duration) noun.Time {
	if d == 0 {
		return 0
	}
	return w.now.Add(d)
}

// ends are all ends that are set, with how to end what they are of.
func (w *twin) ends() map[*noun.Time]func() {
	m := map[*noun.Time]func(){}
	add := func(at *noun.Time, end func()) {
		if *at != 0 {
			m[at] = func() { end(); *at = 0 }
		}
	}
	add(&w.allEnd, func() { w.pausedAll = false })
	add(&w.roomEnd, func() { w.pausedRoom = false })
	for _, a := range w.agents {
		add(&a.stopEnd, func() { a.stopped = false })
		add(&a.pauseEnd, func() { a.paused = false })
	}
	for id, h := range w.hosts {
		add(&h.end, func() { delete(w.hosts, id) })
	}
	return m
}

// nextEnd is the first end; when there is none, far away.
func (w *twin) nextEnd() noun.Time {
	first := noun.Time(math.MaxInt64)
	for at := range w.ends() {
		first = min(first, *at)
	}
	return first
}

// endIntents ends what is over by now; what was due before has its effects before.
func (w *twin) endIntents() (any bool) {
	for at, end := range w.ends() {
		if *at <= w.due {
			if !any {
				w.drains()
			}
			end()
			any = true
		}
	}
	return any
}

// end is an end at this time, of the length that the state has.
func end(at noun.Time, has noun.End) noun.End {
	if at == 0 {
		return noun.End{}
	}
	return noun.End{At: at, For: has.For}
}

// sameEnds compares pauses and drains with their ends.
func (w *twin) sameEnds(t testingT, s *State, index uint64) {
	rm := s.Room("r")
	if s.Meta.Paused != w.pausedAll || s.Meta.PauseEnd.At != w.allEnd || rm.Paused != w.pausedRoom ||
		rm.PauseEnd.At != w.roomEnd {
		t.Fatalf("after entry %d: all is paused %v until %d, the room %v until %d, the twin says %v %d, %v %d",
			index, s.Meta.Paused, s.Meta.PauseEnd.At, rm.Paused, rm.PauseEnd.At, w.pausedAll, w.allEnd,
			w.pausedRoom, w.roomEnd)
	}
	for h := range s.Hosts() {
		x := w.hosts[h.ID]
		if h.Drain != x.drain || h.DrainUntil != x.until || h.DrainEnd.At != x.end {
			t.Fatalf("after entry %d: host %d is drained %v until %d, its deadline is %d, the twin says %+v", index,
				h.ID, h.Drain, h.DrainEnd.At, h.DrainUntil, x)
		}
	}
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
		w.takeBack(t, true, false, -1)
	}
}
