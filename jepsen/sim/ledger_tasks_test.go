package sim

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

func (l *ledger) created(id noun.TaskID, title string, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts["tasks created"]++
	l.story.task("create", id, 0, title, index)
	if l.undone(index) {
		l.maybe[title] = true
		return
	}
	t := l.task(id)
	if t.acked {
		l.note("L8", "task %d was given out as %q and as %q", id, t.title, title)
	}
	t.acked, t.title, t.at, t.index = true, title, time.Now(), max(t.index, index)
}

// waited notes how long something took.
func (l *ledger) waited(what string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recoveries[what] = append(l.recoveries[what], d)
}

func (l *ledger) unsure(title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maybe[title] = true
}

func holder(name string, inc noun.Incarnation, attempt uint32) string {
	return fmt.Sprintf("%s %v attempt %d", name, inc, attempt)
}

func (l *ledger) claimed(out noun.Outcome, name string, inc noun.Incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, attempt := out.Task, out.Attempt
	l.counts["claims"]++
	l.story.task("claim", id, attempt, holder(name, inc, attempt), out.Index)
	if l.undone(out.Index) {
		return
	}
	t, who := l.task(id), holder(name, inc, attempt)
	t.index = max(t.index, out.Index)
	if was, ok := t.holders[attempt]; ok && was != who {
		l.note("L8", "attempt %d of task %d was given to %s and to %s", attempt, id, was, who)
	}
	if t.completed > 0 {
		l.note("L8", "task %d was given to %s after its completion", id, who)
	}
	t.holders[attempt] = who
}

func (l *ledger) completing(id noun.TaskID, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task(id).sent[who] = true
}

func (l *ledger) completed(id noun.TaskID, who string, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story.task("complete", id, 0, who, index)
	if l.undone(index) {
		return
	}
	t := l.task(id)
	t.index = max(t.index, index)
	if t.completed++; t.completed > 1 {
		l.note("L8", "the completion of task %d was acknowledged %d times, last to %s", id, t.completed, who)
	}
	l.counts["tasks completed"]++
	l.longest = max(l.longest, time.Since(l.completedAt))
	l.completedAt = time.Now()
}

func (l *ledger) canceled(id noun.TaskID, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story.task("cancel", id, 0, "", index)
	if l.undone(index) {
		return
	}
	t := l.task(id)
	t.canceled, t.index = true, max(t.index, index)
	l.counts["tasks canceled"]++
}

func (l *ledger) stop(name string, inc noun.Incarnation, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story.intent("stop", name, inc, index)
	if l.undone(index) {
		return
	}
	r := l.agent(name)
	r.stopIndex, r.sighted = index, time.Time{}
	r.stopped, r.stopInc, r.stoppedAt, r.downAt = true, inc, time.Now(), time.Time{}
	l.counts["stops"]++
}

// wanted: a human is about to say that the agent may run again.
func (l *ledger) wanted(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story.intent("start", name, 0, 0)
	r := l.agent(name)
	r.stopped, r.crashes, r.downAt = false, nil, time.Time{}
}

// patrol holds law L9: what was stopped does not run for long.
func (l *ledger) patrol(bound time.Duration, cut func(host int) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, r := range l.agents {
		for inc, host := range r.running {
			if !r.stopped || time.Since(r.stoppedAt) < bound || cut(host) {
				continue
			}
			if r.sighted.Before(r.stoppedAt) { // an order may have to catch up with a host that is back
				r.sighted = time.Now()
			} else if time.Since(r.sighted) > 2*time.Minute {
				l.note("L9", "%s was stopped %v ago, yet %v runs on host %d", name, time.Since(r.stoppedAt), inc, host)
				r.stopped = false
			}
		}
	}
}

// reported: the cluster knows the end of a life.
func (l *ledger) reported(name string, inc noun.Incarnation, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.undone(index) {
		return
	}
	r := l.agent(name)
	r.ends[inc] = index
}

// undone tells that a log entry was undone by the restore of a backup.
func (l *ledger) undone(index uint64) bool {
	for _, v := range l.void {
		if index > v[0] && index <= v[1] {
			return true
		}
	}
	return false
}

// restored: a backup that ends with one log entry has undone what was done until
// another. Lives of before go on, or are told to stop.
func (l *ledger) restored(from, to uint64, now noun.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.void = append(l.void, [2]uint64{from, to})
	for _, r := range l.agents {
		r.crashes, r.downAt = nil, time.Time{}
		for inc, index := range r.accepts {
			if index > from {
				r.accepts[inc] = 0
			}
		}
		clear(r.words)
		clear(r.ends)
		if r.stopIndex > from {
			r.stopped = false
		}
		for _, p := range r.lives {
			p.since, p.proving, p.earlier = now, false, true
		}
	}
	for id, t := range l.tasks {
		if t.index > from {
			if t.acked {
				l.maybe[t.title] = true
			}
			delete(l.tasks, id)
			continue
		}
		t.unsure = true
	}
}

// close ends the account.
func (l *ledger) close(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.length, l.closed = after, true
}
