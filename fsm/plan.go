package fsm

import (
	"fmt"
	"time"
)

// Plan is what is expected of a task, and how far its attempt is by its agent's own word
// (seed 002, section 1.5).
type Plan struct {
	Expect time.Duration // of each attempt from its claim, by who created the task; 0: its role's
	// Due is the expected completion of the last attempt; 0: nothing is expected.
	Due      Time
	Percent  Percent
	Extended uint32 // how often Due was put off after it had passed, in the last attempt
}

// Percent is how far the work on a task is. 0: not said; else one more than the percentage.
type Percent uint8

// PercentOf makes a Percent of 0 to 100; more is none.
func PercentOf(p uint32) Percent {
	if p > 100 {
		return maxPercent + 1
	}
	return Percent(p + 1)
}

// Said gives the percentage, and whether there is one.
func (p Percent) Said() (uint32, bool) { return uint32(max(p, 1) - 1), p != 0 }

// Bounds of what a plan says.
const (
	MinExpect  = time.Second
	MaxExpect  = 30 * 24 * time.Hour
	maxPercent = Percent(101)
)

// answerExtends is how much longer a task is expected to take when its agent answers a
// question about it and does not say how long (seed 002, 1.5.3 and 1.7: "extend timeout").
const answerExtends = 30 * time.Minute

// CheckExpect tells what is wrong with how long a task is expected to take; 0 says nothing.
func CheckExpect(d time.Duration) error {
	if d != 0 && (d < MinExpect || d > MaxExpect) {
		return fmt.Errorf("expect: %s is out of range, %s to %s is allowed", d, MinExpect, MaxExpect)
	}
	return nil
}

// Planned gives the task's plan, zero when there is none.
func (t *Task) Planned() Plan {
	if t.Plan == nil {
		return Plan{}
	}
	return *t.Plan
}

// plan changes the task's plan; a view that was taken before keeps the old one.
func (t *Task) plan(change func(*Plan)) {
	p := t.Planned()
	change(&p)
	switch {
	case p == t.Planned():
	case p == Plan{}:
		t.Plan = nil
	default:
		t.Plan = &p
	}
}

// passed tells that the expected completion is over.
func (p *Plan) passed(now Time) bool { return p.Due != 0 && p.Due < now }

// Expectation is how long an attempt at the task may take by who created it, else by its
// role; 0: nothing is said.
func (v *View) Expectation(t *Task) time.Duration {
	if p := t.Planned(); p.Expect != 0 {
		return p.Expect
	}
	if r := v.roles.Get(t.Role); r != nil {
		return r.Spec.Expect
	}
	return 0
}

// planAttempt begins the plan of an attempt that was claimed just now.
func (s *State) planAttempt(t *Task) {
	expect := s.Expectation(t)
	t.plan(func(p *Plan) {
		*p = Plan{Expect: p.Expect}
		if expect != 0 {
			p.Due = s.meta.Clock.Add(expect)
		}
	})
}

// replan takes what progress says of the plan, before the progress is noted.
func (s *State) replan(a *Agent, t *Task, c *ProgressTask) {
	if c.Percent != 0 {
		t.plan(func(p *Plan) { p.Percent = c.Percent })
	}
	if c.Expect == 0 {
		s.answer(a)
		return
	}
	due := s.meta.Clock.Add(c.Expect)
	if p := t.Planned(); p.passed(s.meta.Clock) {
		s.extend(a, t, due)
		return
	}
	t.plan(func(p *Plan) { p.Due = due })
	s.reviewExcuse(a)
}

// answer extends what is expected of the agent's task when the agent answers what the
// ladder has asked, after the expected completion has passed. It is called before the
// word is noted.
func (s *State) answer(a *Agent) {
	l := a.Notes().Ladder
	if l == nil || l.Inc != a.Inc || s.lifesign(a) >= l.At {
		return
	}
	if t := s.tasks.Get(a.Task); t == nil || t.Plan == nil || !t.Plan.passed(s.meta.Clock) {
		return
	}
	s.extend(a, s.tasks.Mut(a.Task), s.meta.Clock.Add(answerExtends))
}

// extend puts off an expected completion that has passed.
func (s *State) extend(a *Agent, t *Task, due Time) {
	old := t.Planned().Due
	t.plan(func(p *Plan) { p.Due, p.Extended = due, p.Extended+1 })
	s.reviewExcuse(a)
	t.Rev = s.meta.Index
	s.figures.Extended++
	now, wall := s.meta.Clock, s.now.Wall
	s.event("task.extended", about{agent: a, task: t.ID, attempt: t.Attempt}, fmt.Sprintf(
		"it was expected by %s and is expected by %s now, extension %d", onWall(old, now, wall), onWall(due, now, wall), t.Plan.Extended))
}

// onWall is a cluster time on a wall clock that shows wall at now, for people.
func onWall(at, now Time, wall Wall) string {
	return time.Unix(0, int64(wall)).Add(at.Sub(now)).UTC().Format(time.RFC3339)
}
