package fsm

import "vigil/fsm/noun"

// Limits of mail; Apply refuses more, and so should every door.
const (
	MaxMailSubject = 256
	MaxMailBody    = 16 << 10
	MaxMailFrom    = 128
	MaxMailCopies  = 1000 // of one sending
	MaxMailbox     = 1000 // mails without an acknowledgement in one mailbox; as many closed ones are kept
	MaxMailRead    = 100  // mails that one ReadMail hands over
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

// ReadMail hands unread mail over to the life that asks, the most urgent first, at most
// MaxMailRead. The outcome's Rev is the number of the delivery, Count how many there
// are.
type ReadMail struct {
	Speaker
	Max uint32 // 0: MaxMailRead
}

// AckMail says that the agent has taken note of a mail.
type AckMail struct {
	Speaker
	Mail noun.MailID
}
