package fsm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"vigil/fsm/noun"
)

// SendMail puts a mail into the mailbox of each addressee, in one record.
type SendMail struct {
	// Speaker is the life that sends it. With an empty Agent it is no agent's: From
	// says who sends it, for people.
	Speaker
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
func (c SendMail) Apply(s *State) noun.Outcome {
	out := s.send(&c)
	if out.Code != noun.OK {
		return out
	}
	switch a := s.AgentByName(c.Agent); {
	case a != nil:
		s.touch(a.Room)
	case c.From != noun.LaddersBy && c.From != noun.WatchedBy:
		s.touch(s.mails.Get(out.Mail).Room)
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
	first := s.meta.LastMail + 1
	if draft.Thread == 0 {
		draft.Thread = first
	}
	for _, id := range list {
		s.meta.LastMail++
		m := s.mails.Put(s.meta.LastMail)
		*m = draft
		m.ID, m.To, m.Room = s.meta.LastMail, id, s.agents.Get(id).Room
		s.indexMail(m, +1)
		s.rearm(timerMail, uint64(m.ID), &m.Armed, s.mailDeadline(m))
	}
	s.res.Effects.Mail = append(s.res.Effects.Mail, list...)
	for _, id := range list {
		s.hooks.MailChanged.call(id)
	}
	if a := s.agents.Mut(s.agentByName[c.Agent]); a != nil {
		s.hooks.AgentSpoke.call(a)
		a.Note(func(n *noun.Notes) { n.MailAt = s.meta.Clock })
	}
	return s.sent(c, &draft, first, list, no.Detail)
}

// sent writes the event and makes the answer; leftOut says who got no copy.
func (s *State) sent(c *SendMail, draft *noun.Mail, first noun.MailID, list []noun.AgentID, leftOut string) noun.Outcome {
	out := noun.Outcome{Mail: first, Count: uint32(len(list)), Detail: leftOut}
	to := s.agents.Mut(list[0])
	if len(list) == 1 {
		out.Agent = to.ID
		s.event("mail.sent", about{agent: to}, fmt.Sprintf("mail %d, %s, from %s", first, draft.Priority, draft.From))
		return out
	}
	s.event("mail.sent", about{room: to.Room}, fmt.Sprintf("mails %d to %d, %s, from %s to %s",
		first, s.meta.LastMail, draft.Priority, draft.From, c.To))
	return out
}

// draft is what all copies have in common.
func (s *State) draft(c *SendMail) (noun.Mail, noun.Outcome) {
	m := noun.Mail{From: c.From, Subject: c.Subject, Body: c.Body, Kind: c.Kind, Priority: c.Priority, Thread: c.Thread, ReplyTo: c.ReplyTo,
		SentAt: s.meta.Clock, Since: s.meta.Clock, SentWall: s.now.Wall, State: noun.MailQueued}
	if c.Agent != "" {
		a, no := s.present(&c.Speaker)
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
		if first := s.mails.Get(c.ReplyTo); first != nil {
			m.Thread = first.Thread
		}
	}
	return m, noun.Outcome{}
}

func (v *View) checkMail(c *SendMail, m *noun.Mail) noun.Outcome {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"sender", m.From, noun.MaxMailFrom + noun.MaxName}, {"subject", c.Subject, noun.MaxMailSubject}, {"body", c.Body, noun.MaxMailBody}} {
		switch {
		case len(f.text) > f.most:
			return refuse(noun.Invalid, "the %s has %d bytes, at most %d are allowed", f.name, len(f.text), f.most)
		case !utf8.ValidString(f.text):
			return refuse(noun.Invalid, "the %s must be valid UTF-8", f.name)
		}
	}
	if c.Kind != "" {
		if err := noun.CheckName(c.Kind); err != nil {
			return refuse(noun.Invalid, "kind: %v", err)
		}
	}
	switch {
	case m.From == "":
		return refuse(noun.Invalid, "the mail does not say who sends it")
	case c.Subject == "" && c.Body == "":
		return refuse(noun.Invalid, "the mail has neither a subject nor a body")
	case c.Priority > noun.MailLow:
		return refuse(noun.Invalid, "the priority has a value that this server does not know")
	case max(c.Thread, c.ReplyTo) > v.meta.LastMail:
		return refuse(noun.Invalid, "mail %d was never sent; the newest is %d", max(c.Thread, c.ReplyTo), v.meta.LastMail)
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
		return nil, refuse(noun.Invalid, "%s has %d agents, at most %d get copies of one mail; send to its roles", c.To, len(list), noun.MaxMailCopies)
	}
	var reached []noun.AgentID
	var off, full string // the first of them
	for _, id := range list {
		a := v.agents.Get(id)
		box := v.mailboxes.Get(id)
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
		return nil, refuse(noun.MailboxFull, "the mailbox of %s holds %d mails without an acknowledgement, more are not taken", full, noun.MaxMailbox)
	case len(reached) == 0:
		return nil, refuse(noun.AgentOff, "%s is off, and the mail is not to be kept for it; `vigil agent explain %s` says why", off, off)
	case len(reached) < len(list):
		return reached, noun.Outcome{Detail: fmt.Sprintf("%d of %d agents get no copy: they are off or their mailboxes are full, as that of %s",
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
		return nil, refuse(noun.NoAddressee, "%s", v.noRoom(room).Detail)
	case rm == nil:
		return nil, refuse(noun.NoAddressee, "%s", v.noAgent(c.To).Detail)
	case rm.Deleting:
		return nil, refuse(noun.Stopped, "room %q is being deleted and takes no mail", room)
	case ofRoom && numbered && n != "*":
		return v.alone(c.To, room, role, n)
	}
	var list []noun.AgentID
	self := v.agentByName[c.Agent]
	for _, id := range rm.Roles {
		r := v.roles.Get(id)
		if ofRoom && r.Spec.Name != role {
			continue
		}
		for _, id := range r.Agents {
			if !v.agents.Get(id).Retired && (id != self || ofRoom && len(r.Agents) == 1) {
				list = append(list, id)
			}
		}
	}
	if len(list) == 0 {
		return nil, refuse(noun.NoAddressee, "%q names no agent that could get the mail; `vigil agent list` shows them", c.To)
	}
	return list, noun.Outcome{}
}

// alone finds the agent of room/role.N; room/role.1 is the first.
func (v *View) alone(to, room, role, n string) ([]noun.AgentID, noun.Outcome) {
	index, err := strconv.ParseUint(n, 10, 32)
	if err != nil || strconv.FormatUint(index, 10) != n || index == 0 {
		return nil, refuse(noun.NoAddressee, "%q is no address; write room, room/role or room/role.2", to)
	}
	a := v.AgentByName(noun.AgentName(room, role, uint32(index)))
	if a == nil || a.Retired {
		return nil, refuse(noun.NoAddressee, "%s", v.noAgent(to).Detail)
	}
	return []noun.AgentID{a.ID}, noun.Outcome{}
}

// answered finds the agent that sent a mail.
func (v *View) answered(id noun.MailID) ([]noun.AgentID, noun.Outcome) {
	m := v.mails.Get(id)
	switch {
	case id == 0:
		return nil, refuse(noun.Invalid, "the mail has no address; write room, room/role or room/role.2")
	case m == nil:
		return nil, refuse(noun.NotFound, "mail %d is no longer kept; name whom to send the answer to", id)
	case m.FromInc == 0:
		return nil, refuse(noun.NoAddressee, "mail %d was not sent by an agent, and only agents have mailboxes; name whom to send the answer to", id)
	}
	a := v.AgentByName(m.From)
	if a == nil || a.Retired {
		return nil, refuse(noun.NoAddressee, "%s", v.noAgent(m.From).Detail)
	}
	return []noun.AgentID{a.ID}, noun.Outcome{}
}

// ReadMail hands unread mail over to the life that asks, the most urgent first, at most
// MaxMailRead. The outcome's Rev is the number of the delivery, Count how many there
// are.
type ReadMail struct {
	Speaker
	Max uint32 // 0: MaxMailRead
}

// Apply hands over what the life has not got yet, what it was reminded of, and what
// an earlier life has left without an acknowledgement.
func (c ReadMail) Apply(s *State) noun.Outcome {
	a, no := s.present(&c.Speaker)
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
	s.meta.LastDelivery++
	out.Rev = s.meta.LastDelivery
	again := 0
	for _, unread := range list {
		m := s.mails.Mut(unread.ID)
		if m.DeliveredTo != a.Inc && (m.Noticed || m.DeliveredTo != 0) { // a reader of its own limit
			m.Since, m.Noticed = s.meta.Clock, false
		}
		m.State, m.DeliveredTo, m.DeliveredAt, m.Delivery, m.Again = noun.MailDelivered, a.Inc, s.meta.Clock, out.Rev, false
		if m.Deliveries++; m.Redelivered() {
			again++
		}
		s.rearm(timerMail, uint64(m.ID), &m.Armed, s.mailDeadline(m))
	}
	s.event("mail.delivered", about{agent: a}, fmt.Sprintf("%d mails, %d of them not for the first time", len(list), again))
	return out
}

// AckMail says that the agent has taken note of a mail.
type AckMail struct {
	Speaker
	Mail noun.MailID
}

// Apply closes a mail; saying it again changes nothing.
func (c AckMail) Apply(s *State) noun.Outcome {
	a, no := s.present(&c.Speaker)
	if a == nil {
		return no
	}
	m := s.mails.Mut(c.Mail)
	out := a.Outcome()
	switch {
	case m == nil || m.To != a.ID:
		return refuse(noun.NotFound, "there is no mail %d in the mailbox of %s, or not any more", c.Mail, a.Name)
	case m.State == noun.MailExpired:
		return refuse(noun.Conflict, "mail %d has expired without an acknowledgement", c.Mail)
	case m.State == noun.MailAcknowledged:
		out.Mail, out.Count = c.Mail, 1
		return out
	}
	s.hooks.AgentSpoke.call(a)
	a.Note(func(n *noun.Notes) { n.MailAt = s.meta.Clock })
	s.event("mail.acknowledged", about{agent: a}, fmt.Sprintf("mail %d, from %s", m.ID, m.From))
	s.closeMail(m, noun.MailAcknowledged)
	s.touch(a.Room)
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
	over := max(0, s.mails.Len()+len(to)-int(s.meta.Settings.MailKept))
	if over > s.mailsEnded.Len()/2 {
		return tooMany("mails, too few of them closed", uint64(s.mails.Len()), s.meta.Settings.MailKept, purseSays[noun.ForMail].remedy, "mail_kept")
	}
	bytes := noun.CostOfMail(draft)
	return s.afford(noun.ForMail, s.agents.Get(to[0]).Room, bytes*int64(len(to)), over)
}

// relief finds closed mails to free so many bytes and rows in a room (0: anywhere).
func (s *State) mailRelief(room noun.RoomID, bytes int64, rows int) (r relief) {
	var list []noun.MailID
	s.mailsEnded.Ascend(roomItem[noun.MailID]{room: room}, func(x roomItem[noun.MailID]) bool {
		if x.room != room || r.bytes >= bytes && len(list) >= rows || len(list) == reliefSteps {
			return false
		}
		list, r.bytes = append(list, x.id), r.bytes+noun.CostOfMail(s.mails.Get(x.id))
		return true
	})
	r.rows, r.drop = len(list), func() {
		for _, id := range list {
			if s.mails.Get(id) != nil {
				s.removeMail(id)
			}
		}
	}
	return r
}

// SaysNew of mail that is sent: it always is.
func (c SendMail) SaysNew(*View, *noun.Agent) bool { return true }

// SaysNew of an acknowledgement: it always is.
func (c AckMail) SaysNew(*View, *noun.Agent) bool { return true }
