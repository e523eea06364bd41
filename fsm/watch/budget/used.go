package budget

import (
	"time"

	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// used takes note of what a host tells of a life. Totals are told, so a report that comes twice counts once.
func (s *State) used(u core.Used) {
	a, now := s.AgentTable.Mut(u.Agent), s.Meta.Clock
	next := noun.LifeUsage{}
	if n := a.Notes().Used; n != nil {
		next = *n
	}
	switch {
	case u.Inc < next.Inc || s.Level() < core.LevelRetry:
		return // a newer life has reported
	case u.Inc > next.Inc:
		next = noun.LifeUsage{Inc: u.Inc, At: now.Add(-time.Minute), Clamped: next.Clamped, Day: next.Day,
			Stage: next.Stage}
	}
	if a.Task != 0 && u.Inc == a.Inc {
		next.Task = a.Task
	}
	if next.Run != u.Run {
		next.Run, next.Seen = u.Run, noun.Usage{}
	}
	total, span := u.Total(), now.Sub(next.At)
	said := total.Since(next.Seen)
	more := said.Least(noun.UsageIn(span))
	switch {
	case more == said:
		next.Seen = next.Seen.Most(total)
	case span < noun.UsageRest: // too short to call it more than can be: the next report says the rest, too
		next.Seen = next.Seen.Plus(more)
	default:
		next.Seen = next.Seen.Most(total)
		next.Clamped++
		s.Tally.UsageClamped++
	}
	next.At = now
	if more == (noun.Usage{}) {
		a.Note(func(n *noun.Notes) { n.Used = &next })
		return
	}
	next.Worked = now
	if more.Tools > 0 {
		next.Tool = now
	}
	next.Life, next.Kinds, next.Day = next.Life.Plus(more), kinds(u.Kinds()), next.Day.With(now, more)
	a.Note(func(n *noun.Notes) { n.Used = &next })
	s.Hooks.AgentExcused.Call(a)
	if t := s.TaskTable.Mut(next.Task); t != nil {
		sum := more
		if t.Used != nil {
			sum = sum.Plus(*t.Used)
		}
		t.Used = &sum
	}
	s.count(a, more)
}

// begun notes the task that a life has begun: it may be over before the next report.
func (s *State) begun(m core.TaskMove) {
	if !m.State.Held() || m.From.Held() {
		return
	}
	a := s.AgentTable.Mut(m.Holder)
	if u := a.Notes().Used; u != nil && u.Inc == m.HolderInc {
		next := *u
		next.Task = m.ID
		a.Note(func(n *noun.Notes) { n.Used = &next })
	}
}

// kinds keeps uses of tools by kind as they were told, none when there are none.
func kinds(told [noun.ToolKinds]uint64) []uint64 {
	if told == [noun.ToolKinds]uint64{} {
		return nil
	}
	return told[:]
}

// count adds usage to the role and the room of an agent, and looks what is left of the budgets.
func (s *State) count(a *noun.Agent, more noun.Usage) {
	s.reviewAgent(a)
	if r := s.RoleTable.Mut(a.Role); !r.Retired {
		next := spent(r.Spent)
		next.Day = next.Day.With(s.Meta.Clock, more)
		s.reviewRole(r, next)
	}
	if rm := s.RoomTable.Mut(a.Room); !rm.Deleting {
		next := spent(rm.Spent)
		next.Day = next.Day.With(s.Meta.Clock, more)
		s.reviewRoom(rm, next)
	}
}

func spent(p *noun.Spent) noun.Spent {
	if p == nil {
		return noun.Spent{}
	}
	return *p
}

// judge brings the stage of a budget in line with the window and a human's word.
func (s *State) judge(p *noun.Spent, limit noun.SpendLimit) {
	now := s.Meta.Clock
	if p.Lifted <= now {
		p.Lifted, p.By = 0, ""
	}
	p.Day = p.Day.At(now)
	p.Stage = noun.StageFree
	if p.Lifted == 0 {
		p.Stage = limit.Stage(p.Day.Sum(now))
	}
}

// reviewRole makes next what a role has spent, judged anew.
func (s *State) reviewRole(r *noun.Role, next noun.Spent) {
	was := stageOf(r.Spent)
	s.judge(&next, r.Spec.Spend())
	s.setRole(r, &next)
	if next.Stage != was {
		rm := s.RoomTable.Get(r.Room)
		s.moved(core.About{Room: rm.ID}, noun.Escalation{Subject: s.RoleName(r.ID), Room: rm.Name}, was, next.Stage,
			"role "+r.Spec.Name, r.Spec.Spend(), next.Day)
		s.BarRole(r)
	}
}

// reviewRoom makes next what a room has spent, judged anew.
func (s *State) reviewRoom(rm *noun.Room, next noun.Spent) {
	was := stageOf(rm.Spent)
	s.judge(&next, rm.Spend)
	s.setRoom(rm, &next)
	if next.Stage != was {
		s.moved(core.About{Room: rm.ID}, noun.Escalation{Subject: rm.Name, Room: rm.Name}, was, next.Stage,
			"the room", rm.Spend, next.Day)
		for _, id := range rm.Roles {
			s.BarRole(s.RoleTable.Mut(id))
		}
	}
}

// reviewAgent judges anew what an agent has spent.
func (s *State) reviewAgent(a *noun.Agent) {
	u := a.Notes().Used
	if u == nil {
		return
	}
	r := s.RoleTable.Get(a.Role)
	judged := noun.Spent{Day: u.Day, Lifted: spent(r.Spent).Lifted}
	s.judge(&judged, r.Spec.SpendEach())
	next, was, before := *u, u.Stage, core.ShadowOf(a)
	next.Day, next.Stage = judged.Day, judged.Stage
	if len(next.Day) != len(u.Day) || next.Stage != was {
		a.Note(func(n *noun.Notes) { n.Used = &next })
	}
	s.Rearm(core.TimerAgent, uint64(a.ID), &a.Armed, s.AgentRow(a))
	if next.Stage != was {
		rm := s.RoomTable.Get(a.Room)
		s.moved(core.About{Agent: a}, noun.Escalation{Subject: agentSubject(a), Agent: a.Name, Inc: a.Inc, Room: rm.Name},
			was, next.Stage, "the agent", r.Spec.SpendEach(), next.Day)
		s.BarAgent(a, before)
	}
}

// moved tells people that a budget stands otherwise than before.
func (s *State) moved(about core.About, e noun.Escalation, was, now noun.Stage, whose string, l noun.SpendLimit,
	day noun.Day) {
	e.Kind, e.Priority = noun.EscBudget, noun.MailNormal
	if was == noun.StageOut { // what waited for it was no stall of the room
		s.Hooks.RoomResumed.Call(s.Room(e.Room).ID)
	}
	text := l.Text(day.Sum(s.Meta.Clock)) + " within 24 h, " + whose
	switch {
	case now == noun.StageFree:
		s.Event("budget.free", about, whose+" is within its budget again, or has none that counts")
		s.Hooks.Over.Call(e)
		return
	case now == noun.StageOut:
		e.Priority = noun.MailHigh
		s.Event("budget.out", about, text+": nothing new is started or claimed")
	case was == noun.StageOut:
		s.Event("budget.free", about, text+": starts and claims go on")
		return // a human knows of it
	default:
		s.Event("budget.warned", about, text)
	}
	e.Facts = []noun.KV{{Key: "budget_stage", Value: now.String()},
		{Key: "budget_used", Value: l.Text(day.Sum(s.Meta.Clock))}}
	s.Hooks.Human.Call(e)
}

// roleTimer tells the timers of roles from those of rooms.
const roleTimer = 1 << 40

// setRole replaces what a role has spent; nil: nothing.
func (s *State) setRole(r *noun.Role, next *noun.Spent) {
	was := spent(r.Spent)
	armed := was.Armed
	r.Spent = next
	row := due.Row{}
	if next != nil {
		next.Armed = armed
		row = s.roleRow(r)
	} else if was.Stage > noun.StageFree {
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscBudget, Subject: s.RoleName(r.ID)})
	}
	s.Rearm(core.TimerUsage, roleTimer|uint64(r.ID), &armed, row)
	if next != nil {
		next.Armed = armed
	}
}

// setRoom replaces what a room has spent; nil: nothing.
func (s *State) setRoom(rm *noun.Room, next *noun.Spent) {
	was := spent(rm.Spent)
	armed := was.Armed
	rm.Spent = next
	row := due.Row{}
	if next != nil {
		next.Armed = armed
		row = s.roomRow(rm)
	} else if was.Stage > noun.StageFree {
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscBudget, Subject: rm.Name})
	}
	s.Rearm(core.TimerUsage, uint64(rm.ID), &armed, row)
	if next != nil {
		next.Armed = armed
	}
}

// fire looks at a budget again.
func (s *State) fire(id uint64) {
	if id&roleTimer != 0 {
		if r := s.RoleTable.Mut(noun.RoleID(id &^ roleTimer)); r != nil && r.Spent != nil {
			next := *r.Spent
			lifted := next.Lifted
			next.Armed, r.Spent = 0, &noun.Spent{Day: next.Day, Stage: next.Stage, Lifted: next.Lifted, By: next.By}
			s.reviewRole(r, next)
			if lifted != 0 && r.Spent.Lifted == 0 {
				s.reviewAgents(r)
			}
		}
		return
	}
	if rm := s.RoomTable.Mut(noun.RoomID(id)); rm != nil && rm.Spent != nil {
		next := *rm.Spent
		next.Armed, rm.Spent = 0, &noun.Spent{Day: next.Day, Stage: next.Stage, Lifted: next.Lifted, By: next.By}
		s.reviewRoom(rm, next)
	}
}

// reviewAgents judges all agents of a role anew.
func (s *State) reviewAgents(r *noun.Role) {
	for _, id := range r.Agents {
		if s.AgentTable.Get(id).Notes().Used != nil {
			s.Weigh(1)
			s.reviewAgent(s.AgentTable.Mut(id))
		}
	}
}

// reviewAll judges everything of a room anew: its budgets may have changed.
func (s *State) reviewAll(rm *noun.Room) {
	rm = s.RoomTable.Mut(rm.ID)
	if rm.Spent != nil {
		s.reviewRoom(rm, *rm.Spent)
	}
	for _, id := range rm.Roles {
		r := s.RoleTable.Mut(id)
		if r.Spent == nil || r.Retired {
			continue // nor has any of its agents used anything
		}
		s.reviewRole(r, *r.Spent)
		s.reviewAgents(r)
	}
}
