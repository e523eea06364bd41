package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vigil/fsm/noun"
)

// warnAt is the percentage of a budget from which people are warned.
const warnAt = 80

// ReliefSteps bounds what one command removes to make space (law L11).
const ReliefSteps = 4096

// budget is what a purse may pay in all; room 0 is the cluster.
func (v *View) budget(p noun.Purse, room noun.RoomID) int64 {
	b := &v.Meta.Settings.Budget
	if room == 0 {
		return int64(*b.Of(p))
	}
	return int64(*b.Of(p) * uint64(b.RoomShare) / 100)
}

// over is by how much a purse, or a room's share of it, is beyond its whole budget.
func (v *View) over(p noun.Purse, room noun.RoomID) int64 {
	more := v.Ledger.of(p, 0) - v.budget(p, 0)
	if room != 0 && p < noun.RoomPurses {
		more = max(more, v.Ledger.of(p, room)-v.budget(p, room))
	}
	return more
}

// affords tells whether a client's growth by so many bytes fits into what is not reserved,
// of a room's share (room 0: it is not a room's) and of the cluster; of mail so many rows must go
// in any case. Where it fits only when something goes first, it says what.
func (v *View) affords(p noun.Purse, room noun.RoomID, bytes int64, rows int) (lists [2]Relief, no noun.Outcome) {
	for i, r := range [...]noun.RoomID{room, 0} {
		if i == 0 && (r == 0 || p >= noun.RoomPurses) {
			continue
		}
		budget := v.budget(p, r)
		missing := v.Ledger.of(p, r) + bytes - (budget - budget/10)
		more := 0
		if r == 0 {
			more = rows
		}
		if missing <= 0 && more <= 0 {
			continue
		}
		lists[i] = v.relief(p, r, missing, more)
		list := &lists[i]
		list.shrinks = list.Bytes < missing && list.More && list.Bytes > bytes && v.retries()
		if list.Bytes < missing && !list.shrinks || list.Rows < more {
			return lists, v.full(p, r, bytes)
		}
	}
	return lists, noun.Outcome{}
}

// stepsOfRelief are those of a command that may not remove all that is too much, and removes as much as it may.
const stepsOfRelief = noun.StepsPerEntry / 4

// Afford makes room for a client's growth, see affords. A refusal has changed nothing. Where much more than one command
// may remove has to go before it fits (a large batch has ended, a budget was lowered), it is let through all the same
// when that makes the purse smaller, so that such a purse shrinks by being used.
func (s *State) Afford(p noun.Purse, room noun.RoomID, bytes int64, rows int) noun.Outcome {
	if bytes <= 0 {
		return noun.Outcome{}
	}
	lists, no := s.affords(p, room, bytes, rows)
	if no.Code != noun.OK {
		return no
	}
	for i, r := range [...]noun.RoomID{room, 0} {
		switch list := &lists[i]; {
		case !list.shrinks:
		case s.steps > 0:
			s.steps -= stepsOfRelief
		default: // others of this entry have removed much
			*list = s.relief(p, r, 2*bytes, i*rows)
		}
	}
	for i := range lists {
		s.relieve(&lists[i])
	}
	return noun.Outcome{}
}

// full refuses with what is full, how much of it is used, and what helps.
func (v *View) full(p noun.Purse, room noun.RoomID, bytes int64) noun.Outcome {
	budget := v.budget(p, room)
	of, setting := "of the cluster", "budget_"+p.String()
	if room != 0 {
		of, setting = fmt.Sprintf("of room %q", v.RoomTable.Get(room).Name), setting+" or budget_room_share"
	}
	return Refuse(noun.Full,
		"%s %s may take %s of memory beside a tenth in reserve; %s are in use and this needs %s: %s, or raise setting %s",
		purseSays[p].what, of, noun.SizeText(uint64(budget-budget/10)),
		noun.SizeText(uint64(v.Ledger.of(p, room))), noun.SizeText(uint64(bytes)), purseSays[p].remedy, setting)
}

// purseSays is what a purse holds, and what frees it, in words.
var purseSays = [noun.Purses]struct{ what, remedy string }{
	noun.ForTasks:  {"tasks", "wait until open tasks are done, cancel some, or put long texts into files"},
	noun.ForMail:   {"mail", "let agents acknowledge what they have read, or send shorter mail to fewer of them"},
	noun.ForAgents: {"rooms, roles and agents", "delete rooms or apply fewer replicas"},
	noun.ForHosts:  {"hosts", "forget hosts that will not come back (`vigil host forget`)"},
	noun.ForSessions: {"sessions of clients",
		"close clients that are not needed; a session ends by itself after session_ttl"},
	noun.ForHistory: {"events, escalations and the audit", "close escalations"},
	noun.ForTrust: {"tokens, credentials and users",
		"revoke tokens that are not needed, forget hosts that will not come back, or remove users"},
}

// Remedy says what frees a purse.
func Remedy(p noun.Purse) string { return purseSays[p].remedy }

// TooMany refuses one more of what is bounded in number.
func TooMany(what string, have, most uint64, remedy, setting string) noun.Outcome {
	return Refuse(noun.Full, "there are %d %s, at most %d are allowed: %s, or raise setting %s", have, what,
		most, remedy, setting)
}

// tasksHere counts the tasks of a room (0: of all) that never go by themselves: the open ones, and those that wait for
// a human (law L11).
func (v *View) tasksHere(room noun.RoomID) (n uint64) {
	ri := v.RoomIndex(room)
	n = uint64(ri.Open)
	asks := uint64(ri.quarantined)
	if room == 0 {
		n, asks = v.OpenTasks(), v.taskCount[noun.TaskQuarantined]
	}
	if v.retries() {
		n += asks
	}
	return n
}

// mayAddTask refuses a task of a client that is beyond a budget.
func (s *State) mayAddTask(t *noun.Task) noun.Outcome {
	n, most := s.tasksHere(0), s.Meta.Settings.Budget.MaxTasks
	if n >= most {
		return TooMany(s.whatCounts()+" in the cluster", n, most, purseSays[noun.ForTasks].remedy, "max_open_tasks")
	}
	return s.mayAddToRoom(t)
}

// mayHandOn is mayAddTask for a task in the place of one that ends with it: there are no more than before.
func (s *State) mayHandOn(from, t *noun.Task) noun.Outcome {
	_, aside := s.Aside[from.ID]
	switch {
	case !s.retries():
		return s.mayAddTask(t)
	case aside: // it counts in no room
		return s.mayAddToRoom(t)
	}
	return s.Afford(noun.ForTasks, t.Room, noun.CostOfTask(t), 0)
}

// mayAddToRoom refuses a task that is beyond the share of its room.
func (s *State) mayAddToRoom(t *noun.Task) noun.Outcome {
	b := &s.Meta.Settings.Budget
	n, share := s.tasksHere(t.Room), max(1, b.MaxTasks*uint64(b.RoomShare)/100)
	if n >= share {
		return TooMany(fmt.Sprintf("%s in room %q", s.whatCounts(), s.RoomTable.Get(t.Room).Name), n, share,
			purseSays[noun.ForTasks].remedy, "max_open_tasks or budget_room_share")
	}
	return s.Afford(noun.ForTasks, t.Room, noun.CostOfTask(t), 0)
}

// whatCounts is what tasksHere counts, in words.
func (v *View) whatCounts() string {
	if v.retries() {
		return "open or QUARANTINED tasks"
	}
	return "open tasks"
}

// mayAddHost refuses a host that nobody has seen before and that is beyond a budget.
func (s *State) mayAddHost(c *RegisterHost) noun.Outcome {
	if n, most := uint64(s.HostTable.Len()), s.Meta.Settings.Budget.MaxHosts; n >= most {
		return TooMany("hosts", n, most, purseSays[noun.ForHosts].remedy, "max_hosts")
	}
	bytes := noun.CostOfHost(&noun.Host{Key: c.Key, Name: c.Name, Boot: c.Boot, Version: c.Version,
		GossipAddr: c.GossipAddr, Containment: c.Containment,
		Runners: c.Runners, Labels: c.Labels, Warnings: c.Warnings})
	return s.Afford(noun.ForHosts, 0, bytes, 0)
}

// mayApply refuses a room that would grow beyond a budget. rm is nil for a new one.
func (v *View) mayApply(c *ApplyRoom, rm *noun.Room) noun.Outcome {
	b := &v.Meta.Settings.Budget
	room, grows := noun.RoomID(0), int64(0)
	if rm == nil {
		if n := uint64(v.RoomTable.Len()); n >= b.MaxRooms {
			return TooMany("rooms", n, b.MaxRooms, "delete rooms that are not needed", "max_rooms")
		}
		grows = noun.CostOfRoom(&noun.Room{Name: c.Room, ChangedBy: c.By})
	} else {
		room = rm.ID
	}
	agents := uint64(0)
	for i := range c.Roles {
		n, bytes := v.roleGrowth(c.Room, room, &c.Roles[i])
		agents, grows = agents+n, grows+bytes
	}
	if have := uint64(v.AgentTable.Len() + v.promised); agents > 0 && have+agents > b.MaxAgents {
		return TooMany("agents", have, b.MaxAgents,
			fmt.Sprintf("this would add %d; apply fewer replicas or delete rooms", agents), "max_agents")
	}
	if ever := uint64(v.Meta.NextAgent) + uint64(v.promised); ever+agents > noun.AgentsEver {
		return Refuse(noun.Full, "this cluster has created %d agents in its life, it can create %d", ever,
			noun.AgentsEver)
	}
	if room == 0 && grows > v.budget(noun.ForAgents, 1)/10*9 { // of a room that has no number yet
		return Refuse(noun.Full,
			"room %q would take %s of memory, one room may take %s: "+
				"apply fewer replicas, or raise setting budget_agents or budget_room_share",
			c.Room, noun.SizeText(uint64(grows)), noun.SizeText(uint64(v.budget(noun.ForAgents, 1)/10*9)))
	}
	if grows <= 0 {
		return noun.Outcome{}
	}
	_, no := v.affords(noun.ForAgents, room, grows, 0) // nothing of this purse can go
	return no
}

// roleGrowth is how many agents a role would get that is applied, and what it would cost more.
func (v *View) roleGrowth(name string, room noun.RoomID, spec *noun.RoleSpec) (agents uint64, bytes int64) {
	bytes = noun.CostOfRole(&noun.Role{Spec: *spec})
	var have []noun.AgentID
	promised := uint64(0) // and charged already
	if r := v.RoleTable.Get(v.roleByName[roleKey{room, spec.Name}]); room != 0 && r != nil {
		if bytes -= noun.CostOfRole(r); !r.Retired && r.Spec.Replicas == max(spec.Replicas, 1) {
			return 0, bytes
		}
		missing := v.roleIndex(r.ID).missing
		have, promised, bytes = r.Agents, uint64(len(missing)), bytes-v.costOfMissing(r, missing...)
	}
	for _, i := range v.without(have, max(spec.Replicas, 1)) { // without making its name: there may be 100,000
		agents, bytes = agents+1, bytes+noun.CostAgent+noun.CostText+nameBytes(name, spec.Name, i)
	}
	return agents - promised, bytes
}

// nameBytes is the length of AgentName.
func nameBytes(room, role string, index uint32) int64 {
	n := int64(len(room) + 1 + len(role))
	if index > 1 {
		for n++; index > 0; index /= 10 {
			n++
		}
	}
	return n
}

// BudgetUse is how much of one limit is in use.
type BudgetUse struct {
	Name    string // of the setting, without its prefix: tasks, mail, ..., rooms, open_tasks
	Room    string // empty: of the cluster
	Used    uint64
	Limit   uint64 // of what clients may add, without the reserve
	Budget  uint64 // with it; the same as Limit for what is counted
	Counted bool   // in numbers, not in bytes
}

// High tells that people should be warned.
func (u *BudgetUse) High() bool { return u.Used >= u.Budget/100*warnAt+u.Budget%100*warnAt/100 }

// Warning is a sentence for people about a use that is high.
func (u *BudgetUse) Warning() string {
	used, most := noun.SizeText(u.Used), noun.SizeText(u.Budget)
	setting := "budget_" + u.Name
	if u.Counted {
		used, most, setting = strconv.FormatUint(u.Used, 10), strconv.FormatUint(u.Budget, 10), "max_"+u.Name
	}
	of := ""
	if u.Room != "" {
		of = fmt.Sprintf(" of room %q", u.Room)
	}
	return fmt.Sprintf("The budget %s%s is nearly used up, or is: %s of %s; "+
		"when it is full, what is new is refused. `vigil settings show` tells what it is for (%s).",
		strings.ReplaceAll(u.Name, "_", " "), of, used, most, setting)
}

// Budgets lists how much is used of every limit of the cluster, in a fixed order.
func (v *View) Budgets() (list []BudgetUse) {
	for p := noun.ForTasks; p < noun.Purses; p++ {
		list = append(list, v.budgetUse(p, 0))
	}
	b := &v.Meta.Settings.Budget
	for _, c := range []struct {
		name       string
		used, most uint64
	}{{"open_tasks", v.tasksHere(0), b.MaxTasks}, {"rooms", uint64(v.RoomTable.Len()), b.MaxRooms},
		{"agents", uint64(v.AgentTable.Len()), b.MaxAgents},
		{"hosts", uint64(v.HostTable.Len()), b.MaxHosts}, {"sessions", uint64(v.SessionTable.Len()), b.MaxSessions}} {
		list = append(list, BudgetUse{Name: c.name, Used: c.used, Limit: c.most, Budget: c.most, Counted: true})
	}
	return list
}

func (v *View) budgetUse(p noun.Purse, room noun.RoomID) BudgetUse {
	budget := v.budget(p, room)
	u := BudgetUse{Name: p.String(), Used: uint64(v.Ledger.of(p, room)), Limit: uint64(budget - budget/10),
		Budget: uint64(budget)}
	if room != 0 {
		u.Room = v.RoomTable.Get(room).Name
	}
	return u
}

// RoomBudgets lists the rooms of whose shares much is used, at most so many, by name. It
// costs a walk over all rooms.
func (v *View) RoomBudgets(most int) (list []BudgetUse) {
	v.roomNames.Scan(func(name string) bool {
		for p := range noun.RoomPurses {
			if u := v.budgetUse(p, v.roomByName[name]); u.High() {
				list = append(list, u)
			}
		}
		return len(list) < most
	})
	return slices.Clip(list[:min(most, len(list))])
}
