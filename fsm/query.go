package fsm

import (
	"iter"
	"slices"
	"strings"
)

// Queries read the live state. They belong under the lock that guards Apply;
// what they point to is good until the lock is given back and must not be
// changed. Nil means that there is no such thing.

// Clock is cluster time.
func (i *Image) Clock() Time { return i.meta.Clock }

// LastIndex is the log index of the last entry applied.
func (i *Image) LastIndex() uint64 { return i.meta.Index }

// Epoch counts restored backups.
func (i *Image) Epoch() uint32 { return i.meta.Epoch }

// Settings are those in force.
func (i *Image) Settings() *Settings { return &i.meta.Settings }

// SettingsRev is the log index of the last change of settings.
func (i *Image) SettingsRev() uint64 { return i.meta.SettingsRev }

// Stint is that of the newest leader.
func (i *Image) Stint() Stint { return i.meta.Stint }

// Servers lists what servers have said of themselves, by id.
func (i *Image) Servers() []PutServer { return i.meta.Servers }

// Diverged lists the servers whose state differs from the majority's.
func (i *Image) Diverged() []string { return i.meta.Diverged }

// Pause tells whether everything is paused, by whom, why and since when (law L9).
func (i *Image) Pause() (paused bool, by, why string, at Wall) {
	return i.meta.Paused, i.meta.PauseBy, i.meta.PauseWhy, i.meta.PauseAt
}

// Brake is the mass-failure brake (law L11); it is set when Set is not 0.
func (i *Image) Brake() Brake { return i.meta.Brake }

// Room finds a room by name.
func (s *State) Room(name string) *Room { return s.rooms.get(uint64(s.roomByName[name])) }

// RoomByID finds a room.
func (i *Image) RoomByID(id RoomID) *Room { return i.rooms.get(uint64(id)) }

// Rooms yields the rooms behind the named one, by name; "" yields all.
func (s *State) Rooms(after string) iter.Seq[*Room] {
	return func(yield func(*Room) bool) {
		s.roomNames.Ascend(after, func(n string) bool { return n == after || yield(s.Room(n)) })
	}
}

// Role finds a role.
func (i *Image) Role(id RoleID) *Role { return i.roles.get(uint64(id)) }

// RoleByName finds a role of a room, retired ones included.
func (s *State) RoleByName(room, role string) *Role {
	return s.roles.get(uint64(s.roleByName[roleKey{s.roomByName[room], role}]))
}

// RoleStats counts a role's tasks by state and its agents.
type RoleStats struct {
	Tasks  [TaskQuarantined + 1]uint32
	Agents uint32
	Live   uint32 // with a participant
}

// RoleStats counts; an unknown role has none.
func (s *State) RoleStats(id RoleID) RoleStats {
	r := s.Role(id)
	if r == nil {
		return RoleStats{}
	}
	ri := s.roleIdx.get(uint64(id))
	return RoleStats{ri.tasks, uint32(len(r.Agents)), ri.live}
}

// Agent finds an agent.
func (i *Image) Agent(id AgentID) *Agent { return i.agents.get(uint64(id)) }

// AgentByName finds an agent by room/role or room/role.2.
func (s *State) AgentByName(name string) *Agent { return s.agents.get(uint64(s.agentByName[name])) }

// Lease is the proof of life of an agent.
func (i *Image) Lease(id AgentID) *Lease { return i.leases.get(uint64(id)) }

// Agents yields the agents behind the named one in the order room, role, index;
// "" yields all. The order of roles is that of their declaration.
func (s *State) Agents(after string) iter.Seq[*Agent] {
	afterRoom, _, _ := strings.Cut(after, "/")
	return func(yield func(*Agent) bool) {
		found := s.AgentByName(after) == nil
		s.roomNames.Ascend(afterRoom, func(n string) bool {
			for _, role := range s.Room(n).Roles {
				for _, id := range s.Role(role).Agents {
					a := s.Agent(id)
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
func (i *Image) Task(id TaskID) *Task { return i.tasks.get(uint64(id)) }

// Tasks yields the tasks behind id, oldest first.
func (i *Image) Tasks(after TaskID) iter.Seq[*Task] { return values(i.tasks.from(uint64(after) + 1)) }

// TasksBack yields the tasks below id (0: all), newest first.
func (i *Image) TasksBack(before TaskID) iter.Seq[*Task] {
	if before == 0 {
		before = i.meta.NextTask
	}
	return values(i.tasks.back(uint64(before)))
}

func values[T any](seq iter.Seq2[uint64, *T]) iter.Seq[*T] {
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
func (s *State) Pending(id RoleID) int {
	ri := s.roleIdx.get(uint64(id))
	if ri == nil || s.rolePaused(s.roles.get(uint64(id))) != "" {
		return 0
	}
	return int(ri.tasks[TaskPending])
}

// PausedAgents lists the agents of a role that are paused themselves, by id: they
// find no task, although Pending counts some. Usually it is nil.
func (s *State) PausedAgents(id RoleID) (list []AgentID) {
	if ri := s.roleIdx.get(uint64(id)); ri == nil || ri.paused == 0 {
		return nil
	}
	for _, a := range s.roles.get(uint64(id)).Agents {
		if s.agents.get(uint64(a)).Paused {
			list = append(list, a)
		}
	}
	return list
}

// PausedWhy tells who paused an agent (itself, its role, its room or everything) and
// how that is ended; empty: nothing is paused about it.
func (s *State) PausedWhy(id AgentID) string {
	a := s.Agent(id)
	if a == nil {
		return ""
	}
	if code := s.paused(a); code != "" {
		return s.pausedText(a, code)
	}
	return ""
}

// Tombstone tells who deleted the room of this name last; nil: nobody has, or it was
// made anew since. The room may still be there while something of it runs.
func (i *Image) Tombstone(room string) *Tombstone {
	for at := range i.meta.Tombstones {
		if i.meta.Tombstones[at].Room == room {
			return &i.meta.Tombstones[at]
		}
	}
	return nil
}

// FirstPending is the task that the role's next claim gets; 0: none.
func (s *State) FirstPending(id RoleID) TaskID {
	ri := s.roleIdx.get(uint64(id))
	if ri == nil {
		return 0
	}
	first, _ := ri.first()
	return first
}

// Host finds a host.
func (i *Image) Host(id HostID) *Host { return i.hosts.get(uint64(id)) }

// HostByKey finds a host by the id in its own file.
func (s *State) HostByKey(key string) *Host { return s.hosts.get(uint64(s.hostByKey[key])) }

// Hosts yields all hosts in the order of their first registration.
func (i *Image) Hosts() iter.Seq[*Host] { return values(i.hosts.from(0)) }

// HostOrders lists the agents with an open order on a host, in order.
func (s *State) HostOrders(id HostID) []AgentID {
	hi := s.hostIdx.get(uint64(id))
	if hi == nil {
		return nil
	}
	list := make([]AgentID, 0, len(hi.orders))
	for a := range hi.orders {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

// HostLoad is how many agents run, or are being started, on a host.
type HostLoad struct{ Running, Starting uint32 }

// HostLoad counts.
func (s *State) HostLoad(id HostID) HostLoad {
	hi := s.hostIdx.get(uint64(id))
	if hi == nil {
		return HostLoad{}
	}
	return HostLoad{hi.running, hi.starting}
}

// Events yields the history behind seq, oldest first.
func (i *Image) Events(after uint64) iter.Seq[*Event] { return values(i.events.from(after + 1)) }

// OldestEvent is the first event that is still kept, LastEvent the newest; 0: none.
func (i *Image) OldestEvent() uint64 { return i.meta.FirstEvent }

// LastEvent is the newest event; 0: none.
func (i *Image) LastEvent() uint64 { return i.meta.NextEvent - 1 }

// Counts sums up the state.
type Counts struct {
	Rooms, Agents, Live, Hosts, HostsReady uint32
	Parked                                 uint32 // agents that a breaker or a usage limit keeps from running
	Tasks                                  [TaskQuarantined + 1]uint64
	Processes                              [ProcLost + 1]uint32 // agents by state of their process
}

// Counts sums up; it costs a walk over the hosts.
func (s *State) Counts() Counts {
	c := Counts{Rooms: uint32(s.rooms.n), Agents: uint32(s.agents.n), Live: s.live, Parked: s.parked,
		Hosts: uint32(s.hosts.n), Tasks: s.taskCount, Processes: s.procCount}
	c.Processes[ProcNone] = c.Agents
	for _, n := range c.Processes[ProcOrdered:] {
		c.Processes[ProcNone] -= n
	}
	for h := range s.Hosts() {
		if h.Status() == HostReady {
			c.HostsReady++
		}
	}
	return c
}

// Wanted is how many agents should run by now: those of roles that a runner starts,
// without what humans have stopped. On-demand agents count while they run or a task
// waits for one. It costs a walk over the roles.
func (s *State) Wanted() (n uint32) {
	for id, r := range s.roles.from(0) {
		if r.Spec.Runner == "" || r.Spec.Desired == DesiredStopped || r.Retired || s.rooms.get(uint64(r.Room)).Deleting {
			continue
		}
		ri := s.roleIdx.get(id)
		most := uint32(len(r.Agents)) - ri.off
		if r.Spec.Start != StartOnDemand {
			n += most
			continue
		}
		due := uint32(0)
		if ri.demand {
			due = ri.tasks[TaskPending] - ri.spare
		}
		n += min(ri.lives+due, most)
	}
	return n
}
