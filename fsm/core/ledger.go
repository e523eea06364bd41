package core

import (
	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// The ledger says what every value of the state costs in memory, by one formula (fsm/noun/cost.go),
// and who pays for it: a purse of the cluster and, for what belongs to a room, that room's
// share of it. Nobody books anything by hand. A table that is on the ledger takes note of each
// value that is handed out for writing, made or removed, and what it costs is compared with
// what was charged before the next command. So no path can forget it. All of it is
// derived: a restore builds it anew, Check counts it naively.

// ledger is what is charged.
type ledger struct {
	Cluster [noun.Purses]int64
	rooms   map[noun.RoomID]*[noun.RoomPurses]int64
	// unsettled tells that something was handed out for writing since the last settlement.
	unsettled bool
}

// charge adds to what a purse has paid, and to what a room has; room 0 is none.
func (l *ledger) charge(p noun.Purse, room noun.RoomID, bytes int64) {
	if bytes == 0 {
		return
	}
	l.Cluster[p] += bytes
	if room == 0 || p >= noun.RoomPurses {
		return
	}
	r := l.rooms[room]
	if r == nil {
		r = new([noun.RoomPurses]int64)
		l.rooms[room] = r
	}
	if r[p] += bytes; *r == [noun.RoomPurses]int64{} {
		delete(l.rooms, room)
	}
}

// of is what a room has been charged; room 0 is the cluster.
func (l *ledger) of(p noun.Purse, room noun.RoomID) int64 {
	if room == 0 {
		return l.Cluster[p]
	}
	if r := l.rooms[room]; r != nil && p < noun.RoomPurses {
		return r[p]
	}
	return 0
}

// BytesPerMarkedEntry keeps comparisons of the servers' states at some percent of the work: hashing
// 4 KiB takes as long as applying one entry does, or less.
const BytesPerMarkedEntry = 4 << 10

// MarkEvery is after how many log entries the servers compare their states again (law L12): the setting
// mark_every, and more when the state is so large that hashing it would cost more than the entries
// did. 0: never.
func (v *View) MarkEvery() uint64 {
	every := v.Meta.Settings.MarkEvery
	if every == 0 {
		return 0
	}
	var bytes int64
	for _, b := range v.Ledger.Cluster {
		bytes += b
	}
	return max(every, uint64(max(bytes, 0))/BytesPerMarkedEntry)
}

// meters puts every table on the ledger; what is in them is charged anew.
func (s *State) meters() {
	l := &s.Ledger
	*l = ledger{rooms: map[noun.RoomID]*[noun.RoomPurses]int64{}}
	measure(&s.RoomTable, l, noun.ForAgents, noun.CostOfRoom, noun.RoomOfRoom)
	measure(&s.RoleTable, l, noun.ForAgents, noun.CostOfRole, noun.RoomOfRole)
	measure(&s.AgentTable, l, noun.ForAgents, noun.CostOfAgent, noun.RoomOfAgent)
	measure(&s.TaskTable, l, noun.ForTasks, noun.CostOfTask, noun.RoomOfTask)
	measure(&s.HostTable, l, noun.ForHosts, noun.CostOfHost, nil)
	measure(&s.SessionTable, l, noun.ForSessions, noun.CostOfSession, nil)
	measure(&s.EventTable, l, noun.ForHistory, noun.CostOfEvent, nil)
	measure(&s.MailTable, l, noun.ForMail, noun.CostOfMail, noun.RoomOfMail)
	measure(&s.EscalationTable, l, noun.ForHistory, noun.CostOfEscalation, nil)
	measure(&s.AuditTable, l, noun.ForHistory, noun.CostOfAudit, nil)
	measure(&s.TokenTable, l, noun.ForTrust, noun.CostOfToken, nil)
	measure(&s.CredentialTable, l, noun.ForTrust, noun.CostOfCredential, nil)
	measure(&s.UserTable, l, noun.ForTrust, noun.CostOfUser, nil)
	measure(&s.APITokenTable, l, noun.ForTrust, noun.CostOfAPIToken, nil)
}

// measure charges what is in a table, and from then on what becomes of it. Without room, no
// room pays.
func measure[K table.ID, T any](t *table.Table[K, T], l *ledger, p noun.Purse, cost func(*T) int64,
	room func(*T) noun.RoomID) {
	t.Measure(cost, func(v *T, bytes int64) {
		r := noun.RoomID(0)
		if room != nil {
			r = room(v)
		}
		l.charge(p, r, bytes)
	}, &l.unsettled)
}
