package core

import (
	"slices"

	"vigil/fsm/noun"
)

// settleBooks charges everything that has changed. What has grown beyond a whole budget, the
// reserve included, is cut: only what may not be refused can come so far.
func (s *State) settleBooks() {
	for s.Ledger.unsettled {
		s.Ledger.unsettled = false
		s.TaskTable.Settle(func(t *noun.Task) { s.cutTask(t) })
		s.MailTable.Settle(func(m *noun.Mail) { s.cutMail(m) })
		s.AgentTable.Settle(func(a *noun.Agent) { s.cutAgent(a) })
		s.RoleTable.Settle(func(*noun.Role) {})
		s.RoomTable.Settle(func(rm *noun.Room) { s.cutRoom(rm) })
		s.HostTable.Settle(func(h *noun.Host) { s.cutHost(h) })
		s.SessionTable.Settle(func(ss *noun.Session) { s.cutSession(ss) })
		s.TokenTable.Settle(func(*noun.Token) {}) // refused where there is no room for it
		s.CredentialTable.Settle(func(*noun.Credential) {})
		s.UserTable.Settle(func(*noun.User) {})
		s.APITokenTable.Settle(func(*noun.APIToken) {})
		s.EscalationTable.Settle(func(*noun.Escalation) { s.cutHistory() })
		s.EventTable.Settle(func(*noun.Event) { s.cutHistory() })
		s.AuditTable.Settle(func(*noun.Audit) { s.cutHistory() })
	}
}

// spare makes space for a fact that is beyond a whole budget, by what may go, and tells how
// many bytes are missing then.
func (s *State) spare(p noun.Purse, room noun.RoomID) (missing int64) {
	if s.over(p, room) <= 0 {
		return 0
	}
	levels := []noun.RoomID{0}
	if room != 0 && p < noun.RoomPurses {
		levels = []noun.RoomID{room, 0}
	}
	var more [2]int64
	for i, r := range levels {
		more[i] = s.Ledger.of(p, r) - s.budget(p, r)
	}
	freed := int64(0) // of a room is freed of the cluster too
	for i, r := range levels {
		if more[i] -= freed; more[i] <= 0 {
			continue
		}
		list := s.relief(p, r, more[i], 0)
		s.relieve(&list)
		if list.More && s.retries() {
			s.steps -= stepsOfRelief
		}
		freed += list.Bytes
		missing = max(missing, more[i]-list.Bytes)
	}
	return missing
}

// shorten cuts a text by what is missing, and says by how much it did.
func shorten(text *string, missing *int64) (cut int64) {
	if *missing <= 0 || *text == "" {
		return 0
	}
	keep := noun.Clip(*text, int(max(0, int64(len(*text))-*missing)))
	cut = int64(len(*text) - len(keep))
	*text, *missing = keep, *missing-cut
	return cut
}

// cutTask cuts what was said of a task last: its text stays as long as it is open.
func (s *State) cutTask(t *noun.Task) {
	whole := t.Droppable() == len(t.Text)
	if whole && s.steps <= 0 && s.retries() { // nothing of it is lost when later entries make space
		return
	}
	missing := s.spare(noun.ForTasks, t.Room)
	if missing <= 0 || whole {
		return
	}
	t = s.TaskTable.Mut(t.ID)
	ends := t.State.Terminal()
	if ends {
		s.indexEnded(t, -1)
	}
	late := slices.Clone(t.Late)
	for i := range late {
		t.Dropped += uint64(shorten(&late[i].Result, &missing))
	}
	t.Late = late
	t.Dropped += uint64(shorten(&t.Note, &missing))
	cut := shorten(&t.Result, &missing)
	t.Dropped += uint64(cut)
	s.resultDropped(t, cut)
	if ends {
		s.indexEnded(t, +1)
	}
}

// cutMail cuts what vigil itself has written: a client's mail was refused.
func (s *State) cutMail(m *noun.Mail) {
	if missing := s.spare(noun.ForMail, m.Room); missing > 0 && m.Body != "" {
		shorten(&s.MailTable.Mut(m.ID).Body, &missing)
	}
}

// cutAgent cuts the words about an agent; what it needs to go on (its resume value) stays.
func (s *State) cutAgent(a *noun.Agent) {
	missing := s.spare(noun.ForAgents, a.Room)
	if missing <= 0 {
		return
	}
	a = s.AgentTable.Mut(a.ID)
	if a.LastExit != nil {
		x := *a.LastExit
		shorten(&x.Tail, &missing)
		shorten(&x.Reason, &missing)
		a.LastExit = &x
	}
	if a.Declared != nil {
		d := *a.Declared
		shorten(&d.Text, &missing)
		a.Declared = &d
	}
	if a.Noted != nil {
		a.Note(func(n *noun.Notes) {
			for _, text := range []*string{&n.PauseWhy, &n.IntentWhy} {
				shorten(text, &missing)
			}
		})
	}
}

func (s *State) cutRoom(rm *noun.Room) {
	if missing := s.spare(noun.ForAgents, rm.ID); missing > 0 && rm.PauseWhy != "" {
		shorten(&s.RoomTable.Mut(rm.ID).PauseWhy, &missing)
	}
}

func (s *State) cutHost(h *noun.Host) {
	if s.over(noun.ForHosts, 0) > 0 && len(h.Warnings) > 0 {
		s.HostTable.Mut(h.ID).Warnings = nil
	}
}

// cutSession forgets the oldest answers of a session and the sentences of the others. What
// is forgotten is not executed a second time: such a number is too old from then on.
func (s *State) cutSession(ss *noun.Session) {
	if s.over(noun.ForSessions, 0) <= 0 {
		return
	}
	ss = s.SessionTable.Mut(ss.ID)
	kept := slices.Clone(ss.Answers) // views have the others
	slices.SortFunc(kept, func(a, b noun.Answer) int { return int(int64(a.Seq) - int64(b.Seq)) })
	if n := len(kept) - noun.LeastAnswers; n > 0 {
		ss.Forgot = max(ss.Forgot, kept[n-1].Seq)
		kept = slices.Clone(kept[n:])
	}
	for i := range kept {
		kept[i].Out.Detail = ""
	}
	ss.Keep(kept, s.SessionTable.Generation())
}

// cutHistory drops the oldest events, and of the audit only what is too much without any event;
// the number of both is bounded too.
func (s *State) cutHistory() {
	for range 64 {
		switch {
		case s.over(noun.ForHistory, 0) <= 0:
			return
		case s.Meta.NextEvent-s.Meta.FirstEvent > 1:
			s.EventTable.Del(s.Meta.FirstEvent)
			s.Meta.FirstEvent++
		case s.Meta.PastAudit < s.Meta.LastAudit:
			s.dropAudit()
		default:
			return
		}
	}
}
