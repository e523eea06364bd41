package core

import (
	"fmt"
	"slices"

	"vigil/fsm/noun"
)

// ApplyRoom creates or changes a room so that it has exactly these roles.
type ApplyRoom struct {
	Room  string
	Roles []noun.RoleSpec
	By    string
	IfRev uint64 // 0: whatever it is now
	// Watch is what the room sets for the watchdog; none: it stays as it is. At most one.
	Watch []noun.RoomWatch
	// Spend is the budget of the room; none: it stays as it is. At most one.
	Spend []noun.SpendLimit
	// Now ends agents beyond the replicas although they are at work; else they finish first.
	Now bool
	// Gentle refuses what would end agents at work.
	Gentle bool
}

func (c ApplyRoom) Apply(s *State) noun.Outcome {
	rm := s.Room(c.Room)
	if no := s.checkApply(&c, rm); no.Code != noun.OK {
		return no
	}
	if c.Gentle {
		if plan := s.PlanApply(&c); s.harmless(c.Room, &plan).Code != noun.OK {
			return s.harmless(c.Room, &plan)
		}
	}
	if rm == nil {
		s.Meta.Tombstones = s.withoutTombstone(c.Room) // a human wants it again
		rm = s.addRoom(c.Room)
	} else {
		rm = s.RoomTable.Mut(rm.ID)
	}
	rm.ChangedBy, rm.Rev = c.By, s.Meta.Index
	var roles []noun.RoleID
	for i := range c.Roles {
		roles = append(roles, s.applyRole(rm, c.Roles[i], c.Now))
	}
	s.steps = max(s.steps, stepsPerWord)
	for _, id := range roles {
		s.carryOut(s.RoleTable.Mut(id))
	}
	for _, id := range rm.Roles {
		if !slices.Contains(roles, id) && !s.dropRole(s.RoleTable.Mut(id)) {
			roles = append(roles, id)
		}
	}
	rm = s.RoomTable.Mut(rm.ID)
	rm.Roles = roles
	for _, l := range c.Spend {
		if rm.Spend != l {
			rm.Spent = rm.Spent.Unlifted()
		}
		rm.Spend = l
	}
	for i := range c.Watch {
		rm.Watch = c.Watch[i]
	}
	s.Event("room.applied", About{Room: rm.ID}, fmt.Sprintf("%s, by %s", noun.Plural(len(c.Roles), "role"), Nobody(c.By)))
	s.Touch(rm.ID)
	s.Hooks.RoomChanged.Call(rm)
	return noun.Outcome{Room: rm.ID, Rev: rm.Rev}
}

func (s *State) addRoom(name string) *noun.Room {
	id := s.Meta.NextRoom
	s.Meta.NextRoom++
	rm := s.RoomTable.Put(id)
	rm.ID, rm.Name, rm.CreatedAt = id, name, s.Entry.Wall
	s.roomByName[name] = id
	s.roomNames.Set(name)
	return rm
}

// CheckRoom tells what ApplyRoom would answer, without changing anything.
func (v *View) CheckRoom(c *ApplyRoom) noun.Outcome { return v.checkApply(c, v.Room(c.Room)) }

// checkApply refuses what would lose something or cannot work.
func (v *View) checkApply(c *ApplyRoom, rm *noun.Room) noun.Outcome {
	if err := noun.CheckName(c.Room); err != nil {
		return Refuse(noun.Invalid, "room name: %v", err)
	}
	switch {
	case rm != nil && rm.Deleting:
		return Refuse(noun.Stopped, "room %q is being deleted; wait until its agents have ended", c.Room)
	case c.IfRev != 0 && rm == nil:
		return v.NoRoom(c.Room)
	case c.IfRev != 0 && c.IfRev != rm.Rev:
		return Changed(fmt.Sprintf("room %q", c.Room), c.IfRev, rm.Rev)
	case len(c.Spend) > 1:
		return Refuse(noun.Invalid, "room %q sets its budget %d times", c.Room, len(c.Spend))
	case len(c.Spend) == 1 && noun.CheckSpend(c.Spend[0]) != nil:
		return Refuse(noun.Invalid, "room %q: %v", c.Room, noun.CheckSpend(c.Spend[0]))
	case len(c.Watch) > 1:
		return Refuse(noun.Invalid, "room %q sets the watchdog %d times", c.Room, len(c.Watch))
	case len(c.Watch) == 1 && c.Watch[0].Check() != nil:
		return Refuse(noun.Invalid, "room %q: %v", c.Room, c.Watch[0].Check())
	case len(c.Roles) > noun.MaxRoles:
		return Refuse(noun.Invalid, "room %q has %d roles, at most %d are allowed", c.Room, len(c.Roles), noun.MaxRoles)
	}
	seen, agents := map[string]bool{}, uint64(0)
	for i := range c.Roles {
		spec := &c.Roles[i]
		if err := v.CheckRole(spec); err != nil {
			return Refuse(noun.Invalid, "role %d of room %q: %v", i+1, c.Room, err)
		}
		if seen[spec.Name] {
			return Refuse(noun.Invalid, "room %q declares role %q twice", c.Room, spec.Name)
		}
		seen[spec.Name] = true
		if agents += uint64(max(spec.Replicas, 1)); agents > noun.MaxRoomAgents {
			return Refuse(noun.Invalid, "room %q has more than %d agents; use several rooms", c.Room,
				noun.MaxRoomAgents)
		}
	}
	if rm == nil {
		return v.mayApply(c, nil)
	}
	for _, id := range rm.Roles {
		r := v.RoleTable.Get(id)
		if open := v.openTasks(id) - v.openAside(id); !seen[r.Spec.Name] && !r.Retired && open > 0 {
			return Refuse(noun.Conflict, "role %q would go but has %d open tasks; cancel them or keep the role",
				r.Spec.Name, open)
		}
	}
	return v.mayApply(c, rm)
}

func (v *View) openTasks(id noun.RoleID) (n uint32) {
	for st := noun.TaskQueued; st <= noun.TaskInProgress; st++ {
		n += v.roleIndex(id).Tasks[st]
	}
	return n
}

// applyRole makes the role what the spec says. Running agents keep running; the
// new values hold from their next start on. Its agents follow in steps, see carryOut.
func (s *State) applyRole(rm *noun.Room, spec noun.RoleSpec, now bool) noun.RoleID {
	s.fillDefaults(&spec)
	r := s.RoleTable.Mut(s.roleByName[roleKey{rm.ID, spec.Name}])
	if r == nil {
		id := s.Meta.NextRole
		s.Meta.NextRole++
		r = s.RoleTable.Put(id)
		r.ID, r.Room = id, rm.ID
		s.roleByName[roleKey{rm.ID, spec.Name}] = id
		s.roleIndexOf(id)
	}
	// What could not be started may start the way it is declared now.
	mended := r.Spec.Runner != spec.Runner || !slices.Equal(r.Spec.Params, spec.Params)
	how := r.Below & noun.BelowMended // of a word that is not carried out yet
	if mended {
		how |= noun.BelowMended
	}
	if now {
		how |= noun.BelowNow
	}
	same := !r.Retired && r.Spec.Replicas == spec.Replicas // the same of them are missing
	if r.Rev != 0 && s.Meta.Level >= LevelRetry && !r.Spec.StartsAs(&spec) {
		r.LifeRev = s.Meta.Index
	}
	if r.Spec.Spend() != spec.Spend() || r.Spec.SpendEach() != spec.SpendEach() {
		r.Spent = r.Spent.Unlifted()
	}
	r.Retired, r.Spec, r.Rev = false, spec, s.Meta.Index
	s.visitAgents(r, how)
	if s.reviewGrowth(r); !same {
		s.promise(r)
	}
	s.reviewRole(r.ID)
	s.offer(r) // it may have been declared as paused
	return r.ID
}

// changeAgent carries out on an agent what its role is declared as. Agents beyond the replicas
// finish the task that they hold, unless nobody is to wait for them.
func (s *State) changeAgent(r *noun.Role, a *noun.Agent) {
	was, task := ShadowOf(a), a.Task
	f := fateOf(a, &r.Spec, r.Below&noun.BelowNow != 0)
	a.Surplus, a.Retired = f == fateFinishes, f == fateEnds
	if r.Below&noun.BelowMended != 0 && a.Notes().StartFault != "" && !a.Parked {
		a.NotBefore = 0
	}
	s.intend(a, appliedWhy(&r.Spec))
	s.Settle(a, was)
	if t := s.TaskTable.Mut(task); t != nil { // its limits may end earlier now
		s.Rearm(TimerTask, uint64(t.ID), &t.Armed, s.TaskRow(t))
	}
}

// appliedWhy is the reason of the orders that follow from applying a role.
func appliedWhy(spec *noun.RoleSpec) string {
	switch spec.Desired {
	case noun.DesiredStopped:
		return "its role is declared as stopped"
	case noun.DesiredPaused:
		return "its role is declared as paused"
	}
	return "its role was applied without it"
}

func (s *State) addAgent(rm *noun.Room, r *noun.Role, index uint32) {
	id := s.Meta.NextAgent
	s.Meta.NextAgent++
	a := s.AgentTable.Put(id)
	a.ID, a.Room, a.Role, a.Index, a.Inc = id, rm.ID, r.ID, index, s.Meta.IncFloor
	a.Name = noun.AgentName(rm.Name, r.Spec.Name, index)
	s.LeaseTable.Put(id).TTL = int64(r.Spec.TTL)
	s.agentByName[a.Name] = id
	r.Agents = append(r.Agents, id) // beyond what any view can see
	s.Settle(a, shadow{id: id, role: r.ID})
}

func (v *View) RoleName(id noun.RoleID) string {
	r := v.RoleTable.Get(id)
	if r == nil {
		return "none"
	}
	return v.RoomTable.Get(r.Room).Name + "/" + r.Spec.Name
}
