package check

import (
	"slices"
	"strings"
	"time"

	"vigil/jepsen/history"
)

// Words of the log about the end of an attempt.
const (
	gaveBack = "its holder gave it back"
	ended    = "its holder ended: "
)

// uncharged are the ends of attempts that are nobody's fault. Many of them in a row quarantine the task all the same.
var uncharged = []string{"its holder left", "the fence of its holder ended"}

// lostPerKill is how many of those weigh as much as a life that died of it.
const lostPerKill = 2

// shieldTimes is how many times its limit a task of a half-open role may fail before that counts.
const shieldTimes = 20

// probePauses are the waits before the next probe of a half-open role after so many that failed,
// of which half is certain.
var probePauses = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second,
	30 * time.Second, time.Minute}

const (
	mostProbes = 8
	// probeOutlives is the least time after which a probe counts as a success although it goes on.
	probeOutlives = time.Minute
)

// attempt names one.
type attempt struct {
	task   uint64
	number uint32
}

// tried is a task as the log tells of it.
type tried struct {
	role     string
	begun    bool   // an attempt goes on
	failed   uint32 // attempts that were given back
	row      uint32 // at most so many attempts that failed
	charged  uint32 // at most so many attempts that failed while the role was not half-open, or too often then
	killed   uint32 // at most so many lives that died of it, the same
	lost     uint32 // at most so many that left or were lost with their host, the same
	wait     time.Duration
	waits    history.Event // since then
	over     string        // COMPLETED, ...
	overWith history.Event
}

// halfOpen is a role that tries single tasks. Which are offered is not in the log: open is how many
// probes there are at most, offered or claimed.
type halfOpen struct {
	allowed, open int
	probes        map[uint64]history.Event // by task: its claim
	missed        int                      // in a row, at least
	pause         time.Duration            // before the next claim; 0: none is certain
	since         history.Event            // the pause
}

// assayer follows the tasks of one room, and judges how they are tried.
type assayer struct {
	*trial
	*Result
	rules  history.Rules
	room   string
	tasks  map[uint64]*tried
	half   map[string]*halfOpen
	after  map[attempt]time.Duration // what agents were told to have given back; 0: by the rules
	opened int
}

// retries judges the tasks of workload outage.
func retries(t *trial, r *Result) {
	a := &assayer{trial: t, Result: r}
	for _, op := range t.rec.Ops {
		if op.Workload == "outage" && op.Kind == "rules" && op.Rules != nil {
			a.room, a.rules = op.Key, *op.Rules
		}
	}
	if a.room == "" {
		return
	}
	a.hear()
	a.forget()
	for i, e := range t.log {
		if !t.follows(i) || e.Kind == "cluster.restored" {
			a.forget()
		}
		if e.Room == a.room {
			a.follow(e)
		}
	}
	a.finals()
	r.count("times a role half-opened", a.opened)
	r.count("attempts given back", len(a.after))
}

func (a *assayer) forget() { a.tasks, a.half = map[uint64]*tried{}, map[string]*halfOpen{} }

// hear takes from the ledger what was given back, and until when.
func (a *assayer) hear() {
	a.after = map[attempt]time.Duration{}
	for _, l := range a.lives {
		if !strings.HasPrefix(l.Agent, a.room+"/") {
			continue
		}
		for _, w := range l.Said {
			if what, span, _ := strings.Cut(w.What, "="); what == "fail" {
				after, _ := time.ParseDuration(span) // empty: it did not say
				a.after[attempt{w.Task, w.Attempt}] = after
			}
		}
	}
}

// follow takes the next event.
func (a *assayer) follow(e history.Event) {
	role, _, _ := strings.Cut(e.Text, ":")
	switch e.Kind {
	case "role.half_open":
		a.opened++
		a.half[role] = &halfOpen{allowed: 1, open: 1, probes: map[uint64]history.Event{},
			pause: probePauses[0] / 2, since: e}
		return
	case "role.open":
		delete(a.half, role)
		return
	case "task.created":
		a.tasks[e.Task] = &tried{role: e.Text}
		return
	}
	x := a.tasks[e.Task]
	if x == nil {
		return // what is missing in the log is counted at the end
	}
	h := a.half[x.role]
	switch e.Kind {
	case "task.claimed":
		a.claimed(x, h, e)
	case "task.recovered", "task.failed", "task.quarantined":
		a.lost(x, h, e)
	case "task.completed":
		if h.tries(e.Task) || h != nil && !x.begun { // a late one may have been offered again
			h.succeeded()
		}
		a.leaves(x, h, e.Task)
		x.over, x.overWith = completed, e
	case "task.canceled":
		a.leaves(x, h, e.Task)
		x.over, x.overWith = canceled, e
	}
}

// leaves ends the attempt that goes on.
func (a *assayer) leaves(x *tried, h *halfOpen, task uint64) {
	if h.tries(task) {
		delete(h.probes, task)
		h.open = max(h.open-1, h.allowed)
	}
	x.begun, x.wait = false, 0
}

// claimed judges the beginning of an attempt.
func (a *assayer) claimed(x *tried, h *halfOpen, e history.Event) {
	a.judged(1)
	if x.wait > 0 {
		if passed := a.between(x.waits, e); passed < x.wait {
			a.found(Finding{From: x.waits.Got, To: e.Got, Events: []history.Event{x.waits, e}},
				"attempt %d at task %d began at most %s after the one before had failed, which has a wait of %s",
				e.Attempt, e.Task, passed, x.wait)
		}
	}
	x.begun, x.wait = true, 0
	if h == nil {
		return
	}
	for _, began := range h.probes {
		if a.between(began, e) >= probeOutlives { // the log does not say that it counts as a success
			h.allowed, h.open, h.pause, h.missed = mostProbes, mostProbes, 0, 0
		}
	}
	if h.probes[e.Task] = e; len(h.probes) > h.open {
		a.found(Finding{From: h.since.Got, To: e.Got, Events: []history.Event{h.since, e}},
			"%s/%s is half-open and may try %d tasks at once, but task %d is number %d", a.room, x.role, h.open,
			e.Task, len(h.probes))
	}
	if passed := a.between(h.since, e); passed < h.pause {
		a.found(Finding{From: h.since.Got, To: e.Got, Events: []history.Event{h.since, e}},
			"%s/%s is half-open and tried task %d at most %s after a failure, which has a pause of %s", a.room,
			x.role, e.Task, passed, h.pause)
	}
	h.pause = 0
}

// lost judges the end of an attempt without a result.
func (a *assayer) lost(x *tried, h *halfOpen, e history.Event) {
	back := strings.HasSuffix(e.Text, gaveBack)
	sure := back || strings.Contains(e.Text, ended+"exited with code 3") // by which tickers crash
	if sure && h.tries(e.Task) {
		h.failed(e)
	}
	a.leaves(x, h, e.Task)
	x.row++
	counts := h == nil || x.row >= shieldTimes*max(a.rules.Attempts, a.rules.Kills)
	if counts && slices.Contains(uncharged, e.Text) {
		x.lost++
	} else if counts { // a life that ends by order, or its host's, is lost, too
		x.charged++
		if !back {
			x.killed, x.lost = x.killed+1, x.lost+1
		}
	}
	if back {
		x.failed++
	}
	if e.Kind == "task.recovered" {
		if back || sure && h != nil {
			x.wait, x.waits = a.waitOf(x, back, e), e
		}
		return
	}
	x.over, x.overWith = failed, e
	if e.Kind == "task.quarantined" {
		x.over = quarantined
	}
	a.judged(1)
	died := x.over == quarantined && a.rules.Kills > 0 &&
		(x.killed >= a.rules.Kills || x.lost >= lostPerKill*a.rules.Kills)
	if !died && (a.rules.Attempts == 0 || x.charged < a.rules.Attempts) {
		a.found(Finding{From: e.Got, To: e.Got, Events: []history.Event{e}},
			"task %d is %s, but of its attempts at most %d have failed, and %d lives died of it, while %s/%s was not "+
				"half-open; the limits are %d and %d", e.Task, x.over, x.charged, x.killed, a.room, x.role,
			a.rules.Attempts, a.rules.Kills)
	}
}

// waitOf is the wait before the next attempt of which the record is certain.
func (a *assayer) waitOf(x *tried, back bool, e history.Event) time.Duration {
	if run := a.rec.Run; run.Older != "" && (run.Upgraded == 0 || e.Got < run.Upgraded) {
		a.excuse("a server of the older build may have led, which may know no waits")
		return 0
	}
	if back {
		after, known := a.after[attempt{e.Task, e.Attempt}]
		switch {
		case !known:
			a.excuse("nobody knows whether the agent said how long to wait: it did not get its answer")
			return 0
		case after > 0:
			return after
		}
	}
	most, wait := time.Duration(a.rules.Most), time.Duration(a.rules.First)
	for n := uint32(1); n < x.failed && wait < most; n++ {
		wait *= 2
	}
	return min(wait, most) / 2
}

// tries tells that a task is a probe that was claimed; the role need not be half-open.
func (h *halfOpen) tries(task uint64) bool {
	if h == nil {
		return false
	}
	_, ok := h.probes[task]
	return ok
}

// failed takes note that a probe has failed. Only when it was the only one nothing else can be on
// offer, and the pause is certain.
func (h *halfOpen) failed(e history.Event) {
	h.missed++
	h.pause = 0
	if h.open == 1 {
		h.pause, h.since = probePauses[min(h.missed, len(probePauses)-1)]/2, e
	}
	h.allowed = max(1, h.allowed/2)
}

// succeeded takes note that a probe may have succeeded.
func (h *halfOpen) succeeded() {
	h.allowed = min(2*h.allowed, mostProbes)
	h.open, h.missed, h.pause = max(h.open, h.allowed), 0, 0
}

// between is how much time may have passed between two events, at most.
func (a *assayer) between(first, then history.Event) time.Duration {
	return time.Duration(a.happened(then).to - a.happened(first).from)
}

// finals compares the list at the end with the log, and with what was canceled.
func (a *assayer) finals() {
	stopped := map[uint64]bool{}
	for _, op := range a.rec.Ops {
		if op.Workload == "outage" && op.Kind == "cancel" && op.Outcome != history.Failed {
			stopped[op.Task] = true
		}
	}
	for _, op := range a.rec.Ops {
		if op.Workload != "outage" || op.Kind != "final" || op.Outcome != history.OK {
			continue
		}
		a.judged(1)
		x := a.tasks[op.Task]
		switch {
		case op.State == canceled && !stopped[op.Task]:
			a.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}},
				"task %d is CANCELED, and no human has canceled it", op.Task)
		case x == nil:
			a.excuse("the log does not have all of the task")
		case finished(op.State) && op.State != x.over:
			a.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{op},
				Events: []history.Event{x.overWith}}, "task %d is %s at the end, but by the log it is %s", op.Task,
				op.State, x.over)
		}
	}
}
