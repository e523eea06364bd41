package core

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// Expectation is how long an attempt at the task may take by who created it, else by its
// role; 0: nothing is said.
func (v *View) Expectation(t *noun.Task) time.Duration {
	if p := t.Planned(); p.Expect != 0 {
		return p.Expect
	}
	if r := v.RoleTable.Get(t.Role); r != nil {
		return r.Spec.Expect
	}
	return 0
}

// planAttempt begins the plan of an attempt that was claimed just now.
func (s *State) planAttempt(t *noun.Task) {
	expect := s.Expectation(t)
	t.ChangePlan(func(p *noun.Plan) {
		*p = noun.Plan{Expect: p.Expect}
		if expect != 0 {
			p.Due = s.Meta.Clock.Add(expect)
		}
	})
}

// replan takes what progress says of the plan, before the progress is noted.
func (s *State) replan(a *noun.Agent, t *noun.Task, c *ProgressTask) {
	if c.Percent != 0 {
		t.ChangePlan(func(p *noun.Plan) { p.Percent = c.Percent })
	}
	if c.Expect == 0 {
		s.Hooks.AgentSpoke.Call(a)
		return
	}
	due := s.Meta.Clock.Add(c.Expect)
	if p := t.Planned(); p.Passed(s.Meta.Clock) {
		s.Extend(a, t, due)
		return
	}
	t.ChangePlan(func(p *noun.Plan) { p.Due = due })
	s.Hooks.AgentExcused.Call(a)
}

// Extend puts off an expected completion that has passed.
func (s *State) Extend(a *noun.Agent, t *noun.Task, due noun.Time) {
	old := t.Planned().Due
	t.ChangePlan(func(p *noun.Plan) { p.Due, p.Extended = due, p.Extended+1 })
	s.Hooks.AgentExcused.Call(a)
	t.Rev = s.Meta.Index
	s.Tally.Extended++
	now, wall := s.Meta.Clock, s.Entry.Wall
	s.Event("task.extended", About{Agent: a, Task: t.ID, attempt: t.Attempt}, fmt.Sprintf(
		"it was expected by %s and is expected by %s now, extension %d", OnWall(old, now, wall),
		OnWall(due, now, wall), t.Plan.Extended))
}

// OnWall is a cluster time on a wall clock that shows wall at now, for people.
func OnWall(at, now noun.Time, wall noun.Wall) string {
	return time.Unix(0, int64(wall)).Add(at.Sub(now)).UTC().Format(time.RFC3339)
}
