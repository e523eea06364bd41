package fsm

import "vigil/fsm/table"

// The ledger says what every value of the state costs in memory, by one formula (cost.go),
// and who pays for it: a purse of the cluster and, for what belongs to a room, that room's
// share of it. Nobody books anything by hand. A table that is on the ledger takes note of each
// value that is handed out for writing, made or removed, and what it costs is compared with
// what was charged before the next command. So no path can forget it. All of it is
// derived: a restore builds it anew, Check counts it naively.

// Purse is what one budget is for.
type Purse uint8

// Purses. The first roomPurses of them are also counted by room.
const (
	ForTasks    Purse = iota // tasks with all their texts
	ForMail                  // mail; each copy pays for its text
	ForAgents                // rooms, roles and agents, and what those say of themselves
	ForHosts                 // hosts
	ForSessions              // sessions of clients with the answers that they remember
	ForHistory               // events and escalations
	purses

	roomPurses = ForAgents + 1
)

var purseNames = [...]string{"tasks", "mail", "agents", "hosts", "sessions", "history"}

func (p Purse) String() string { return purseNames[p] }

// ledger is what is charged.
type ledger struct {
	cluster [purses]int64
	rooms   map[RoomID]*[roomPurses]int64
	// unsettled tells that something was handed out for writing since the last settlement.
	unsettled bool
}

// charge adds to what a purse has paid, and to what a room has; room 0 is none.
func (l *ledger) charge(p Purse, room RoomID, bytes int64) {
	if bytes == 0 {
		return
	}
	l.cluster[p] += bytes
	if room == 0 || p >= roomPurses {
		return
	}
	r := l.rooms[room]
	if r == nil {
		r = new([roomPurses]int64)
		l.rooms[room] = r
	}
	if r[p] += bytes; *r == [roomPurses]int64{} {
		delete(l.rooms, room)
	}
}

// of is what a room has been charged; room 0 is the cluster.
func (l *ledger) of(p Purse, room RoomID) int64 {
	if room == 0 {
		return l.cluster[p]
	}
	if r := l.rooms[room]; r != nil && p < roomPurses {
		return r[p]
	}
	return 0
}

// bytesPerMarkedEntry keeps comparisons of the servers' states at some percent of the work: hashing
// 4 KiB takes as long as applying one entry does, or less.
const bytesPerMarkedEntry = 4 << 10

// MarkEvery is after how many log entries the servers compare their states again (law L12): the setting
// mark_every, and more when the state is so large that hashing it would cost more than the entries
// did. 0: never.
func (v *View) MarkEvery() uint64 {
	every := v.meta.Settings.MarkEvery
	if every == 0 {
		return 0
	}
	var bytes int64
	for _, b := range v.ledger.cluster {
		bytes += b
	}
	return max(every, uint64(max(bytes, 0))/bytesPerMarkedEntry)
}

// meters puts every table on the ledger; what is in them is charged anew.
func (s *State) meters() {
	l := &s.ledger
	*l = ledger{rooms: map[RoomID]*[roomPurses]int64{}}
	measure(&s.rooms, l, ForAgents, costOfRoom, roomOfRoom)
	measure(&s.roles, l, ForAgents, costOfRole, roomOfRole)
	measure(&s.agents, l, ForAgents, costOfAgent, roomOfAgent)
	measure(&s.tasks, l, ForTasks, costOfTask, roomOfTask)
	measure(&s.hosts, l, ForHosts, costOfHost, nil)
	measure(&s.sessions, l, ForSessions, costOfSession, nil)
	measure(&s.events, l, ForHistory, costOfEvent, nil)
	measure(&s.mails, l, ForMail, costOfMail, roomOfMail)
	measure(&s.escalations, l, ForHistory, costOfEscalation, nil)
}

// measure charges what is in a table, and from then on what becomes of it. Without room, no
// room pays.
func measure[K table.ID, T any](t *table.Table[K, T], l *ledger, p Purse, cost func(*T) int64, room func(*T) RoomID) {
	t.Measure(cost, func(v *T, bytes int64) {
		r := RoomID(0)
		if room != nil {
			r = room(v)
		}
		l.charge(p, r, bytes)
	}, &l.unsettled)
}
