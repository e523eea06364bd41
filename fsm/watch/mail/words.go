package mail

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// SendMail puts a mail into the mailbox of each addressee, in one record.
type SendMail struct {
	// Speaker is the life that sends it. With an empty Agent it is no agent's: From
	// says who sends it, for people.
	core.Speaker
	From string
	// To is a room (each of its agents), room/role (each agent of the role; room/role.*
	// is the same) or room/role.N (that agent alone; room/role.1 is the first). Empty
	// with ReplyTo: the agent that sent that mail. Who sends to a role or a room gets
	// no copy.
	To            string
	Subject, Body string
	Kind          string // a name, or empty
	Priority      noun.MailPriority
	Thread        noun.MailID // 0: that of ReplyTo, else a new one
	ReplyTo       noun.MailID // 0: it answers nothing
	// NoQueue leaves out agents that are off, and refuses the mail when all are.
	NoQueue bool
}

// Apply sends a mail. It is a word in a room: what an agent writes is said in its own, what a
// human writes in that of the addressee. What vigil writes by itself is no word.
func (c SendMail) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	out := s.send(&c)
	if out.Code != noun.OK {
		return out
	}
	switch a := s.AgentByName(c.Agent); {
	case a != nil:
		s.Touch(a.Room)
	case c.From != noun.LaddersBy && c.From != noun.WatchedBy:
		s.Touch(s.MailTable.Get(out.Mail).Room)
	}
	return out
}

// send puts a mail into the mailbox of each addressee, or of none.
func (s *State) send(c *SendMail) noun.Outcome {
	draft, no := s.draft(c)
	if no.Code != noun.OK {
		return no
	}
	list, no := s.recipients(c)
	if no.Code != noun.OK {
		return no
	}
	if no := s.maySend(&draft, list); no.Code != noun.OK {
		return no
	}
	first := s.Meta.LastMail + 1
	if draft.Thread == 0 {
		draft.Thread = first
	}
	for _, id := range list {
		s.Meta.LastMail++
		m := s.MailTable.Put(s.Meta.LastMail)
		*m = draft
		m.ID, m.To, m.Room = s.Meta.LastMail, id, s.AgentTable.Get(id).Room
		s.indexMail(m, +1)
		s.Rearm(core.TimerMail, uint64(m.ID), &m.Armed, s.mailRow(m))
	}
	s.Result.Effects.Mail = append(s.Result.Effects.Mail, list...)
	for _, id := range list {
		s.Hooks.MailChanged.Call(id)
	}
	if a := s.AgentByName(c.Agent); a != nil {
		a = s.AgentTable.Mut(a.ID)
		s.Hooks.AgentSpoke.Call(a)
		a.Note(func(n *noun.Notes) { n.MailAt = s.Meta.Clock })
	}
	return s.sent(c, &draft, first, list, no.Detail)
}

// sent writes the event and makes the answer; leftOut says who got no copy.
func (s *State) sent(c *SendMail, draft *noun.Mail, first noun.MailID, list []noun.AgentID,
	leftOut string) noun.Outcome {
	out := noun.Outcome{Mail: first, Count: uint32(len(list)), Detail: leftOut}
	to := s.AgentTable.Mut(list[0])
	if len(list) == 1 {
		out.Agent = to.ID
		s.Event("mail.sent", core.About{Agent: to}, fmt.Sprintf("mail %d, %s, from %s", first, draft.Priority,
			draft.From))
		return out
	}
	s.Event("mail.sent", core.About{Room: to.Room}, fmt.Sprintf("mails %d to %d, %s, from %s to %s",
		first, s.Meta.LastMail, draft.Priority, draft.From, c.To))
	return out
}

// draft is what all copies have in common.
func (s *State) draft(c *SendMail) (noun.Mail, noun.Outcome) {
	m := noun.Mail{From: c.From, Subject: c.Subject, Body: c.Body, Kind: c.Kind, Priority: c.Priority,
		Thread: c.Thread, ReplyTo: c.ReplyTo,
		SentAt: s.Meta.Clock, Since: s.Meta.Clock, SentWall: s.Entry.Wall, State: noun.MailQueued}
	if c.Agent != "" {
		a, no := s.Present(&c.Speaker)
		if a == nil {
			return m, no
		}
		m.From, m.FromInc = a.Name, a.Inc
	}
	if no := s.checkMail(c, &m); no.Code != noun.OK {
		return m, no
	}
	if m.Thread == 0 && c.ReplyTo != 0 {
		m.Thread = c.ReplyTo
		if first := s.MailTable.Get(c.ReplyTo); first != nil {
			m.Thread = first.Thread
		}
	}
	return m, noun.Outcome{}
}

func (v *View) checkMail(c *SendMail, m *noun.Mail) noun.Outcome {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"sender", m.From, noun.MaxMailFrom + noun.MaxName}, {"subject", c.Subject, noun.MaxMailSubject},
		{"body", c.Body, noun.MaxMailBody}} {
		switch {
		case len(f.text) > f.most:
			return core.Refuse(noun.Invalid, "the %s has %d bytes, at most %d are allowed", f.name, len(f.text), f.most)
		case !utf8.ValidString(f.text):
			return core.Refuse(noun.Invalid, "the %s must be valid UTF-8", f.name)
		}
	}
	if c.Kind != "" {
		if err := noun.CheckName(c.Kind); err != nil {
			return core.Refuse(noun.Invalid, "kind: %v", err)
		}
	}
	switch {
	case m.From == "":
		return core.Refuse(noun.Invalid, "the mail does not say who sends it")
	case c.Subject == "" && c.Body == "":
		return core.Refuse(noun.Invalid, "the mail has neither a subject nor a body")
	case c.Priority > noun.MailLow:
		return core.Refuse(noun.Invalid, "the priority has a value that this server does not know")
	case max(c.Thread, c.ReplyTo) > v.Meta.LastMail:
		return core.Refuse(noun.Invalid, "mail %d was never sent; the newest is %d", max(c.Thread, c.ReplyTo),
			v.Meta.LastMail)
	}
	return noun.Outcome{}
}

// recipients finds who gets a copy. The Detail of an outcome that is OK says whom the
// mail does not reach.
func (v *View) recipients(c *SendMail) ([]noun.AgentID, noun.Outcome) {
	list, no := v.addressed(c)
	if no.Code != noun.OK {
		return nil, no
	}
	if len(list) > noun.MaxMailCopies {
		return nil, core.Refuse(noun.Invalid,
			"%s has %d agents, at most %d get copies of one mail; send to its roles", c.To, len(list),
			noun.MaxMailCopies)
	}
	var reached []noun.AgentID
	var off, full string // the first of them
	for _, id := range list {
		a := v.AgentTable.Get(id)
		box := v.boxes[id]
		switch {
		case c.NoQueue && !a.Lives():
			off = cmp.Or(off, a.Name)
		case box != nil && len(box.open) >= noun.MaxMailbox:
			full = cmp.Or(full, a.Name)
		default:
			reached = append(reached, id)
		}
	}
	switch {
	case len(reached) == 0 && full != "":
		return nil, core.Refuse(noun.MailboxFull,
			"the mailbox of %s holds %d mails without an acknowledgement, more are not taken", full, noun.MaxMailbox)
	case len(reached) == 0:
		return nil, core.Refuse(noun.AgentOff,
			"%s is off, and the mail is not to be kept for it; `vigil agent explain %s` says why", off, off)
	case len(reached) < len(list):
		return reached, noun.Outcome{Detail: fmt.Sprintf(
			"%d of %d agents get no copy: they are off or their mailboxes are full, as that of %s",
			len(list)-len(reached), len(list), cmp.Or(off, full))}
	}
	return reached, noun.Outcome{}
}

// addressed finds the agents that an address names, without the sender unless it names
// itself alone.
func (v *View) addressed(c *SendMail) ([]noun.AgentID, noun.Outcome) {
	if c.To == "" {
		return v.answered(c.ReplyTo)
	}
	room, rest, ofRoom := strings.Cut(c.To, "/")
	role, n, numbered := strings.Cut(rest, ".")
	rm := v.Room(room)
	switch {
	case rm == nil && !ofRoom:
		return nil, core.Refuse(noun.NoAddressee, "%s", v.NoRoom(room).Detail)
	case rm == nil:
		return nil, core.Refuse(noun.NoAddressee, "%s", v.NoAgent(c.To).Detail)
	case rm.Deleting:
		return nil, core.Refuse(noun.Stopped, "room %q is being deleted and takes no mail", room)
	case ofRoom && numbered && n != "*":
		return v.alone(c.To, room, role, n)
	}
	var list []noun.AgentID
	self := noun.AgentID(0)
	if a := v.AgentByName(c.Agent); a != nil {
		self = a.ID
	}
	for _, id := range rm.Roles {
		r := v.RoleTable.Get(id)
		if ofRoom && r.Spec.Name != role {
			continue
		}
		for _, id := range r.Agents {
			if !v.AgentTable.Get(id).Retired && (id != self || ofRoom && len(r.Agents) == 1) {
				list = append(list, id)
			}
		}
	}
	if len(list) == 0 {
		return nil, core.Refuse(noun.NoAddressee,
			"%q names no agent that could get the mail; `vigil agent list` shows them", c.To)
	}
	return list, noun.Outcome{}
}

// alone finds the agent of room/role.N; room/role.1 is the first.
func (v *View) alone(to, room, role, n string) ([]noun.AgentID, noun.Outcome) {
	index, err := strconv.ParseUint(n, 10, 32)
	if err != nil || strconv.FormatUint(index, 10) != n || index == 0 {
		return nil, core.Refuse(noun.NoAddressee, "%q is no address; write room, room/role or room/role.2", to)
	}
	a := v.AgentByName(noun.AgentName(room, role, uint32(index)))
	if a == nil || a.Retired {
		return nil, core.Refuse(noun.NoAddressee, "%s", v.NoAgent(to).Detail)
	}
	return []noun.AgentID{a.ID}, noun.Outcome{}
}

// answered finds the agent that sent a mail.
func (v *View) answered(id noun.MailID) ([]noun.AgentID, noun.Outcome) {
	m := v.MailTable.Get(id)
	switch {
	case id == 0:
		return nil, core.Refuse(noun.Invalid, "the mail has no address; write room, room/role or room/role.2")
	case m == nil:
		return nil, core.Refuse(noun.NotFound, "mail %d is no longer kept; name whom to send the answer to", id)
	case m.FromInc == 0:
		return nil, core.Refuse(noun.NoAddressee,
			"mail %d was not sent by an agent, and only agents have mailboxes; name whom to send the answer to", id)
	}
	a := v.AgentByName(m.From)
	if a == nil || a.Retired {
		return nil, core.Refuse(noun.NoAddressee, "%s", v.NoAgent(m.From).Detail)
	}
	return []noun.AgentID{a.ID}, noun.Outcome{}
}

// ReadMail hands unread mail over to the life that asks, the most urgent first, at most
// MaxMailRead. The outcome's Rev is the number of the delivery, Count how many there
// are.
type ReadMail struct {
	core.Speaker
	Max uint32 // 0: MaxMailRead
}

// Apply hands over what the life has not got yet, what it was reminded of, and what
// an earlier life has left without an acknowledgement.
func (c ReadMail) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.Present(&c.Speaker)
	if a == nil {
		return no
	}
	list := s.unread(a)
	slices.SortStableFunc(list, func(x, y *noun.Mail) int { return s.mailRank(a, x) - s.mailRank(a, y) })
	most := noun.MaxMailRead
	if c.Max > 0 {
		most = min(most, int(c.Max))
	}
	list = list[:min(len(list), most)]
	out := a.Outcome()
	if out.Count = uint32(len(list)); out.Count == 0 {
		return out
	}
	s.Meta.LastDelivery++
	out.Rev = s.Meta.LastDelivery
	again := 0
	for _, unread := range list {
		m := s.MailTable.Mut(unread.ID)
		if m.DeliveredTo != a.Inc && (m.Noticed || m.DeliveredTo != 0) { // a reader of its own limit
			m.Since, m.Noticed = s.Meta.Clock, false
		}
		m.State, m.DeliveredTo, m.DeliveredAt, m.Delivery, m.Again = noun.MailDelivered, a.Inc, s.Meta.Clock,
			out.Rev, false
		if m.Deliveries++; m.Redelivered() {
			again++
		}
		s.Rearm(core.TimerMail, uint64(m.ID), &m.Armed, s.mailRow(m))
	}
	s.Event("mail.delivered", core.About{Agent: a}, fmt.Sprintf("%s, %d of them not for the first time",
		noun.Plural(len(list), "mail"), again))
	return out
}

// AckMail says that the agent has taken note of a mail.
type AckMail struct {
	core.Speaker
	Mail noun.MailID
}

// Apply closes a mail; saying it again changes nothing.
func (c AckMail) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.Present(&c.Speaker)
	if a == nil {
		return no
	}
	m := s.MailTable.Mut(c.Mail)
	out := a.Outcome()
	switch {
	case m == nil || m.To != a.ID:
		return core.Refuse(noun.NotFound, "there is no mail %d in the mailbox of %s, or not any more", c.Mail, a.Name)
	case m.State == noun.MailExpired:
		return core.Refuse(noun.Conflict, "mail %d has expired without an acknowledgement", c.Mail)
	case m.State == noun.MailAcknowledged:
		out.Mail, out.Count = c.Mail, 1
		return out
	}
	s.Hooks.AgentSpoke.Call(a)
	a.Note(func(n *noun.Notes) {
		if n.MailAt = s.Meta.Clock; s.Meta.Level >= core.LevelRetry {
			n.Answered++
		}
	})
	if s.Meta.Level >= core.LevelRetry { // it is useful now, so it may be healthy again
		s.Rearm(core.TimerAgent, uint64(a.ID), &a.Armed, s.AgentRow(a))
	}
	s.Event("mail.acknowledged", core.About{Agent: a}, fmt.Sprintf("mail %d, from %s", m.ID, m.From))
	s.closeMail(m, noun.MailAcknowledged)
	s.Touch(a.Room)
	out.Mail = c.Mail
	return out
}

// handover tells that a mail is what an earlier life of the agent has left to the next.
func (v *View) handover(a *noun.Agent, m *noun.Mail) bool {
	return m.Kind == noun.HandOverKind && m.FromInc != 0 && m.From == a.Name
}

// mailRank orders what a life reads: the hand-over first.
func (v *View) mailRank(a *noun.Agent, m *noun.Mail) int {
	if v.handover(a, m) {
		return -1
	}
	return m.Priority.Rank()
}

// maySend refuses the copies of a mail that are beyond a budget: in bytes, or in number.
func (s *State) maySend(draft *noun.Mail, to []noun.AgentID) noun.Outcome {
	over := max(0, s.MailTable.Len()+len(to)-int(s.Meta.Settings.MailKept))
	if over > s.ended.Len()/2 {
		return core.TooMany("mails, too few of them closed", uint64(s.MailTable.Len()), s.Meta.Settings.MailKept,
			core.Remedy(noun.ForMail), "mail_kept")
	}
	if s.Level() >= core.LevelRetry { // after mail_kept was lowered each mail removes a part of what is too much
		over = min(over, core.ReliefSteps)
	}
	bytes := noun.CostOfMail(draft)
	return s.Afford(noun.ForMail, s.AgentTable.Get(to[0]).Room, bytes*int64(len(to)), over)
}

// relief finds closed mails to free so many bytes and rows in a room (0: anywhere).
func (s *State) relief(room noun.RoomID, bytes int64, rows int) (r core.Relief) {
	var list []noun.MailID
	s.ended.Ascend(core.RoomItem[noun.MailID]{Room: room}, func(x core.RoomItem[noun.MailID]) bool {
		if x.Room != room || r.Bytes >= bytes && len(list) >= rows || len(list) == core.ReliefSteps {
			return false
		}
		list, r.Bytes = append(list, x.Id), r.Bytes+noun.CostOfMail(s.MailTable.Get(x.Id))
		return true
	})
	r.More = r.Bytes < bytes && len(list) == core.ReliefSteps
	r.Rows, r.Drop = len(list), func() {
		for _, id := range list {
			if s.MailTable.Get(id) != nil {
				s.removeMail(id)
			}
		}
	}
	return r
}

// SaysNew of mail that is sent: it always is.
func (c SendMail) SaysNew(*core.View, *noun.Agent) bool { return true }

// SaysNew of an acknowledgement: it always is.
func (c AckMail) SaysNew(*core.View, *noun.Agent) bool { return true }
