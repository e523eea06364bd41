package fsm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// BudgetSettings bound what the state may hold. A budget is in bytes as the ledger counts
// them, see Purse. New tasks, mail, joins by hand, sessions, hosts, rooms and agents may use
// nine tenths of one; the last tenth is for what is never refused: facts of hosts, results,
// what humans want and what vigil writes by itself. When that is used up too, their texts
// are cut.
type BudgetSettings struct {
	Tasks, Mail, Agents, Hosts, Sessions, History uint64 // in bytes, by Purse

	RoomShare uint32 // percentage of a budget, and of MaxTasks, that one room may use

	MaxTasks    uint64 // that have not ended
	MaxRooms    uint64
	MaxAgents   uint64
	MaxHosts    uint64
	MaxSessions uint64
}

func defaultBudget() BudgetSettings {
	return BudgetSettings{
		Tasks: 576 << 20, Mail: 64 << 20, Agents: 640 << 20, Hosts: 16 << 20, Sessions: 128 << 20, History: 64 << 20,
		RoomShare: 50, MaxTasks: 2_000_000, MaxRooms: 10_000, MaxAgents: 1_000_000, MaxHosts: 10_000, MaxSessions: 100_000,
	}
}

// of is the budget of a purse.
func (b *BudgetSettings) of(p Purse) *uint64 {
	return [...]*uint64{&b.Tasks, &b.Mail, &b.Agents, &b.Hosts, &b.Sessions, &b.History}[p]
}

// Total is the sum of all budgets in bytes.
func (b *BudgetSettings) Total() (n uint64) {
	for p := ForTasks; p < purses; p++ {
		n += *b.of(p)
	}
	return n
}

// warnAt is the percentage of a budget from which people are warned.
const warnAt = 80

// reliefSteps bounds what one command removes to make space (law L11).
const reliefSteps = 4096

// budget is what a purse may pay in all; room 0 is the cluster.
func (v *View) budget(p Purse, room RoomID) int64 {
	b := &v.meta.Settings.Budget
	if room == 0 {
		return int64(*b.of(p))
	}
	return int64(*b.of(p) * uint64(b.RoomShare) / 100)
}

// over is by how much a purse, or a room's share of it, is beyond its whole budget.
func (v *View) over(p Purse, room RoomID) int64 {
	more := v.ledger.of(p, 0) - v.budget(p, 0)
	if room != 0 && p < roomPurses {
		more = max(more, v.ledger.of(p, room)-v.budget(p, room))
	}
	return more
}

// affords tells whether a client's growth by so many bytes fits into what is not reserved,
// of a room's share (room 0: it is not a room's) and of the cluster; of mail so many rows must go
// in any case. Where it fits only when something goes first, it says what.
func (v *View) affords(p Purse, room RoomID, bytes int64, rows int) (lists [2]relief, no Outcome) {
	for i, r := range [...]RoomID{room, 0} {
		if i == 0 && (r == 0 || p >= roomPurses) {
			continue
		}
		budget := v.budget(p, r)
		missing := v.ledger.of(p, r) + bytes - (budget - budget/10)
		more := 0
		if r == 0 {
			more = rows
		}
		if missing <= 0 && more <= 0 {
			continue
		}
		if lists[i] = v.relief(p, r, missing, more); lists[i].bytes < missing || len(lists[i].mails) < more {
			return lists, v.full(p, r, bytes)
		}
	}
	return lists, Outcome{}
}

// afford makes room for a client's growth, see affords. A refusal has changed nothing.
func (s *State) afford(p Purse, room RoomID, bytes int64, rows int) Outcome {
	if bytes <= 0 {
		return Outcome{}
	}
	lists, no := s.affords(p, room, bytes, rows)
	if no.Code != OK {
		return no
	}
	for i := range lists {
		s.relieve(&lists[i])
	}
	return Outcome{}
}

// full refuses with what is full, how much of it is used, and what helps.
func (v *View) full(p Purse, room RoomID, bytes int64) Outcome {
	budget := v.budget(p, room)
	of, setting := "of the cluster", "budget_"+p.String()
	if room != 0 {
		of, setting = fmt.Sprintf("of room %q", v.rooms.Get(room).Name), setting+" or budget_room_share"
	}
	return refuse(Full, "%s %s may take %s of memory beside a tenth in reserve; %s are in use and this needs %s: %s, or raise setting %s",
		purseSays[p].what, of, sizeText(uint64(budget-budget/10)), sizeText(uint64(v.ledger.of(p, room))), sizeText(uint64(bytes)), purseSays[p].remedy, setting)
}

// purseSays is what a purse holds, and what frees it, in words.
var purseSays = [purses]struct{ what, remedy string }{
	ForTasks:    {"tasks", "wait until open tasks are done, cancel some, or put long texts into files"},
	ForMail:     {"mail", "let agents acknowledge what they have read, or send shorter mail to fewer of them"},
	ForAgents:   {"rooms, roles and agents", "delete rooms or apply fewer replicas"},
	ForHosts:    {"hosts", "forget hosts that will not come back (`vigil host forget`)"},
	ForSessions: {"sessions of clients", "close clients that are not needed; a session ends by itself after session_ttl"},
	ForHistory:  {"events and escalations", "close escalations"},
}

// tooMany refuses one more of what is bounded in number.
func tooMany(what string, have, most uint64, remedy, setting string) Outcome {
	return refuse(Full, "there are %d %s, at most %d are allowed: %s, or raise setting %s", have, what, most, remedy, setting)
}

// mayAddTask refuses a task of a client that is beyond a budget.
func (s *State) mayAddTask(t *Task) Outcome {
	b := &s.meta.Settings.Budget
	open := uint64(0)
	for st := TaskQueued; st <= TaskInProgress; st++ {
		open += s.taskCount[st]
	}
	if open >= b.MaxTasks {
		return tooMany("open tasks in the cluster", open, b.MaxTasks, purseSays[ForTasks].remedy, "max_open_tasks")
	}
	share := max(1, b.MaxTasks*uint64(b.RoomShare)/100)
	if open := uint64(s.roomIndex(t.Room).open); open >= share {
		return tooMany(fmt.Sprintf("open tasks in room %q", s.rooms.Get(t.Room).Name), open, share,
			purseSays[ForTasks].remedy, "max_open_tasks or budget_room_share")
	}
	bytes := costOfTask(t)
	return s.afford(ForTasks, t.Room, bytes, 0)
}

// mayAddHost refuses a host that nobody has seen before and that is beyond a budget.
func (s *State) mayAddHost(c *RegisterHost) Outcome {
	if n, most := uint64(s.hosts.Len()), s.meta.Settings.Budget.MaxHosts; n >= most {
		return tooMany("hosts", n, most, purseSays[ForHosts].remedy, "max_hosts")
	}
	bytes := costOfHost(&Host{Key: c.Key, Name: c.Name, Boot: c.Boot, Version: c.Version, GossipAddr: c.GossipAddr, Containment: c.Containment,
		Runners: c.Runners, Labels: c.Labels, Warnings: c.Warnings})
	return s.afford(ForHosts, 0, bytes, 0)
}

// maySend refuses the copies of a mail that are beyond a budget: in bytes, or in number.
func (s *State) maySend(draft *Mail, to []AgentID) Outcome {
	over := max(0, s.mails.Len()+len(to)-int(s.meta.Settings.MailKept))
	if over > s.mailsEnded.Len()/2 {
		return tooMany("mails, too few of them closed", uint64(s.mails.Len()), s.meta.Settings.MailKept, purseSays[ForMail].remedy, "mail_kept")
	}
	bytes := costOfMail(draft)
	return s.afford(ForMail, s.agents.Get(to[0]).Room, bytes*int64(len(to)), over)
}

// mayApply refuses a room that would grow beyond a budget. rm is nil for a new one.
func (v *View) mayApply(c *ApplyRoom, rm *Room) Outcome {
	b := &v.meta.Settings.Budget
	room, grows := RoomID(0), int64(0)
	if rm == nil {
		if n := uint64(v.rooms.Len()); n >= b.MaxRooms {
			return tooMany("rooms", n, b.MaxRooms, "delete rooms that are not needed", "max_rooms")
		}
		grows = costOfRoom(&Room{Name: c.Room, ChangedBy: c.By})
	} else {
		room = rm.ID
	}
	agents := uint64(0)
	for i := range c.Roles {
		n, bytes := v.roleGrowth(c.Room, room, &c.Roles[i])
		agents, grows = agents+n, grows+bytes
	}
	if have := uint64(v.agents.Len()); agents > 0 && have+agents > b.MaxAgents {
		return tooMany("agents", have, b.MaxAgents, fmt.Sprintf("this would add %d; apply fewer replicas or delete rooms", agents), "max_agents")
	}
	if room == 0 && grows > v.budget(ForAgents, 1)/10*9 { // of a room that has no number yet
		return refuse(Full, "room %q would take %s of memory, one room may take %s: apply fewer replicas, or raise setting budget_agents or budget_room_share",
			c.Room, sizeText(uint64(grows)), sizeText(uint64(v.budget(ForAgents, 1)/10*9)))
	}
	if grows <= 0 {
		return Outcome{}
	}
	_, no := v.affords(ForAgents, room, grows, 0) // nothing of this purse can go
	return no
}

// roleGrowth is how many agents a role would get that is applied, and what it would cost more.
func (v *View) roleGrowth(name string, room RoomID, spec *RoleSpec) (agents uint64, bytes int64) {
	bytes = costOfRole(&Role{Spec: *spec})
	have := map[uint32]bool{}
	if r := v.roles.Get(v.roleByName[roleKey{room, spec.Name}]); room != 0 && r != nil {
		was := costOfRole(r)
		bytes -= was
		for _, id := range r.Agents {
			have[v.agents.Get(id).Index] = true
		}
	}
	for i := uint32(1); i <= max(spec.Replicas, 1); i++ {
		if !have[i] { // without making its name: there may be 100,000
			agents, bytes = agents+1, bytes+costAgent+costText+nameBytes(name, spec.Name, i)
		}
	}
	return agents, bytes
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
	used, most := sizeText(u.Used), sizeText(u.Budget)
	setting := "budget_" + u.Name
	if u.Counted {
		used, most, setting = strconv.FormatUint(u.Used, 10), strconv.FormatUint(u.Budget, 10), "max_"+u.Name
	}
	of := ""
	if u.Room != "" {
		of = fmt.Sprintf(" of room %q", u.Room)
	}
	return fmt.Sprintf("The budget %s%s is nearly used up, or is: %s of %s; when it is full, what is new is refused. `vigil settings show` tells what it is for (%s).",
		strings.ReplaceAll(u.Name, "_", " "), of, used, most, setting)
}

// Budgets lists how much is used of every limit of the cluster, in a fixed order.
func (v *View) Budgets() (list []BudgetUse) {
	for p := ForTasks; p < purses; p++ {
		list = append(list, v.budgetUse(p, 0))
	}
	b := &v.meta.Settings.Budget
	open := uint64(0)
	for st := TaskQueued; st <= TaskInProgress; st++ {
		open += v.taskCount[st]
	}
	for _, c := range []struct {
		name       string
		used, most uint64
	}{{"open_tasks", open, b.MaxTasks}, {"rooms", uint64(v.rooms.Len()), b.MaxRooms}, {"agents", uint64(v.agents.Len()), b.MaxAgents},
		{"hosts", uint64(v.hosts.Len()), b.MaxHosts}, {"sessions", uint64(v.sessions.Len()), b.MaxSessions}} {
		list = append(list, BudgetUse{Name: c.name, Used: c.used, Limit: c.most, Budget: c.most, Counted: true})
	}
	return list
}

func (v *View) budgetUse(p Purse, room RoomID) BudgetUse {
	budget := v.budget(p, room)
	u := BudgetUse{Name: p.String(), Used: uint64(v.ledger.of(p, room)), Limit: uint64(budget - budget/10), Budget: uint64(budget)}
	if room != 0 {
		u.Room = v.rooms.Get(room).Name
	}
	return u
}

// RoomBudgets lists the rooms of whose shares much is used, at most so many, by name. It
// costs a walk over all rooms.
func (v *View) RoomBudgets(most int) (list []BudgetUse) {
	v.roomNames.Scan(func(name string) bool {
		for p := range roomPurses {
			if u := v.budgetUse(p, v.roomByName[name]); u.High() {
				list = append(list, u)
			}
		}
		return len(list) < most
	})
	return slices.Clip(list[:min(most, len(list))])
}
