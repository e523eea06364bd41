package noun

import (
	"fmt"
	"slices"
	"time"
)

// MailPriority says how soon a mail should be acknowledged, and what follows when it
// is not; see the rows of package mail.
type MailPriority uint8

// Priorities of mail. The numbers are written to disk.
const (
	MailNormal MailPriority = iota // a reminder
	MailUrgent                     // an escalation
	MailHigh                       // a reminder, then an escalation
	MailLow                        // it is recorded
)

var mailPriorityNames = [...]string{"normal", "urgent", "high", "low"}

func (p MailPriority) String() string { return mailPriorityNames[p] }

// Rank orders an inbox: 0 is read first.
func (p MailPriority) Rank() int {
	switch p {
	case MailUrgent:
		return 0
	case MailHigh:
		return 1
	case MailLow:
		return 3
	}
	return 2
}

// MailPriorityNames are the words for priorities, by number.
func MailPriorityNames() []string { return mailPriorityNames[:] }

// MailWakes says from which priority on mail starts an agent on demand that does not run.
type MailWakes uint8

// The numbers are written to disk.
const (
	WakesNever MailWakes = iota
	WakesUrgent
	WakesHigh   // and urgent
	WakesNormal // and high and urgent
)

var mailWakesNames = [...]string{"never", "urgent", "high", "normal"}

func (w MailWakes) String() string { return mailWakesNames[w] }

// Set takes the value that a word names.
func (w *MailWakes) Set(word string) error {
	i := slices.Index(mailWakesNames[:], word)
	if i < 0 {
		return fmt.Errorf("%q is none of them", word)
	}
	*w = MailWakes(i)
	return nil
}

// Wakes tells whether mail of this priority does. Low mail never does.
func (w MailWakes) Wakes(p MailPriority) bool { return p.Rank() < int(w) }

// MailState is how far a mail has come.
type MailState uint8

// States of mail; see the chart in the package comment. The numbers are written to disk.
const (
	MailQueued       MailState = iota + 1 // no life of its agent has it yet
	MailDelivered                         // a life has it
	MailAcknowledged                      // a life has said so; it is kept for a while
	MailExpired                           // nobody said so in time; it is kept for a while
)

var mailStateNames = [...]string{"none", "queued", "delivered", "acknowledged", "expired"}

func (m MailState) String() string { return mailStateNames[m] }

// Closed tells that nothing happens to the mail any more but its removal.
func (m MailState) Closed() bool { return m >= MailAcknowledged }

// Mail is a message in the mailbox of one agent. What is sent to a role or a room is
// one mail for each of its agents. It goes with its agent.
type Mail struct {
	ID      MailID
	Room    RoomID  // of To
	To      AgentID // whose mailbox it is in
	From    string  // an agent, or the name of a human or a tool when FromInc is 0
	FromInc Incarnation

	Subject, Body string // in no event and no log line
	Kind          string // for programs: what it is, for instance status-inquiry
	Priority      MailPriority
	Thread        MailID // first mail of the conversation; copies of one sending share it
	ReplyTo       MailID // 0: it answers nothing

	SentAt   Time
	SentWall Wall
	State    MailState

	DeliveredTo Incarnation // the life that got it last
	DeliveredAt Time
	Deliveries  uint32 // how often it was handed over: more than 1 is a redelivery
	Delivery    uint64 // number of the last hand-over; mails of one ReadMail share it

	Since     Time   // the limit of the present reader runs from here
	Noticed   bool   // that limit has passed, and what follows it was done
	Reminded  uint32 // reminders to all readers
	Again     bool   // reminded since its last delivery: it counts as unread
	Escalated bool
	ClosedAt  Time
	Armed     Time // when its timer is set; 0: none
}

// Redelivered tells that the mail was handed over before.
func (m *Mail) Redelivered() bool { return m.Deliveries > 1 }

// Unread tells whether ReadMail hands the mail over to a life.
func (m *Mail) Unread(inc Incarnation) bool {
	switch m.State {
	case MailQueued:
		return true
	case MailDelivered:
		return m.Again || m.DeliveredTo != inc
	}
	return false
}

// MailLimit is how long a mail of this priority may stay without an acknowledgement.
func (s *Settings) MailLimit(p MailPriority) time.Duration {
	switch p {
	case MailUrgent:
		return s.MailUrgentLimit
	case MailHigh:
		return s.MailHighLimit
	case MailLow:
		return s.MailLowLimit
	}
	return s.MailNormalLimit
}

// Authors of what vigil does and writes by itself.
const (
	LaddersBy = "vigil"    // of mail to agents, and of looks at overseers
	WatchedBy = "watchdog" // of what the watchdog of rooms does to tasks and rooms
)

// HandOverKind is the kind of the mail that a life leaves to the next one.
const HandOverKind = "handover"

// Limits of mail; Apply refuses more, and so should every door.
const (
	MaxMailSubject = 256
	MaxMailBody    = 16 << 10
	MaxMailFrom    = 128
	MaxMailCopies  = 1000 // of one sending
	MaxMailbox     = 1000 // mails without an acknowledgement in one mailbox; as many closed ones are kept
	MaxMailRead    = 100  // mails that one ReadMail hands over
)
