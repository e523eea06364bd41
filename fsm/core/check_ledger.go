package core

import (
	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// ledger tests that every value is charged what it costs, that accounts are the sums of
// that, and that what may go when a budget is full can be found.
func (c *Checker) ledger(s *View) {
	naive := ledger{rooms: map[noun.RoomID]*[noun.RoomPurses]int64{}}
	recount(c, s.RoomTable, &naive, noun.ForAgents, noun.CostOfRoom, noun.RoomOfRoom)
	recount(c, s.RoleTable, &naive, noun.ForAgents, noun.CostOfRole, noun.RoomOfRole)
	recount(c, s.AgentTable, &naive, noun.ForAgents, noun.CostOfAgent, noun.RoomOfAgent)
	recount(c, s.TaskTable, &naive, noun.ForTasks, noun.CostOfTask, noun.RoomOfTask)
	recount(c, s.HostTable, &naive, noun.ForHosts, noun.CostOfHost, nil)
	recount(c, s.SessionTable, &naive, noun.ForSessions, noun.CostOfSession, nil)
	recount(c, s.EventTable, &naive, noun.ForHistory, noun.CostOfEvent, nil)
	recount(c, s.MailTable, &naive, noun.ForMail, noun.CostOfMail, noun.RoomOfMail)
	recount(c, s.EscalationTable, &naive, noun.ForHistory, noun.CostOfEscalation, nil)
	recount(c, s.AuditTable, &naive, noun.ForHistory, noun.CostOfAudit, nil)
	recount(c, s.TokenTable, &naive, noun.ForTrust, noun.CostOfToken, nil)
	recount(c, s.CredentialTable, &naive, noun.ForTrust, noun.CostOfCredential, nil)
	recount(c, s.UserTable, &naive, noun.ForTrust, noun.CostOfUser, nil)
	recount(c, s.APITokenTable, &naive, noun.ForTrust, noun.CostOfAPIToken, nil)
	promised := 0
	for _, r := range s.RoleTable.From(0) {
		for _, index := range s.missing(r) {
			naive.charge(noun.ForAgents, r.Room, s.costOfMissing(r, index))
			promised++
		}
	}
	c.That(promised == s.promised, "L11: %d agents are to be created, %d are counted", promised, s.promised)
	for p := noun.ForTasks; p < noun.Purses; p++ {
		c.That(s.Ledger.of(p, 0) == naive.of(p, 0), "L11: %s cost %d, %d are charged", p, naive.of(p, 0),
			s.Ledger.of(p, 0))
	}
	c.That(len(s.Ledger.rooms) == len(naive.rooms), "L11: %d rooms cost something, %d are charged",
		len(naive.rooms), len(s.Ledger.rooms))
	for id := range naive.rooms {
		c.That(s.RoomTable.Get(id) != nil, "L11: room %d is charged, and gone", id)
		for p := range noun.RoomPurses {
			c.That(s.Ledger.of(p, id) == naive.of(p, id), "L11: %s of room %d cost %d, %d are charged",
				p, id, naive.of(p, id), s.Ledger.of(p, id))
		}
	}
	c.ended(s)
}

// ended tests that what may go when a budget is full can be found, and what waits for a human is not among it.
func (c *Checker) ended(s *View) {
	ended, wordy, quarantined := 0, 0, map[noun.RoomID]int{}
	for id, t := range s.TaskTable.From(0) {
		if !t.State.Terminal() {
			continue
		}
		if t.State == noun.TaskQuarantined {
			quarantined[0], quarantined[t.Room] = quarantined[0]+1, quarantined[t.Room]+1
			_, found := s.quarantined.Get(RoomItem[noun.TaskID]{0, t.FinishSeq, id})
			_, inRoom := s.quarantined.Get(RoomItem[noun.TaskID]{t.Room, t.FinishSeq, id})
			c.That(found && inRoom, "L8: task %d waits for a human and is not kept for one", id)
		}
		c.That(!t.TextGone || t.Text == "", "task %d has lost its text and has it", id)
		if s.asks(t) {
			continue
		}
		ended++
		_, found := s.roomEnded.Get(RoomItem[noun.TaskID]{t.Room, t.FinishSeq, id})
		c.That(found, "L11: task %d has ended and is not among what may go", id)
		if t.Droppable() >= worthDropping {
			wordy++
			_, found = s.wordy.Get(RoomItem[noun.TaskID]{t.Room, t.FinishSeq, id})
			c.That(found, "L11: task %d has ended and its texts are not among what may go", id)
		}
	}
	c.That(s.roomEnded.Len() == ended && s.Finished.Len() == ended && s.wordy.Len() == 2*wordy,
		"L11: %d tasks have ended and may go, %d with long texts; the indexes have %d, %d and %d",
		ended, wordy, s.roomEnded.Len(), s.Finished.Len(), s.wordy.Len()/2)
	c.That(s.quarantined.Len() == 2*quarantined[0], "L8: %d tasks wait for a human, the index has %d",
		quarantined[0], s.quarantined.Len()/2)
	for id := range s.RoomTable.From(0) {
		n := s.RoomIndex(noun.RoomID(id)).quarantined
		c.That(int(n) == quarantined[noun.RoomID(id)], "L11: %d tasks of room %d wait for a human, %d are counted",
			quarantined[noun.RoomID(id)], id, n)
	}
}

// recount compares what each value of a table is charged with its cost, and adds up.
func recount[K table.ID, T any](c *Checker, t table.Reader[K, T], sum *ledger, p noun.Purse, cost func(*T) int64,
	room func(*T) noun.RoomID) {
	for id, v := range t.From(0) {
		bytes := cost(v)
		charged, settled := t.Charged(id)
		if !settled || charged != bytes { // an argument costs memory, and most values are right
			c.That(false, "L11: value %d of %s costs %d and is charged %d", id, p, bytes, charged)
		}
		payer := noun.RoomID(0)
		if room != nil {
			payer = room(v)
		}
		sum.charge(p, payer, bytes)
	}
}
