package fsm

import "testing"

// Readers share a state under one lock for reading (cluster.Replica.Read): a read
// that takes a page for writing races with them, and costs a copy of the page after
// each snapshot. After Copy every page a writer takes is a new one, so a read that
// writes is seen by the pages that were there before it.
func TestReadsDoNotWrite(t *testing.T) {
	for _, seed := range seeds(4) {
		c, s := newChaos(seed, true), New()
		for _, e := range c.opening() {
			s.Apply(e)
		}
		for range 60 {
			for range 25 {
				s.Apply(c.next(s))
			}
			s.Copy()
			before := pagesOf(s)
			if err := s.Check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			readAll(s)
			after := pagesOf(s)
			for name, pages := range before {
				if len(after[name]) != len(pages) {
					t.Fatalf("seed %d, entry %d: a read changed the number of pages of %s from %d to %d", seed, c.index, name, len(pages), len(after[name]))
				}
				for i := range pages {
					if after[name][i] != pages[i] {
						t.Fatalf("seed %d, entry %d: a read took a page of %s for writing", seed, c.index, name)
					}
				}
			}
		}
	}
}

// readAll asks everything that a server asks on behalf of its clients and duties.
func readAll(s *State) {
	for a := range s.Agents("") {
		v := s.Verdict(a.ID, true)
		s.Presence(a.ID, &v)
		s.Why(a.ID)
		s.PausedWhy(a.ID)
		s.Braked(a)
		s.NextIncarnation(a)
		s.agentDeadline(a)
		s.idle(a)
		for _, h := range s.hosts.from(0) {
			s.Misfit(h, a)
		}
		s.Unread(a.ID)
		s.WordOf(Declare{Speaker: Speaker{Agent: a.Name, Inc: a.Inc, TokenHash: []byte(a.TokenHash)}}, 0)
		s.WordOf(ProgressTask{Work: Work{Speaker{a.Name, a.Inc, []byte(a.TokenHash)}, a.Task, 1}}, 0)
		s.MailFor(&Speaker{Agent: a.Name, Inc: a.Inc, TokenHash: []byte(a.TokenHash)})
		for m := range s.Mailbox(a.ID, 0) {
			s.MailDelivery(a.ID, m.Delivery)
			s.mailDeadline(m)
		}
		for m := range s.MailFrom(a.Name, 0) {
			s.Mail(m.ReplyTo)
		}
	}
	for id, h := range s.hosts.from(0) {
		s.Doubt(h)
		s.Surrenders(h)
		s.SinceBeat(h)
		s.HostOrders(HostID(id))
		s.HostLoad(HostID(id))
		s.fencesOn(HostID(id))
		s.drainOver(h)
	}
	for id, r := range s.roles.from(0) {
		s.RoleStats(RoleID(id))
		s.Pending(RoleID(id))
		s.FirstPending(RoleID(id))
		s.PausedAgents(RoleID(id))
		_ = s.CheckRole(&r.Spec)
	}
	for rm, q := range s.StalledRooms() {
		_, _ = rm, q
	}
	s.ActiveRooms()
	s.OpenTasks()
	for rm := range s.Rooms("") {
		s.Quiet(rm)
		apply := ApplyRoom{Room: rm.Name}
		for _, id := range rm.Roles {
			apply.Roles = append(apply.Roles, s.Role(id).Spec)
		}
		for range 2 { // as it is, and without its last role
			s.CheckRoom(&apply)
			plan := s.PlanApply(&apply)
			s.Harm(&plan)
			apply.Roles = apply.Roles[:max(len(apply.Roles)-1, 0)]
		}
		s.PlanDelete(rm.Name)
		s.openTasksOf(rm)
		if rm.Canceled != nil {
			s.canceledTasks(rm)
		}
		for _, id := range rm.Roles {
			s.Role(id)
		}
	}
	s.Counts()
	s.Wanted()
	s.BrakeRoom()
	s.NextTimer()
}

func pagesOf(s *State) map[string][]any {
	return map[string][]any{
		"rooms": pages(&s.rooms), "roles": pages(&s.roles), "agents": pages(&s.agents), "leases": pages(&s.leases),
		"tasks": pages(&s.tasks), "hosts": pages(&s.hosts), "sessions": pages(&s.sessions), "events": pages(&s.events),
		"mails": pages(&s.mails), "mailboxes": pages(&s.mailboxes),
		"the index of roles": pages(&s.roleIdx), "the index of hosts": pages(&s.hostIdx),
		"the index of rooms": pages(&s.roomIdx),
	}
}

func pages[T any](t *table[T]) (list []any) {
	list = append(list, t.n)
	for _, m := range t.mids {
		if m == nil {
			continue
		}
		for _, p := range m.pages {
			if p != nil {
				list = append(list, p)
			}
		}
	}
	return list
}
