package mail

import (
	"slices"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Check tests what a single state can show of mail.
func (s *View) Check(c *core.Checker) {
	sent, closed := 0, 0
	for id, m := range s.MailTable.From(0) {
		sent++
		if m.State.Closed() {
			closed++
		}
		c.That(m.ID == id && m.ID <= s.Meta.LastMail, "mail %d is kept as %d, the newest is %d", m.ID, id,
			s.Meta.LastMail)
		a := s.AgentTable.Get(m.To)
		c.That(a != nil, "mail %d is in the mailbox of agent %d, which is gone", m.ID, m.To)
		if a == nil {
			continue
		}
		c.That(m.Room == a.Room, "mail %d is in room %d, its agent %s in %d", m.ID, m.Room, a.Name, a.Room)
		c.That(m.State >= noun.MailQueued && m.State <= noun.MailExpired, "mail %d has state %d", m.ID, m.State)
		c.That(m.State != noun.MailQueued || m.Deliveries == 0 && m.DeliveredTo == 0,
			"L6: mail %d is queued and was delivered to %s", m.ID, m.DeliveredTo)
		c.That(m.State != noun.MailDelivered || m.Deliveries > 0 && m.Delivery > 0 &&
			m.Delivery <= s.Meta.LastDelivery, "mail %d is delivered by no delivery", m.ID)
		c.That(m.DeliveredTo <= a.Inc, "L6: mail %d was delivered to incarnation %s of %s, which is at %s",
			m.ID, m.DeliveredTo, a.Name, a.Inc)
		c.That(!m.State.Closed() || !m.Again, "mail %d is %s and unread", m.ID, m.State)
		c.Armed(s.Base.View, "L11", s.mailRow(m), m.Armed)
		_, found := s.sentBy.Get(sentMail{m.From, m.ID})
		c.That(found, "mail %d is not in the index of senders", m.ID)
		_, found = slices.BinarySearch(s.boxes[m.To].list(m.State.Closed()), m.ID)
		c.That(found, "mail %d is %s and not in that part of the mailbox of %s", m.ID, m.State, a.Name)
	}
	boxed := 0
	for id, box := range s.boxes {
		boxed += len(box.open) + len(box.closed)
		c.That(len(box.open) <= noun.MaxMailbox && len(box.closed) <= noun.MaxMailbox,
			"L11: the mailbox of agent %d holds %d open and %d closed mails", id, len(box.open), len(box.closed))
		c.That(slices.IsSorted(box.open) && slices.IsSorted(box.closed), "the mailbox of agent %d is not in order", id)
	}
	c.That(boxed == sent && s.sentBy.Len() == sent && s.ended.Len() == 2*closed,
		"%d mails, %d of them closed; the indexes have %d in mailboxes, %d by sender, %d closed", sent,
		closed, boxed, s.sentBy.Len(), s.ended.Len()/2)
}
