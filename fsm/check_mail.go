package fsm

import (
	"slices"

	"vigil/fsm/noun"
)

// mail tests what a single state can show of mail.
func (c *checker) mail(s *View) {
	sent, closed := 0, 0
	for id, m := range s.mails.From(0) {
		sent++
		if m.State.Closed() {
			closed++
		}
		c.that(m.ID == id && m.ID <= s.meta.LastMail, "mail %d is kept as %d, the newest is %d", m.ID, id, s.meta.LastMail)
		a := s.agents.Get(m.To)
		c.that(a != nil, "mail %d is in the mailbox of agent %d, which is gone", m.ID, m.To)
		if a == nil {
			continue
		}
		c.that(m.Room == a.Room, "mail %d is in room %d, its agent %s in %d", m.ID, m.Room, a.Name, a.Room)
		c.that(m.State >= noun.MailQueued && m.State <= noun.MailExpired, "mail %d has state %d", m.ID, m.State)
		c.that(m.State != noun.MailQueued || m.Deliveries == 0 && m.DeliveredTo == 0, "L6: mail %d is queued and was delivered to %s", m.ID, m.DeliveredTo)
		c.that(m.State != noun.MailDelivered || m.Deliveries > 0 && m.Delivery > 0 && m.Delivery <= s.meta.LastDelivery, "mail %d is delivered by no delivery", m.ID)
		c.that(m.DeliveredTo <= a.Inc, "L6: mail %d was delivered to incarnation %s of %s, which is at %s", m.ID, m.DeliveredTo, a.Name, a.Inc)
		c.that(!m.State.Closed() || !m.Again, "mail %d is %s and unread", m.ID, m.State)
		at := s.mailDeadline(m)
		c.that(m.Armed != 0 && m.Armed <= max(at, s.meta.Clock), "L11: mail %d must be looked at by %d, its timer is at %d", m.ID, at, m.Armed)
		_, found := s.mailsSent.Get(sentMail{m.From, m.ID})
		c.that(found, "mail %d is not in the index of senders", m.ID)
		_, found = slices.BinarySearch(s.mailboxes.Get(m.To).list(m.State.Closed()), m.ID)
		c.that(found, "mail %d is %s and not in that part of the mailbox of %s", m.ID, m.State, a.Name)
	}
	boxed := 0
	for id, box := range s.mailboxes.From(0) {
		boxed += len(box.open) + len(box.closed)
		c.that(len(box.open) <= noun.MaxMailbox && len(box.closed) <= noun.MaxMailbox, "L11: the mailbox of agent %d holds %d open and %d closed mails", id, len(box.open), len(box.closed))
		c.that(slices.IsSorted(box.open) && slices.IsSorted(box.closed), "the mailbox of agent %d is not in order", id)
	}
	c.that(boxed == sent && s.mailsSent.Len() == sent && s.mailsEnded.Len() == 2*closed,
		"%d mails, %d of them closed; the indexes have %d in mailboxes, %d by sender, %d closed", sent, closed, boxed, s.mailsSent.Len(), s.mailsEnded.Len()/2)
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
