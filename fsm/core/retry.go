package core

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// ending is how an attempt at a task ended without a result.
type ending struct {
	why    string // in vigil's words
	charge bool   // by a fault of the task or its holder
	killed bool   // its holder died of it
	trial  bool   // its holder was the trial of an agent that its breaker has parked: neither counts
	spared bool   // the conversation with which its holder began may be the cause: neither counts
	// gaveBack: its holder said so, that it may be tried again, and after which time when it knows.
	gaveBack bool
	reason   string // in its holder's words; may be empty
	after    time.Duration
}

func (e *ending) failed() bool { return e.charge || e.killed }

// retries tells that tasks are put off and roles half-open: it came with a feature level.
func (v *View) retries() bool { return v.Meta.Level >= LevelRetry }

// retryDelay is how long a task waits that has just failed: it doubles with each failure in a
// row, and is between a half and the whole of that, so that tasks which failed together do not
// come back together. It is a function of the task and its attempt, since all servers must draw
// the same number.
func (v *View) retryDelay(t *noun.Task) time.Duration {
	spec, set := &v.RoleTable.Get(t.Role).Spec, &v.Meta.Settings.Retry
	first, most := spec.RetryFirst, spec.RetryMost
	if first == 0 {
		first = set.First
	}
	if most == 0 {
		most = max(set.Most, first)
	}
	delay := first
	for range min(t.Retried().Row, 40) - min(t.Retried().Row, 1) {
		if delay = delay * 2; delay >= most {
			break
		}
	}
	return spread(min(delay, most), uint64(t.ID), uint64(t.Attempt))
}

// spread is a span from a half to the whole of this, by a hash.
func spread(span time.Duration, a, b uint64) time.Duration {
	return span/2 + time.Duration(uint64(span/2)>>8*(mix(a, b)>>48)>>8)
}

// again puts a task back that has failed, or lost its holder, and has attempts left. Who gave it
// back waits; one whose holder is gone does not, since another may do better at once. While its
// role is half-open all of them wait for their turn.
func (s *State) again(t *noun.Task, e *ending) {
	half, delay := s.RoleTable.Get(t.Role).Half != nil, e.after
	if delay == 0 && e.failed() && (half || e.gaveBack) {
		delay = s.retryDelay(t)
	}
	switch {
	case !s.retries():
		s.Move(t, noun.TaskPending)
		return
	case delay > 0:
		s.MoveUntil(t, noun.TaskQueued, s.Meta.Clock.Add(delay))
	case half:
		s.Move(t, noun.TaskQueued)
	default:
		s.Move(t, noun.TaskPending)
	}
	s.Promote(t.Role)
}

// undelay ends the wait of a task.
func (s *State) undelay(t *noun.Task) {
	s.Move(t, noun.TaskQueued)
	s.Promote(t.Role)
	if _, aside := s.Aside[t.ID]; !aside {
		s.Hooks.RoomResumed.Call(t.Room)
	}
}

// countDelayed counts a task that is put off, or is no more, in its room.
func (s *State) countDelayed(t *noun.Task, by int) {
	if _, aside := s.Aside[t.ID]; !aside {
		s.roomIndexOf(t.Room).Delayed += uint32(by)
	}
}

// urge offers a task at once by a human's word, which beats a half-open role (law L9).
func (s *State) urge(t *noun.Task) {
	if s.RoleTable.Get(t.Role).Half == nil {
		s.Move(t, noun.TaskQueued)
		s.Promote(t.Role)
		return
	}
	s.urging = true
	s.Move(t, noun.TaskPending)
	s.urging = false
}

// DelayLeft is for how long a task is put off; 0: it is not.
func (v *View) DelayLeft(t *noun.Task) time.Duration {
	if !t.Delayed() {
		return 0
	}
	return max(0, t.Retry.NotBefore.Sub(v.Meta.Clock))
}

// Delayed counts the tasks of a role that are put off.
func (v *View) Delayed(id noun.RoleID) int { return v.roleIndex(id).Delayed.Len() }

// HalfOpenRoles counts the roles that are half-open.
func (v *View) HalfOpenRoles() int { return v.halfOpen.Len() }

// HalfOpenTrying counts those of them that offer or work on single tasks now; the others wait until
// the next is tried. It walks over them.
func (v *View) HalfOpenTrying() (n int) {
	v.halfOpen.Scan(func(id noun.RoleID) bool {
		if len(v.RoleTable.Get(id).Half.Probes) > 0 {
			n++
		}
		return true
	})
	return n
}

// whyDelayed says when the first of a role's tasks that are put off is tried again.
func (v *View) whyDelayed(id noun.RoleID) Why {
	ri := v.roleIndex(id)
	first, ok := ri.Delayed.Min()
	if !ok {
		return Why{}
	}
	t := v.TaskTable.Get(first.Id)
	left := v.DelayLeft(t)
	text := fmt.Sprintf("the next of %s comes in %s", noun.Plural(ri.Delayed.Len(), "task"), inTime(left))
	if r := t.Retried(); len(r.Reasons) > 0 {
		text = fmt.Sprintf("the next of %s, task %d, is tried again in %s, attempt %d", noun.Plural(ri.Delayed.Len(), "task"),
			t.ID, inTime(left), t.Attempt+1)
		text += v.usedText(t) + ": " + r.Reasons[len(r.Reasons)-1].Text
	}
	return Why{"retry", text, left}
}

// inTime rounds a span up for people: what is waited for is not over before.
func inTime(d time.Duration) time.Duration {
	unit := time.Second
	if d < 10*time.Second {
		unit = 100 * time.Millisecond
	}
	return (d + unit - 1) / unit * unit
}
