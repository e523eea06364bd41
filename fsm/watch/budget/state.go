package budget

import (
	"fmt"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// State is the budgets of a state that goes on.
type State struct {
	*core.State
	View
}

// View reads the budgets of a state.
type View struct{ core.Base }

// Install hangs budgets on the core.
func Install(c *core.State) *State {
	s := &State{c, View{core.Base{View: &c.View}}}
	h := core.Attach(c, s)
	h.Used.Add(s.used)
	h.TaskMoved.Add(s.begun)
	h.RoleBarred = append(h.RoleBarred, func(r *noun.Role) bool {
		return stageOf(r.Spent) == noun.StageOut || stageOf(s.RoomTable.Get(r.Room).Spent) == noun.StageOut
	})
	h.AgentBarred = append(h.AgentBarred, (*noun.Agent).SpentOut)
	h.BarredText, h.BarredRow = s.barredText, s.barredRow
	h.AgentDue = append(h.AgentDue, s.agentRow)
	h.AgentFires.Add(func(a *noun.Agent) { s.reviewAgent(a) })
	h.AgentRows = append(h.AgentRows, s.rows)
	h.RoomRows = append(h.RoomRows, s.roomRows)
	h.Timers[core.TimerUsage] = s.fire
	h.RoomChanged.Add(s.reviewAll)
	h.RoleGoes.Add(func(r *noun.Role) { s.setRole(r, nil) })
	h.RoomGoes.Add(func(id noun.RoomID) { s.setRoom(s.RoomTable.Mut(id), nil) })
	h.AgentGoes.Add(func(a *noun.Agent) {
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscBudget, Subject: agentSubject(a)})
	})
	h.Index.Add(s.index)
	h.Lasts[noun.EscBudget] = s.lasts
	return s
}

func stageOf(p *noun.Spent) noun.Stage {
	if p == nil {
		return noun.StageFree
	}
	return p.Stage
}

func stageOfAgent(a *noun.Agent) noun.Stage {
	if u := a.Notes().Used; u != nil {
		return u.Stage
	}
	return noun.StageFree
}

// index sets the timers of a restored state.
func (s *State) index(struct{}) {
	for id, r := range s.RoleTable.From(0) {
		if r.Spent != nil {
			s.Arm(core.TimerUsage, roleTimer|uint64(id), r.Spent.Armed)
		}
	}
	for id, rm := range s.RoomTable.From(0) {
		if rm.Spent != nil {
			s.Arm(core.TimerUsage, uint64(id), rm.Spent.Armed)
		}
	}
}

// lasts tells whether what an escalation is about is still so.
func (s *State) lasts(e *noun.Escalation) bool {
	if e.Agent != "" {
		a := s.AgentByName(e.Agent)
		return a != nil && stageOfAgent(a) > noun.StageFree
	}
	if rm := s.Room(e.Room); rm != nil && e.Subject == rm.Name {
		return stageOf(rm.Spent) > noun.StageFree
	}
	for id, r := range s.RoleTable.From(0) {
		if s.RoleName(id) == e.Subject {
			return stageOf(r.Spent) > noun.StageFree
		}
	}
	return false
}

func agentSubject(a *noun.Agent) string { return "agent " + a.Name }

// Check tests what a single state can show of budgets.
func (v *View) Check(c *core.Checker) {
	for id, r := range v.RoleTable.From(0) {
		if r.Spent != nil {
			c.Armed(v.Base.View, "L11", v.roleRow(r), r.Spent.Armed)
			v.checkScope(c, "role "+v.RoleName(id), r.Spent, r.Spec.Spend())
		}
	}
	for _, rm := range v.RoomTable.From(0) {
		if rm.Spent != nil {
			c.Armed(v.Base.View, "L11", v.roomRow(rm), rm.Spent.Armed)
			v.checkScope(c, "room "+rm.Name, rm.Spent, rm.Spend)
		}
	}
	for _, a := range v.AgentTable.From(0) {
		u := a.Notes().Used
		if u == nil {
			continue
		}
		c.That(u.Inc <= a.Inc, "L6: usage of incarnation %s of %s, which is at %s", u.Inc, a.Name, a.Inc)
		v.checkDay(c, a.Name, u.Day)
	}
}

func (v *View) checkScope(c *core.Checker, name string, p *noun.Spent, limit noun.SpendLimit) {
	c.That(p.Lifted == 0 || p.Stage == noun.StageFree, "L11: the budget of %s is lifted and %s", name, p.Stage)
	c.That(p.Stage == noun.StageFree || limit != noun.SpendLimit{}, "L11: %s has no budget, and that is %s", name, p.Stage)
	v.checkDay(c, name, p.Day)
}

func (v *View) checkDay(c *core.Checker, name string, day noun.Day) {
	c.That(len(day) <= noun.UsageHours+1, "L11: %s keeps %d hours", name, len(day))
	for i, h := range day {
		c.That(h.Hour <= noun.HourOf(v.Meta.Clock) && (i == 0 || day[i-1].Hour < h.Hour), "%s", fmt.Sprintf(
			"L12: %s keeps hour %d at place %d", name, h.Hour, i))
	}
}
