package core

import (
	"iter"
	"slices"
	"strings"
	"time"

	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// Queries read the live state. They belong under the lock that guards Apply;
// what they point to is good until the lock is given back and must not be
// changed. Nil means that there is no such thing.

// Clock is cluster time.
func (v *View) Clock() noun.Time { return v.Meta.Clock }

// LastIndex is the log index of the last entry applied.
func (v *View) LastIndex() uint64 { return v.Meta.Index }

// Epoch counts restored backups.
func (v *View) Epoch() uint32 { return v.Meta.Epoch }

// Settings are those in force.
func (v *View) Settings() *noun.Settings { return &v.Meta.Settings }

// SettingsRev is the log index of the last change of settings.
func (v *View) SettingsRev() uint64 { return v.Meta.SettingsRev }

// Stint is that of the newest leader.
func (v *View) Stint() noun.Stint { return v.Meta.Stint }

// Servers lists what servers have said of themselves, by id.
func (v *View) Servers() []noun.Server { return v.Meta.Servers }

// Diverged lists the servers whose state differs from the majority's.
func (v *View) Diverged() []string { return v.Meta.Diverged }

// Pause tells whether everything is paused, by whom, why and since when (law L9).
func (v *View) Pause() (paused bool, by, why string, at noun.Wall) {
	return v.Meta.Paused, v.Meta.PauseBy, v.Meta.PauseWhy, v.Meta.PauseAt
}

// PauseEnd is when the pause of everything ends by itself.
func (v *View) PauseEnd() noun.End { return v.Meta.PauseEnd }

// Brake is the mass-failure brake (law L11); it is set when Set is not 0.
func (v *View) Brake() noun.Brake { return v.Meta.Brake }

// Room finds a room by name.
func (v *View) Room(name string) *noun.Room { return v.RoomTable.Get(v.roomByName[name]) }

// RoomByID finds a room.
func (v *View) RoomByID(id noun.RoomID) *noun.Room { return v.RoomTable.Get(id) }

// Rooms yields the rooms behind the named one, by name; "" yields all.
func (v *View) Rooms(after string) iter.Seq[*noun.Room] {
	return func(yield func(*noun.Room) bool) {
		v.roomNames.Ascend(after, func(n string) bool { return n == after || yield(v.Room(n)) })
	}
}

// Role finds a role.
func (v *View) Role(id noun.RoleID) *noun.Role { return v.RoleTable.Get(id) }

// RoleByName finds a role of a room, retired ones included.
func (v *View) RoleByName(room, role string) *noun.Role {
	return v.RoleTable.Get(v.roleByName[roleKey{v.roomByName[room], role}])
}

// RoleStats counts a role's tasks by state and its agents.
type RoleStats struct {
	Tasks  [noun.TaskQuarantined + 1]uint32
	Agents uint32
	Live   uint32 // with a participant
}

// RoleStats counts; an unknown role has none.
func (v *View) RoleStats(id noun.RoleID) RoleStats {
	r := v.Role(id)
	if r == nil {
		return RoleStats{}
	}
	ri := v.RoleIdx.Get(id)
	return RoleStats{ri.Tasks, uint32(len(r.Agents)), ri.live}
}

// Agent finds an agent.
func (v *View) Agent(id noun.AgentID) *noun.Agent { return v.AgentTable.Get(id) }

// AgentByName finds an agent by room/role or room/role.2.
func (v *View) AgentByName(name string) *noun.Agent { return v.AgentTable.Get(v.agentByName[name]) }

// Lease is the proof of life of an agent.
func (v *View) Lease(id noun.AgentID) *noun.Lease { return v.LeaseTable.Get(id) }

// Agents yields the agents behind the named one in the order room, role, index;
// "" yields all. The order of roles is that of their declaration.
func (v *View) Agents(after string) iter.Seq[*noun.Agent] {
	afterRoom, _, _ := strings.Cut(after, "/")
	return func(yield func(*noun.Agent) bool) {
		found := v.AgentByName(after) == nil
		v.roomNames.Ascend(afterRoom, func(n string) bool {
			for _, role := range v.Room(n).Roles {
				for _, id := range v.Role(role).Agents {
					a := v.Agent(id)
					if !found {
						found = a.Name == after
						continue
					}
					if !yield(a) {
						return false
					}
				}
			}
			return true
		})
	}
}

// Task finds a task.
func (v *View) Task(id noun.TaskID) *noun.Task { return v.TaskTable.Get(id) }

// Tasks yields the tasks behind id, oldest first.
func (v *View) Tasks(after noun.TaskID) iter.Seq[*noun.Task] {
	return Values(v.TaskTable.From(after + 1))
}

// TasksBack yields the tasks below id (0: all), newest first.
func (v *View) TasksBack(before noun.TaskID) iter.Seq[*noun.Task] {
	if before == 0 {
		before = v.Meta.NextTask
	}
	return Values(v.TaskTable.Back(before))
}

// EndedTasks yields the tasks that have ended: those that wait for a human before the others, of both the last one
// first. It costs what is taken from it.
func (v *View) EndedTasks() iter.Seq[*noun.Task] {
	return func(yield func(*noun.Task) bool) {
		for id := range v.quarantinedOf(0) {
			if t := v.TaskTable.Get(id); v.asks(t) && !yield(t) {
				return
			}
		}
		v.Finished.Reverse(func(f FinishedTask) bool { return yield(v.TaskTable.Get(f.Id)) })
	}
}

// TasksEnded is how many tasks have ended since the cluster began, those that came back and ended again
// counted twice.
func (v *View) TasksEnded() uint64 { return v.Meta.FinishSeq }

// HoldLeft is for how long nothing is started since a backup was restored; 0: nothing holds starts.
func (v *View) HoldLeft() time.Duration { return max(0, v.Meta.HoldUntil.Sub(v.Meta.Clock)) }

func Values[K table.ID, T any](seq iter.Seq2[K, *T]) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, v := range seq {
			if !yield(v) {
				return
			}
		}
	}
}

// Pending counts the tasks of a role that can be claimed now: none while the role,
// its room or everything is paused.
func (v *View) Pending(id noun.RoleID) int {
	ri := v.RoleIdx.Get(id)
	if ri == nil || v.RolePaused(v.RoleTable.Get(id)) != "" {
		return 0
	}
	return int(ri.Tasks[noun.TaskPending])
}

// PausedAgents lists the agents of a role that are paused themselves, by id: they
// find no task, although Pending counts some. Usually it is nil.
func (v *View) PausedAgents(id noun.RoleID) (list []noun.AgentID) {
	if ri := v.RoleIdx.Get(id); ri == nil || ri.paused == 0 {
		return nil
	}
	for _, a := range v.RoleTable.Get(id).Agents {
		if v.AgentTable.Get(a).Paused {
			list = append(list, a)
		}
	}
	return list
}

// Tombstone tells who deleted the room of this name last; nil: nobody has, or it was
// made anew since. The room may still be there while something of it runs.
func (v *View) Tombstone(room string) *noun.Tombstone {
	for at := range v.Meta.Tombstones {
		if v.Meta.Tombstones[at].Room == room {
			return &v.Meta.Tombstones[at]
		}
	}
	return nil
}

// FirstPending is the task that the role's next claim gets; 0: none.
func (v *View) FirstPending(id noun.RoleID) noun.TaskID {
	ri := v.RoleIdx.Get(id)
	if ri == nil {
		return 0
	}
	first, _ := ri.first()
	return first
}

// Host finds a host.
func (v *View) Host(id noun.HostID) *noun.Host { return v.HostTable.Get(id) }

// HostByKey finds a host by the id in its own file.
func (v *View) HostByKey(key string) *noun.Host { return v.HostTable.Get(v.hostByKey[key]) }

// Hosts yields all hosts in the order of their first registration.
func (v *View) Hosts() iter.Seq[*noun.Host] { return Values(v.HostTable.From(0)) }

// HostOrders lists the agents with an open order on a host, in order.
func (v *View) HostOrders(id noun.HostID) []noun.AgentID {
	hi := v.hostIdx.Get(id)
	if hi == nil {
		return nil
	}
	list := make([]noun.AgentID, 0, len(hi.orders))
	for a := range hi.orders {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

// HostLoad is how many agents run, or are being started, on a host.
type HostLoad struct{ Running, Starting uint32 }

// HostLoad counts.
func (v *View) HostLoad(id noun.HostID) HostLoad {
	hi := v.hostIdx.Get(id)
	if hi == nil {
		return HostLoad{}
	}
	return HostLoad{hi.running, hi.starting}
}

// Events yields the history behind seq, oldest first.
func (v *View) Events(after uint64) iter.Seq[*noun.Event] {
	return Values(v.EventTable.From(after + 1))
}

// OldestEvent is the first event that is still kept, LastEvent the newest; 0: none.
func (v *View) OldestEvent() uint64 { return v.Meta.FirstEvent }

// LastEvent is the newest event; 0: none.
func (v *View) LastEvent() uint64 { return v.Meta.NextEvent - 1 }

// Counts sums up the state.
type Counts struct {
	Rooms, Agents, Live, Hosts, HostsReady uint32
	Parked                                 uint32 // agents that a breaker or a usage limit keeps from running
	Tasks                                  [noun.TaskQuarantined + 1]uint64
	Processes                              [noun.ProcUnproven + 1]uint32 // agents by state of their process
}

// Counts sums up; it costs a walk over the hosts.
func (v *View) Counts() Counts {
	c := Counts{Rooms: uint32(v.RoomTable.Len()), Agents: uint32(v.AgentTable.Len()), Live: v.live, Parked: v.parked,
		Hosts: uint32(v.HostTable.Len()), Tasks: v.taskCount, Processes: v.procCount}
	c.Processes[noun.ProcNone] = c.Agents
	for _, n := range c.Processes[noun.ProcOrdered:] {
		c.Processes[noun.ProcNone] -= n
	}
	for h := range v.Hosts() {
		if h.Status() == noun.HostReady {
			c.HostsReady++
		}
	}
	return c
}

// Wanted is how many agents should run by now: those of roles that a runner starts,
// without what humans have stopped. On-demand agents count while they run or something
// waits for one. It costs a walk over the roles.
func (v *View) Wanted() (n uint32) {
	for id, r := range v.RoleTable.From(0) {
		if r.Spec.Runner == "" || r.Spec.Desired == noun.DesiredStopped || r.Retired ||
			v.RoomTable.Get(r.Room).Deleting {
			continue
		}
		ri := v.RoleIdx.Get(id)
		most := uint32(len(r.Agents)) - ri.off
		if r.Spec.Start != noun.StartOnDemand {
			n += most
			continue
		}
		n += min(ri.lives+ri.starts(true), most)
	}
	return n
}

// OpenTasks counts the tasks that have not ended.
func (v *View) OpenTasks() (n uint64) {
	for st := noun.TaskQueued; st <= noun.TaskInProgress; st++ {
		n += v.taskCount[st]
	}
	return n
}
