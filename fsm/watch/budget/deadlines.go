package budget

import (
	"fmt"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

var (
	kindWindow = &due.Kind{Name: "budget window", Then: "its oldest hour counts no more"}
	kindLift   = &due.Kind{Name: "lifted budget", Then: "the budget counts again"}
)

// windowRow is when the oldest hour leaves the window, of a budget of which that matters.
func windowRow(of due.Of, day noun.Day, stage noun.Stage) due.Row {
	if stage == noun.StageFree || len(day) == 0 {
		return due.Row{}
	}
	return due.Row{Kind: kindWindow, Of: of, From: noun.Time(day[0].Hour * uint64(time.Hour)),
		Span: (noun.UsageHours + 1) * time.Hour}
}

func spentRow(of due.Of, p *noun.Spent) due.Row {
	if p == nil {
		return due.Row{}
	}
	row := windowRow(of, p.Day, p.Stage)
	if p.Lifted != 0 {
		row = due.Sooner(row, due.Until(kindLift, of, p.Lifted.Add(-LiftSpan), p.Lifted))
	}
	return row
}

func (v *View) roleRow(r *noun.Role) due.Row  { return spentRow(due.OfRole(r.ID), r.Spent) }
func (v *View) roomRow(rm *noun.Room) due.Row { return spentRow(due.OfRoom(rm.ID), rm.Spent) }

// agentRow is when the window of an agent moves.
func (v *View) agentRow(a *noun.Agent) due.Row {
	if u := a.Notes().Used; u != nil {
		return windowRow(due.OfAgent(a.ID), u.Day, u.Stage)
	}
	return due.Row{}
}

// rows are those of what bars an agent beside its own budget.
func (v *View) rows(a *noun.Agent, list *due.List) {
	list.Add(v.roleRow(v.RoleTable.Get(a.Role)))
	list.Add(v.roomRow(v.RoomTable.Get(a.Room)))
}

func (v *View) roomRows(rm *noun.Room, list *due.List) { list.Add(v.roomRow(rm)) }

// barredRow is when what bars an agent may end by itself: at the earliest with the next hour that leaves the
// window.
func (v *View) barredRow(a *noun.Agent) due.Row {
	r, rm := v.RoleTable.Get(a.Role), v.RoomTable.Get(a.Room)
	switch {
	case stageOf(rm.Spent) == noun.StageOut:
		return v.roomRow(rm)
	case stageOf(r.Spent) == noun.StageOut:
		return v.roleRow(r)
	}
	return v.agentRow(a)
}

// barredText says which budget bars an agent.
func (v *View) barredText(a *noun.Agent) string {
	r, rm := v.RoleTable.Get(a.Role), v.RoomTable.Get(a.Room)
	say := func(whose, lift string, l noun.SpendLimit, day noun.Day) string {
		return fmt.Sprintf("kept from new work: %s has used up its budget, %s within 24 h; "+
			"`vigil budget lift %s` lets it go on", whose, l.Text(day.Sum(v.Meta.Clock)), lift)
	}
	switch {
	case stageOf(rm.Spent) == noun.StageOut:
		return say("its room", rm.Name, rm.Spend, rm.Spent.Day)
	case stageOf(r.Spent) == noun.StageOut:
		return say("its role", v.RoleName(r.ID), r.Spec.Spend(), r.Spent.Day)
	}
	return say("it", v.RoleName(r.ID), r.Spec.SpendEach(), a.Notes().Used.Day)
}

// LiftSpan is for how long a human lifts a budget: until nothing counts any more that does now.
const LiftSpan = (noun.UsageHours + 1) * time.Hour

// LiftBudget lets a role with its agents, or a room, go on beyond its budget until the window has passed.
type LiftBudget struct {
	Room, Role string // no role: the room
	By         string
}

// NeedsLevel is the feature level of budgets.
func (LiftBudget) NeedsLevel() uint32 { return core.LevelRetry }

// Apply lifts a budget.
func (c LiftBudget) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	rm := s.Room(c.Room)
	if rm == nil {
		return s.NoRoom(c.Room)
	}
	rm = s.RoomTable.Mut(rm.ID)
	until := s.Meta.Clock.Add(LiftSpan)
	if c.Role == "" {
		if rm.Spend == (noun.SpendLimit{}) {
			return core.Refuse(noun.Conflict, "room %q has no budget", c.Room)
		}
		s.Event("budget.lifted", core.About{Room: rm.ID}, "of the room, by "+core.Nobody(c.By))
		next := spent(rm.Spent)
		next.Lifted, next.By = until, c.By
		s.reviewRoom(rm, next)
		return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
	}
	r := s.RoleByName(c.Room, c.Role)
	switch {
	case r == nil || r.Retired:
		return core.Refuse(noun.NotFound, "there is no role %q in room %q", c.Role, c.Room)
	case r.Spec.Spend() == (noun.SpendLimit{}) && r.Spec.SpendEach() == (noun.SpendLimit{}):
		return core.Refuse(noun.Conflict, "role %q of room %q has no budget", c.Role, c.Room)
	}
	r = s.RoleTable.Mut(r.ID)
	s.Event("budget.lifted", core.About{Room: rm.ID}, "of role "+c.Role+", by "+core.Nobody(c.By))
	next := spent(r.Spent)
	next.Lifted, next.By = until, c.By
	s.reviewRole(r, next)
	s.reviewAgents(r)
	return noun.Outcome{Room: rm.ID, Rev: r.Rev}
}
