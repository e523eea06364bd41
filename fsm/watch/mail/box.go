package mail

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// mailbox is what the state derives of an agent's mail, both in the order of sending.
type mailbox struct {
	open   []noun.MailID // without an acknowledgement, at most MaxMailbox
	closed []noun.MailID // at most MaxMailbox, then the oldest goes
}

// sentMail orders mail by its sender.
type sentMail struct {
	from string
	id   noun.MailID
}

func lessSent(a, b sentMail) bool {
	if a.from != b.from {
		return a.from < b.from
	}
	return a.id < b.id
}

// indexMail adds (by 1) or takes away (by -1) a mail's share of the indexes.
func (s *State) indexMail(m *noun.Mail, by int) {
	box := s.boxes[m.To]
	if box == nil {
		box = &mailbox{}
		s.boxes[m.To] = box
	}
	list := &box.open
	if m.State.Closed() {
		list = &box.closed
	}
	at, found := slices.BinarySearch(*list, m.ID)
	switch {
	case by > 0 && !found:
		*list = slices.Insert(*list, at, m.ID)
		s.sentBy.Set(sentMail{m.From, m.ID})
		if m.State.Closed() {
			s.indexEndedMail(m, true)
		}
	case by < 0 && found:
		*list = slices.Delete(*list, at, at+1)
		s.sentBy.Delete(sentMail{m.From, m.ID})
		s.indexEndedMail(m, false)
	}
}

func (s *State) indexEndedMail(m *noun.Mail, in bool) {
	s.ended.Put(0, uint64(m.ID), m.ID, in)
	s.ended.Put(m.Room, uint64(m.ID), m.ID, in)
}

// closeMail ends a mail and keeps it for a while.
func (s *State) closeMail(m *noun.Mail, state noun.MailState) {
	s.indexMail(m, -1)
	m.State, m.ClosedAt, m.Again = state, s.Meta.Clock, false
	s.indexMail(m, +1)
	s.Rearm(core.TimerMail, uint64(m.ID), &m.Armed, s.mailRow(m))
	if box := s.boxes[m.To]; len(box.closed) > noun.MaxMailbox {
		s.removeMail(box.closed[0])
	}
	s.Hooks.MailChanged.Call(m.To) // a younger one may be what waits for it now
}

func (s *State) removeMail(id noun.MailID) {
	m := s.MailTable.Mut(id)
	s.indexMail(m, -1)
	s.Rearm(core.TimerMail, uint64(id), &m.Armed, due.Row{})
	s.MailTable.Del(id)
}

// dropMailbox removes the mail of an agent that goes, and says so of what nobody has acknowledged.
func (s *State) dropMailbox(a *noun.Agent) {
	id := a.ID
	box := s.boxes[id]
	if box == nil {
		return
	}
	if len(box.open) > 0 && s.Meta.Level >= core.LevelRetry {
		s.Event("mail.dropped", core.About{Agent: a}, fmt.Sprintf("%s without an acknowledgement, from %s: their "+
			"addressee is gone", noun.Plural(len(box.open), "mail"), s.senders(box.open)))
	}
	for _, mail := range slices.Concat(box.open, box.closed) {
		s.removeMail(mail)
	}
	delete(s.boxes, id)
}

// sendersNamed bounds the senders that an event names.
const sendersNamed = 3

// senders names those of some mails, the first of them, each once.
func (v *View) senders(list []noun.MailID) string {
	var names []string
	for _, id := range list {
		if from := v.MailTable.Get(id).From; !slices.Contains(names, from) {
			names = append(names, from)
		}
	}
	if more := len(names) - sendersNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:sendersNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

func (s *State) fireMail(id noun.MailID) {
	m := s.MailTable.Mut(id)
	if m == nil {
		return
	}
	m.Armed = 0
	for _, row := range s.mailRows(m) {
		switch {
		case !row.Due(s.Meta.Clock):
		case row.Kind == kindRemoval:
			s.removeMail(id)
			return
		case row.Kind == kindExpiry:
			s.mailEvent("mail.expired", m)
			s.closeMail(m, noun.MailExpired)
			return
		default:
			s.notice(m, row.Kind)
		}
	}
	s.Rearm(core.TimerMail, uint64(id), &m.Armed, s.mailRow(m))
}

// notice does what follows when a limit of a mail without an acknowledgement has passed.
func (s *State) notice(m *noun.Mail, limit *due.Kind) {
	switch limit {
	case kindRecord:
		m.Noticed = true
		s.mailEvent("mail.overdue", m)
	case kindRemind:
		m.Noticed = true
		m.Reminded++
		m.Again = true
		s.mailEvent("mail.reminder", m)
		s.Result.Effects.Mail = append(s.Result.Effects.Mail, m.To)
		s.Hooks.MailChanged.Call(m.To)
	case kindEscalate:
		m.Escalated = true
		s.mailEvent("mail.escalated", m)
		s.escalateMail(m)
	}
}

// mailEvent says that nobody has acknowledged a mail, and nothing of what is in it.
func (s *State) mailEvent(kind string, m *noun.Mail) {
	how := "read by nobody"
	if m.State == noun.MailDelivered {
		how = "delivered to incarnation " + m.DeliveredTo.String()
	}
	s.Event(kind, core.About{Agent: s.AgentTable.Mut(m.To)},
		fmt.Sprintf("mail %d, %s, from %s, %s, is without an acknowledgement after %s",
			m.ID, m.Priority, m.From, how, time.Duration(s.Meta.Clock-m.SentAt).Round(time.Second)))
}

// rearmMail sets all timers anew after the limits have changed.
func (s *State) rearmMail(put core.Put) {
	if !put.Any("mail_") {
		return
	}
	for id := range s.MailTable.From(0) {
		m := s.MailTable.Mut(id)
		s.Rearm(core.TimerMail, uint64(id), &m.Armed, s.mailRow(m))
	}
	if put.Any("mail_wakes") {
		s.lookAtAll()
	}
}

// unread lists what ReadMail would hand over to the agent's present life, or to its next
// one when it is off, oldest first.
func (v *View) unread(a *noun.Agent) (list []*noun.Mail) {
	box := v.boxes[a.ID]
	if box == nil {
		return nil
	}
	reader := a.Inc
	if !a.Lives() {
		reader = 0
	}
	for _, id := range box.open {
		m := v.MailTable.Get(id)
		// what a life leaves behind is not for itself
		if m.Unread(reader) && (m.FromInc != reader || !v.handover(a, m)) {
			list = append(list, m)
		}
	}
	return list
}

// Mail finds a mail.
func (v *View) Mail(id noun.MailID) *noun.Mail { return v.MailTable.Get(id) }

// Mails yields the mails behind id in the order of sending.
func (v *View) Mails(after noun.MailID) iter.Seq[*noun.Mail] {
	return core.Values(v.MailTable.From(after + 1))
}

// Mailbox yields the mails of an agent behind id in the order of sending.
func (v *View) Mailbox(id noun.AgentID, after noun.MailID) iter.Seq[*noun.Mail] {
	return func(yield func(*noun.Mail) bool) {
		box := v.boxes[id]
		if box == nil {
			return
		}
		open, closed := beyond(box.open, after), beyond(box.closed, after)
		for len(open)+len(closed) > 0 {
			from := &open
			if len(open) == 0 || len(closed) > 0 && closed[0] < open[0] {
				from = &closed
			}
			if !yield(v.Mail((*from)[0])) {
				return
			}
			*from = (*from)[1:]
		}
	}
}

// MailsBack yields the mails below id (0: all), newest first.
func (v *View) MailsBack(before noun.MailID) iter.Seq[*noun.Mail] {
	return core.Values(v.MailTable.Back(below(before)))
}

// MailboxBack yields the mails of an agent below id (0: all), newest first.
func (v *View) MailboxBack(id noun.AgentID, before noun.MailID) iter.Seq[*noun.Mail] {
	return func(yield func(*noun.Mail) bool) {
		box := v.boxes[id]
		if box == nil {
			return
		}
		before = below(before)
		open, _ := slices.BinarySearch(box.open, before)
		closed, _ := slices.BinarySearch(box.closed, before)
		for open+closed > 0 {
			list, at := box.open, &open
			if open == 0 || closed > 0 && box.closed[closed-1] > box.open[open-1] {
				list, at = box.closed, &closed
			}
			*at--
			if !yield(v.Mail(list[*at])) {
				return
			}
		}
	}
}

// MailFromBack yields what a sender has sent below id (0: all), newest first.
func (v *View) MailFromBack(from string, before noun.MailID) iter.Seq[*noun.Mail] {
	return func(yield func(*noun.Mail) bool) {
		v.sentBy.Descend(sentMail{from, below(before) - 1}, func(x sentMail) bool {
			return x.from == from && yield(v.Mail(x.id))
		})
	}
}

// below is the number below which a list begins that goes back; 0: above all mails.
func below(id noun.MailID) noun.MailID {
	if id == 0 {
		return ^noun.MailID(0)
	}
	return id
}

// beyond is the part of a sorted list behind id.
func beyond(list []noun.MailID, id noun.MailID) []noun.MailID {
	at, _ := slices.BinarySearch(list, id+1)
	return list[at:]
}

// MailFrom yields what a sender has sent behind id, in the order of sending.
func (v *View) MailFrom(from string, after noun.MailID) iter.Seq[*noun.Mail] {
	return func(yield func(*noun.Mail) bool) {
		v.sentBy.Ascend(sentMail{from, after + 1}, func(x sentMail) bool {
			return x.from == from && yield(v.Mail(x.id))
		})
	}
}

// Unread counts what ReadMail would hand over to the agent's present life, or to its
// next one when it is off.
func (v *View) Unread(id noun.AgentID) int {
	if a := v.Agent(id); a != nil {
		return len(v.unread(a))
	}
	return 0
}

// MailDelivery lists the mails of one delivery, the outcome's Rev of a ReadMail, in the
// order in which they should be read. Those that were handed over again since belong to
// the later delivery.
func (v *View) MailDelivery(id noun.AgentID, delivery uint64) (list []*noun.Mail) {
	for m := range v.Mailbox(id, 0) {
		if m.Delivery == delivery && delivery != 0 {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list,
		func(x, y *noun.Mail) int { return v.mailRank(v.Agent(id), x) - v.mailRank(v.Agent(id), y) })
	return list
}

// MailFor counts what ReadMail would hand over to this speaker, or says with a code
// other than OK why it would be refused.
func (v *View) MailFor(sp *core.Speaker) (int, noun.Outcome) {
	a := v.AgentByName(sp.Agent)
	if a == nil {
		return 0, v.NoAgent(sp.Agent)
	}
	if no := v.Impostor(a, sp); no.Code != noun.OK {
		return 0, no
	}
	switch {
	case v.MayReturn(a), !a.Managed && a.Part == noun.PartDisconnected:
		return 0, core.Refuse(noun.Rejoin, "%s has no lease; join again", a.Name)
	case a.Managed && !a.Proc.Fenced():
		return 0, core.Refuse(noun.Superseded, "incarnation %s of %s has ended; stop", a.Inc, a.Name)
	}
	return len(v.unread(a)), noun.Outcome{}
}

// escalateMail leaves out what the ladder has asked: it calls a human by itself, once, and
// an agent that works again without an answer needs none.
func (s *State) escalateMail(m *noun.Mail) {
	a := s.AgentTable.Get(m.To)
	if a == nil || m.From == noun.LaddersBy && m.FromInc == 0 {
		return
	}
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscMailUnanswered, Subject: a.Name, Priority: m.Priority,
		Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.RoomTable.Get(a.Room).Name, Host: s.HostNameOf(a),
		Facts: []noun.KV{{Key: "mail", Value: strconv.FormatUint(uint64(m.ID), 10)},
			{Key: "mail_from", Value: m.From}, {Key: "mail_state", Value: m.State.String()},
			{Key: "waits_for", Value: s.Meta.Clock.Sub(m.SentAt).Round(time.Second).String()}}})
}

// letter sends a mail to one agent. When it is refused, nothing has changed.
func (s *State) letter(l core.Letter) noun.Outcome {
	r, rm := s.RoleTable.Get(l.To.Role), s.RoomTable.Get(l.To.Room)
	return s.send(&SendMail{Speaker: l.Speaker, From: l.From,
		To:      fmt.Sprintf("%s/%s.%d", rm.Name, r.Spec.Name, l.To.Index),
		Subject: l.Subject, Body: l.Body, Kind: l.Kind, Priority: l.Priority})
}

// recallMail closes a mail that wants no answer any more.
func (s *State) recallMail(id noun.MailID) {
	if m := s.MailTable.Mut(id); m != nil && !m.State.Closed() {
		s.closeMail(m, noun.MailExpired)
	}
}

// list gives one part of a mailbox.
func (b *mailbox) list(closed bool) []noun.MailID {
	switch {
	case b == nil:
		return nil
	case closed:
		return b.closed
	}
	return b.open
}

// unanswered tells whether a mail that a human was called for is still without an acknowledgement.
func (v *View) unanswered(e *noun.Escalation) bool {
	a := v.AgentByName(e.Agent)
	if a == nil || v.boxes[a.ID] == nil {
		return false
	}
	return slices.ContainsFunc(v.boxes[a.ID].open, func(id noun.MailID) bool { return v.MailTable.Get(id).Escalated })
}
