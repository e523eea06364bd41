package fsm

import (
	"testing"

	"vigil/fsm/noun"
)

// What the twin knows of hosts: drains, and the words that end lives. What servers
// hear, and so whether a host may be given up, is policy: it takes the state
// machine's word and demands that only the lives that it should are lost.

type twinHost struct {
	drain bool
	by    string
	until noun.Time
	end   noun.Time // 0: none
}

func (w *twin) hostWord(t testingT, cmd Command, got noun.Outcome) (noun.Code, bool) {
	switch c := cmd.(type) {
	case ReportViews, ReleaseBrake:
		return noun.OK, true
	case SuspectHost:
		return w.known(c.Host), true
	case ReportKept:
		return w.known(c.Host), true
	case ForgetHost:
		return w.known(c.Host), true
	case ReportPressure:
		if w.known(c.Host) == noun.OK && c.Reason != "" {
			w.withdraw(c.Host)
		}
		return w.known(c.Host), true
	case DrainHost:
		switch {
		case w.known(c.Host) != noun.OK:
		case !w.mayLast(c.For, !c.Off), c.For != 0 && c.Deadline >= c.For:
			return noun.Invalid, true
		default:
			w.drain(c)
		}
		return w.known(c.Host), true
	case ConfirmDead:
		if got.Code == noun.OK {
			w.withdraw(c.Host)
			w.lost(c.Host, true, func(*twinAgent) bool { return true })
			for _, a := range w.agents {
				if a.host == c.Host && a.proc == noun.ProcUnproven {
					a.proc = noun.ProcLost
				}
			}
		}
		return w.said(t, c.Host, got), true
	case SurrenderHost:
		if got.Code == noun.OK {
			w.lost(c.Host, false, func(a *twinAgent) bool {
				return w.roles[a.role].Policy == noun.PolicyFast && !a.confirm
			})
		}
		return w.said(t, c.Host, got), true
	}
	return noun.OK, false
}

// testingT is the part of testing.T that judges.
type testingT interface{ Fatalf(string, ...any) }

func (w *twin) known(h noun.HostID) noun.Code {
	if h == 0 || h > 2 {
		return noun.NotFound
	}
	return noun.OK
}

// said is the state machine's own word, within what is allowed.
func (w *twin) said(t testingT, h noun.HostID, got noun.Outcome) noun.Code {
	if w.known(h) != noun.OK {
		return noun.NotFound
	}
	if got.Code != noun.OK && got.Code != noun.Conflict {
		t.Fatalf("host %d was answered %+v", h, got)
	}
	return got.Code
}

func (w *twin) withdraw(h noun.HostID) {
	for _, a := range w.agents {
		if a.host == h && a.proc == noun.ProcOrdered {
			a.proc, a.host = noun.ProcNone, 0
		}
	}
}

func (w *twin) lost(h noun.HostID, proven bool, which func(*twinAgent) bool) {
	for _, name := range w.order {
		if a := w.agents[name]; a.host == h && a.proc.Fenced() && which(a) {
			w.leaves(a)
			w.disconnect(a, false, false)
			w.giveUp(a, proven)
		}
	}
}

// leaves remembers the task of a life that is given up for the silence of its host, unless it is told to end.
func (w *twin) leaves(a *twinAgent) {
	if w.retries && a.task != 0 && a.vouch && (!a.stopping || a.overdue) {
		a.left = a.task
	}
}

// retakes gives a life that is back its task, when it has still the last attempt at it.
func (w *twin) retakes(a *twinAgent) {
	x := w.tasks[a.left]
	if x == nil {
		return
	}
	a.left = 0
	if x.holder != a.name || x.inc != a.inc || x.state != noun.TaskPending && x.state != noun.TaskQueued {
		a.taken = true
		return
	}
	a.task, a.part, a.until, a.vouch = x.id, noun.PartActive, w.now+w.ttl(a), w.vouched(a)
	a.taskSince, a.taken = w.now, false
	w.move(x, noun.TaskAcknowledged)
	w.begin(x, noun.OK)
}

// giveUp ends a fence. Without a proof that the life is over, one under the policy confirm is in doubt.
func (w *twin) giveUp(a *twinAgent, proven bool) {
	a.proc, a.fence, a.stopping, a.overdue, a.stuck = noun.ProcLost, 0, false, false, ""
	if !proven && (a.confirm || w.roles[a.role].Policy == noun.PolicyConfirm) {
		a.proc, a.confirm = noun.ProcUnproven, true
	}
}

func (w *twin) drain(c DrainHost) {
	if w.hosts == nil {
		w.hosts = map[noun.HostID]twinHost{}
	}
	if c.Off {
		delete(w.hosts, c.Host)
		return
	}
	h := twinHost{drain: true, by: c.By, until: w.endOf(c.Deadline), end: w.endOf(c.For)}
	if was := w.hosts[c.Host]; was.drain && was.by != DrainBySelf && c.By == DrainBySelf {
		h.by, h.end = was.by, was.end
		if h.end != 0 && h.until >= h.end {
			h.until = was.until
		}
	}
	w.hosts[c.Host] = h
	w.withdraw(c.Host)
}

// drains stops what runs on a drained host and holds no task (law L9).
func (w *twin) drains() {
	for _, a := range w.agents {
		if w.hosts[a.host].drain && a.proc.Fenced() && (a.task == 0 || w.drainOver(a)) {
			a.stopping = true
		}
	}
}

// drainOver tells that the time of a drain is up for the agent.
func (w *twin) drainOver(a *twinAgent) bool {
	h := w.hosts[a.host]
	return h.drain && h.until != 0 && h.until <= w.due
}

func (w *twin) beats(t *testing.T, b *HostBeats, got *noun.BeatAnswer) {
	var want noun.BeatAnswer
	for beat := range UnpackBeats(b.Packed) {
		if v := w.beat(b.Host, beat); v == noun.VerdictCurrent {
			want.Renewed++
		} else {
			want.Exceptions = append(want.Exceptions, noun.BeatException{Agent: beat.Agent, Inc: beat.Inc, Verdict: v})
		}
	}
	if want.Renewed != got.Renewed || len(want.Exceptions) != len(got.Exceptions) {
		t.Fatalf("beats of host %d were answered %+v, the twin says %+v", b.Host, got, want)
	}
	for i, x := range want.Exceptions {
		if x != got.Exceptions[i] {
			t.Fatalf("beats of host %d were answered %+v, the twin says %+v", b.Host, got, want)
		}
	}
}

// beat: late words never revive; only a fence is taken up again, by its own host.
func (w *twin) beat(host noun.HostID, b Beat) noun.Verdict {
	a := w.byID(b.Agent)
	if a.inc != b.Inc {
		return noun.VerdictSuperseded
	}
	if host != 0 && a.host != host || b.Kinds&(BeatVouch|BeatFence) != 0 && a.host != host {
		return noun.VerdictSuperseded // it lives elsewhere
	}
	if b.Kinds&BeatStranger != 0 {
		if a.managed && !a.proc.Fenced() && b.Kinds&BeatFence == 0 {
			return noun.VerdictSuperseded
		}
		return noun.VerdictDenied
	}
	lease, fence := b.Kinds&BeatLease != 0, b.Kinds&BeatFence != 0
	leaseOver, fenceOver := a.until <= w.now, a.fence <= w.now
	if !leaseOver && (lease || b.Kinds&BeatVouch != 0 && a.vouch) {
		a.until = w.now + w.ttl(a)
	}
	if fence && !fenceOver {
		a.fence = w.now + w.ttl(a)
	}
	switch {
	case (!lease || !leaseOver) && (!fence || !fenceOver):
		return noun.VerdictCurrent
	case b.Kinds == BeatLease && host == 0 && a.proc.GivenUp() && !a.stopped:
		return noun.VerdictRejoin // as soon as its host is heard
	case !fence && a.managed && !a.proc.Fenced():
		return noun.VerdictSuperseded
	case !fence:
		return noun.VerdictRejoin
	case a.proc.GivenUp() && !a.stopped:
		a.proc, a.fence, a.since = noun.ProcRunning, w.now+w.ttl(a), w.now
		w.retakes(a)
		return noun.VerdictAdopt
	case a.proc.Fenced():
		return noun.VerdictRejoin
	}
	return noun.VerdictSuperseded
}
