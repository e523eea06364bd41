package core

import "vigil/fsm/noun"

// fate is what a change of its room means for an agent.
type fate uint8

const (
	fateStays    fate = iota // declared as before
	fateFinishes             // goes when the task that it holds is over
	fateEnds                 // goes
	fateStops                // stays declared, and its role is declared as stopped
)

// fateOf tells what becomes of an agent when its role gets this spec; now: nobody is waited
// for. Applying a room and planning it both ask it.
func fateOf(a *noun.Agent, spec *noun.RoleSpec, now bool) fate {
	waits := !now && a.Task != 0 && a.Order != noun.StopOrder && !a.Stopped && spec.Desired != noun.DesiredStopped
	switch over := a.Index > spec.Replicas; {
	case over && waits:
		return fateFinishes
	case over:
		return fateEnds
	case spec.Desired == noun.DesiredStopped:
		return fateStops
	}
	return fateStays
}

// RoomPlan is what a change of a room would do.
type RoomPlan struct {
	New, Gone bool
	Roles     []RolePlan // those that go last
}

// RolePlan is what it would do to a role.
type RolePlan struct {
	Name     string
	Was, Now *noun.RoleSpec // with all defaults; nil: there was none, there will be none
	Starts   uint32         // agents that vigil starts because of it
	Ends     []noun.AgentID // that have a life and are ended at once
	Finishes []noun.AgentID // that end when the task that they hold is over
	Canceled uint32         // open tasks
}

// Harm counts the agents that would be ended at work, and the tasks that would be canceled.
func (v *View) Harm(p *RoomPlan) (atWork, canceled uint32) {
	for i := range p.Roles {
		canceled += p.Roles[i].Canceled
		for _, id := range p.Roles[i].Ends {
			if v.AgentTable.Get(id).Task != 0 {
				atWork++
			}
		}
	}
	return atWork, canceled
}

// harmless refuses a plan that does harm.
func (v *View) harmless(room string, p *RoomPlan) noun.Outcome {
	atWork, canceled := v.Harm(p)
	if atWork == 0 && canceled == 0 {
		return noun.Outcome{}
	}
	return Refuse(noun.Conflict,
		"room %q: this would end %s at work and cancel %s; look at the plan with --dry-run, and allow it with --yes",
		room, noun.Plural(atWork, "agent"), noun.Plural(canceled, "task"))
}

// PlanApply tells what ApplyRoom would do, when CheckRoom has nothing against it.
func (v *View) PlanApply(c *ApplyRoom) RoomPlan {
	rm := v.Room(c.Room)
	p := RoomPlan{New: rm == nil}
	declared := map[string]bool{}
	for i := range c.Roles {
		spec := c.Roles[i]
		v.fillDefaults(&spec)
		declared[spec.Name] = true
		var r *noun.Role
		if rm != nil {
			r = v.RoleTable.Get(v.roleByName[roleKey{rm.ID, spec.Name}])
		}
		p.Roles = append(p.Roles, v.planRole(r, &spec, c.Now))
	}
	if rm == nil {
		return p
	}
	for _, id := range rm.Roles {
		if r := v.RoleTable.Get(id); !declared[r.Spec.Name] && !r.Retired {
			p.Roles = append(p.Roles, v.planEnd(r))
		}
	}
	return p
}

// planRole is the plan of a role that is declared as spec; r is nil when it is new.
func (v *View) planRole(r *noun.Role, spec *noun.RoleSpec, now bool) RolePlan {
	p := RolePlan{Name: spec.Name, Now: spec}
	starts := spec.Runner != "" && spec.Start == noun.StartAlways && spec.Desired == noun.DesiredRunning
	slots := uint32(0)
	if r != nil {
		if !r.Retired {
			was := r.Spec
			p.Was = &was
		}
		awake := r.Retired || r.Spec.Desired != noun.DesiredRunning || r.Spec.Runner == "" ||
			r.Spec.Start != noun.StartAlways
		for _, id := range r.Agents {
			a := v.AgentTable.Get(id)
			f := fateOf(a, spec, now)
			if a.Index <= spec.Replicas {
				slots++
			}
			switch lives := v.lives(a); {
			case f == fateFinishes:
				p.Finishes = append(p.Finishes, id)
			case f != fateStays && lives:
				p.Ends = append(p.Ends, id)
			case f == fateStays && !lives && !a.Stopped && starts && (awake || a.Retired):
				p.Starts++
			}
		}
	}
	if starts {
		p.Starts += spec.Replicas - slots
	}
	return p
}

// planEnd is the plan of a role that goes with all its agents.
func (v *View) planEnd(r *noun.Role) RolePlan {
	was := r.Spec
	p := RolePlan{Name: r.Spec.Name, Was: &was}
	for _, id := range r.Agents {
		if v.lives(v.AgentTable.Get(id)) {
			p.Ends = append(p.Ends, id)
		}
	}
	return p
}

// lives tells that something of the agent runs, or is about to, and is not being ended yet.
func (v *View) lives(a *noun.Agent) bool {
	return a.Order != noun.StopOrder && (a.Proc == noun.ProcOrdered || a.Proc.Fenced() ||
		a.Part != noun.PartDisconnected)
}

// PlanDelete tells what DeleteRoom would do.
func (v *View) PlanDelete(room string) RoomPlan {
	p := RoomPlan{Gone: true}
	if rm := v.Room(room); rm != nil && !rm.Deleting {
		for _, id := range rm.Roles {
			role := v.planEnd(v.RoleTable.Get(id))
			role.Canceled = v.openTasks(id)
			p.Roles = append(p.Roles, role)
		}
	}
	return p
}

// dismiss retires an agent that had a task to finish before it goes. It is part of settle,
// so nothing else is changed here but the order: an agent by hand goes with its lease.
func (s *State) dismiss(a *noun.Agent) {
	if !a.Surplus || a.Task != 0 {
		return
	}
	a.Surplus, a.Retired = false, true
	why := "its task is over and its role has fewer replicas"
	if a.Proc == noun.ProcOrdered {
		s.withdraw(a, why)
	}
	s.OpenStop(a, why)
}
