package core

import (
	"strings"
	"time"

	"vigil/fsm/noun"
)

// SetPause pauses or resumes everything (Scope ""), a room ("room") or an agent
// ("room/role.2"): while paused nothing is started and no new task is claimed;
// what runs goes on. A pause ends by itself after For, 1 s to 365 days; 0: never.
type SetPause struct {
	Scope      string
	Pause      bool
	By, Reason string
	For        time.Duration
}

// Apply pauses or resumes an agent, a room or everything (law L9). Orders that no
// host has accepted are withdrawn; what runs goes on and finishes its task. It is
// idempotent: a second pause keeps who was first, unless it sets another end.
func (c SetPause) Apply(s *State) noun.Outcome {
	if no := checkFor(c.For, c.Pause); no.Code != noun.OK {
		return no
	}
	reason := noun.Clip(c.Reason, noun.MaxReason)
	switch _, _, agent := strings.Cut(c.Scope, "/"); {
	case c.Scope == "":
		return s.pauseAll(&c, reason)
	case agent:
		return s.pauseAgent(&c, reason)
	}
	return s.pauseRoom(&c, reason)
}

func (s *State) pauseAgent(c *SetPause, reason string) noun.Outcome {
	a, no := s.ChangeableAgent(c.Scope, 0)
	if a == nil {
		return no
	}
	out := a.Outcome()
	end := noun.EndIn(s.Meta.Clock, c.For)
	if a.Paused != c.Pause || end != a.Ends().Pause {
		s.Touch(a.Room)
		was := ShadowOf(a)
		if c.Pause {
			a.Paused = true
			a.Note(func(n *noun.Notes) { n.PauseBy, n.PauseAt, n.PauseWhy = c.By, s.Entry.Wall, reason })
			a.SetEnds(noun.Ends{Stop: a.Ends().Stop, Pause: end})
			s.Event("agent.paused", About{Agent: a}, forText(c.For)+said(c.By, reason))
		} else {
			s.resumeAgent(a, said(c.By, reason))
		}
		s.intend(a, "paused by "+Nobody(c.By))
		s.Settle(a, was)
		if s.AgentTable.Get(out.Agent) == nil { // no longer declared, and this was its end
			return out
		}
		s.offer(s.RoleTable.Get(a.Role))
	}
	out.Rev = a.Rev
	if why := s.Paused(a); why != "" && !c.Pause {
		out.Detail = a.Name + " is " + s.PausedText(a, why)
	}
	return out
}

// resumeAgent ends the pause of an agent; why is for the event. The caller settles it.
func (s *State) resumeAgent(a *noun.Agent, why string) {
	a.Paused = false
	a.Note(func(n *noun.Notes) { n.PauseBy, n.PauseAt, n.PauseWhy = "", 0, "" })
	a.SetEnds(noun.Ends{Stop: a.Ends().Stop})
	s.Event("agent.resumed", About{Agent: a}, why)
}

func (s *State) pauseRoom(c *SetPause, reason string) noun.Outcome {
	rm, end := s.Room(c.Scope), noun.EndIn(s.Meta.Clock, c.For)
	switch {
	case rm == nil:
		return s.NoRoom(c.Scope)
	case rm.Deleting:
		return Refuse(noun.Stopped, "room %q is being deleted", c.Scope)
	case rm.Paused == c.Pause && rm.PauseEnd == end:
		return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
	}
	rm = s.RoomTable.Mut(rm.ID)
	s.Touch(rm.ID)
	if !c.Pause {
		s.resumeRoom(rm, said(c.By, reason))
		return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
	}
	rm.Paused, rm.PauseBy, rm.PauseAt, rm.PauseWhy = true, c.By, s.Entry.Wall, reason
	s.setEnd(timerRoom, uint64(rm.ID), &rm.PauseEnd, end)
	s.Event("room.paused", About{Room: rm.ID}, forText(c.For)+said(c.By, reason))
	s.roomPaused(rm)
	return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
}

// resumeRoom ends the pause of a room; why is for the event.
func (s *State) resumeRoom(rm *noun.Room, why string) {
	rm.Paused, rm.PauseBy, rm.PauseAt, rm.PauseWhy = false, "", 0, ""
	s.setEnd(timerRoom, uint64(rm.ID), &rm.PauseEnd, noun.End{})
	s.Event("room.resumed", About{Room: rm.ID}, why)
	s.Hooks.RoomUnpaused.Call(rm)
	s.roomPaused(rm)
}

// roomPaused follows the begin and the end of a pause of a room.
func (s *State) roomPaused(rm *noun.Room) {
	rm.Rev = s.Meta.Index
	s.Hooks.RoomChanged.Call(rm)
	s.Weigh(weightOfLook * len(rm.Roles) / looksPerWeight)
	for _, role := range rm.Roles {
		s.reviewRole(role)
		s.offer(s.RoleTable.Get(role))
	}
}

func (s *State) pauseAll(c *SetPause, reason string) noun.Outcome {
	m, end := &s.Meta, noun.EndIn(s.Meta.Clock, c.For)
	switch {
	case m.Paused == c.Pause && m.PauseEnd == end:
		return noun.Outcome{}
	case !c.Pause:
		s.resumeAll(said(c.By, reason))
		return noun.Outcome{Rev: m.Index}
	}
	m.Paused, m.PauseBy, m.PauseAt, m.PauseWhy = true, c.By, s.Entry.Wall, reason
	s.setEnd(timerPause, 0, &m.PauseEnd, end)
	s.Event("cluster.paused", About{}, forText(c.For)+said(c.By, reason))
	s.allPaused()
	return noun.Outcome{Rev: m.Index}
}

// resumeAll ends the pause of everything; why is for the event.
func (s *State) resumeAll(why string) {
	m := &s.Meta
	m.Paused, m.PauseBy, m.PauseAt, m.PauseWhy = false, "", 0, ""
	s.setEnd(timerPause, 0, &m.PauseEnd, noun.End{})
	s.Event("cluster.resumed", About{}, why)
	s.Hooks.Resumed.Call(struct{}{})
	s.allPaused()
}

// allPaused follows the begin and the end of a pause of everything.
func (s *State) allPaused() {
	s.reviewAll()
	for _, r := range s.RoleTable.From(0) {
		s.offer(r)
	}
}

// A pause changes nothing of the agents below it. Only start orders that no host has accepted are
// taken back, in steps like what goes: until its turn comes an order cannot be accepted any more.

// reviewPause puts a role among those with orders to take back, or takes it out.
func (s *State) reviewPause(r *noun.Role) {
	if s.roleIndex(r.ID).ordered.len() > 0 && s.RolePaused(r) != "" {
		s.withdrawing.Set(r.ID)
	} else {
		s.withdrawing.Delete(r.ID)
	}
}

// withdrawPaused takes back start orders of paused roles, as far as this entry may.
func (s *State) withdrawPaused() {
	for {
		id, any := s.withdrawing.Min()
		if !any {
			return
		}
		r := s.RoleTable.Get(id)
		for s.reviewPause(r); s.steps > 0; s.steps-- {
			first, any := s.roleIndex(id).ordered.first()
			if !any {
				break
			}
			a := s.AgentTable.Mut(first)
			was := ShadowOf(a)
			s.withdraw(a, s.pausedBy(r))
			s.Settle(a, was)
		}
		if s.reviewPause(r); s.steps <= 0 {
			return
		}
	}
}

// pausedBy says whose pause a role is under.
func (v *View) pausedBy(r *noun.Role) string {
	switch rm := v.RoomTable.Get(r.Room); v.RolePaused(r) {
	case "room_paused":
		return "paused by " + Nobody(rm.PauseBy)
	case "all_paused":
		return "paused by " + Nobody(v.Meta.PauseBy)
	case "budget":
		return "its budget is used up"
	}
	return appliedWhy(&r.Spec)
}

// offer wakes whoever waits for the role's tasks, after a pause.
func (s *State) offer(r *noun.Role) {
	if s.Pending(r.ID) > 0 {
		s.Result.Effects.Claimable = append(s.Result.Effects.Claimable, r.ID)
	}
}

// Paused tells which pause keeps the agent from starts and new tasks: "paused" (its
// own, or its role's), "room_paused", "all_paused" (law L9), "budget" (law L11), or "".
func (v *View) Paused(a *noun.Agent) string {
	if a.Paused {
		return "paused"
	}
	if why := v.RolePaused(v.RoleTable.Get(a.Role)); why != "" || !v.agentBarred(a) {
		return why
	}
	return "budget"
}

func (v *View) RolePaused(r *noun.Role) string {
	switch {
	case r.Spec.Desired == noun.DesiredPaused:
		return "paused"
	case v.RoomTable.Get(r.Room).Paused:
		return "room_paused"
	case v.Meta.Paused:
		return "all_paused"
	case v.roleBarred(r):
		return "budget"
	}
	return ""
}

// PausedText says who paused and how it is ended; code is what paused gave.
func (v *View) PausedText(a *noun.Agent, code string) string {
	rm, m := v.RoomTable.Get(a.Room), v.Meta
	switch {
	case code == "budget":
		return v.Hooks.BarredText(a)
	case code == "all_paused":
		return "paused with everything" + v.stillFor(m.PauseEnd) + " " + saidAt(m.PauseBy, m.PauseWhy, m.PauseAt) +
			"; `vigil resume` ends it"
	case code == "room_paused":
		return "paused with its room" + v.stillFor(rm.PauseEnd) + " " +
			saidAt(rm.PauseBy, rm.PauseWhy, rm.PauseAt) + "; `vigil room resume " + rm.Name + "` ends it"
	case a.Paused:
		n := a.Notes()
		return "paused" + v.stillFor(a.Ends().Pause) + " " + saidAt(n.PauseBy, n.PauseWhy, n.PauseAt) +
			"; `vigil agent resume " + a.Name + "` ends it"
	}
	return "declared as paused; apply the room with `desired: running`"
}

// said names who decided something, and why when that was said.
func said(by, why string) string {
	if why == "" {
		return "by " + Nobody(by)
	}
	return "by " + Nobody(by) + ": " + why
}

// saidAt is said with the wall time of it, for people.
func saidAt(by, why string, at noun.Wall) string {
	text := "by " + Nobody(by) + " on " + at.Text()
	if why == "" {
		return text
	}
	return text + " (" + why + ")"
}

// startDetail tells a human who asked for a start what still prevents it; empty:
// nothing that another human has decided.
func (v *View) startDetail(a *noun.Agent) string {
	switch code := v.WhyNot(a); code {
	case "stopped", "paused", "room_paused", "all_paused", "budget", "deleting", "retired", "unkillable":
		return a.Name + " is not started: " + v.Why(a.ID).Text
	}
	return ""
}
