package client

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// Mailbox is the mail of one life of an agent. People and tools that are no agent use
// vigilv1.NewMailboxClient. Safe for concurrent use.
type Mailbox struct {
	client  *Client
	mail    vigilv1.MailboxClient
	speaker *vigilv1.Speaker
	maxWait time.Duration

	worker   *Worker       // beats for this life; nil: somebody else does
	patience time.Duration // see NewMailbox
}

// NewMailbox opens the mailbox of the life that cfg names; Incarnation must be given. Somebody
// else beats for it: Patience is how long Wait goes on while its lease has ended, 0: for ever.
func NewMailbox(c *Client, cfg WorkerConfig) *Mailbox {
	m := &Mailbox{client: c, mail: vigilv1.NewMailboxClient(c), maxWait: cfg.MaxWait, patience: cfg.Patience,
		speaker: &vigilv1.Speaker{Agent: cfg.Agent, Incarnation: cfg.Incarnation, Token: cfg.Token}}
	if m.maxWait == 0 {
		m.maxWait = time.Minute
	}
	return m
}

// Mailbox is the mailbox of this life.
func (w *Worker) Mailbox() *Mailbox {
	return &Mailbox{client: w.client, mail: vigilv1.NewMailboxClient(w.client), speaker: w.speaker, maxWait: w.maxWait,
		worker: w}
}

// Letter is a mail to be sent.
type Letter struct {
	// To is room (each of its agents), room/role (each agent of the role) or room/role.2
	// (that agent alone; room/role.1 is the first). Empty with ReplyTo: who sent that mail.
	To string
	// Subject has at most 256 bytes, Body at most 16 KiB; one of them is needed.
	Subject, Body string
	// Kind is a name for programs, for instance status-inquiry.
	Kind string
	// Priority is urgent, high, normal or low; empty: normal.
	Priority string
	// ReplyTo is the mail that this one answers; 0: none.
	ReplyTo uint64
	// Now leaves out agents that are off; when all are, the error is ErrAgentOff.
	Now bool
}

// Send sends a mail and gives the numbers of its copies, one for each agent that gets
// one. The errors of an address are ErrNoAddressee, ErrAgentOff and ErrMailboxFull.
func (m *Mailbox) Send(ctx context.Context, l Letter) ([]uint64, error) {
	queue := !l.Now
	answer, err := m.mail.SendMail(ctx, &vigilv1.SendMailRequest{Speaker: m.speaker, To: l.To,
		Subject: l.Subject, Body: l.Body,
		Kind: l.Kind, Priority: l.Priority, ReplyTo: l.ReplyTo, Queue: &queue})
	return answer.GetMails(), err
}

// Inbox lists what nobody has acknowledged yet, without bodies, and marks nothing.
func (m *Mailbox) Inbox(ctx context.Context) ([]*vigilv1.Mail, error) {
	request := &vigilv1.ListMailRequest{Agent: m.speaker.GetAgent(), Unacknowledged: true, Limit: 1000}
	var list []*vigilv1.Mail
	for {
		page, err := m.mail.ListMail(ctx, request)
		if err != nil {
			return nil, err
		}
		list = append(list, page.GetMails()...)
		if request.After = page.GetNext(); request.After == 0 {
			return list, nil
		}
	}
}

// Read takes what is unread, the most urgent first, at most 100 mails. Each life gets a
// mail once, again only after a reminder; it is Redelivered when somebody got it before.
func (m *Mailbox) Read(ctx context.Context) ([]*vigilv1.Mail, error) {
	answer, err := m.mail.ReadMail(ctx, &vigilv1.ReadMailRequest{Speaker: m.speaker})
	return answer.GetMails(), err
}

// Wait parks until there is unread mail and takes it. It outlives servers, leaders and the
// lease, which may have ended while this machine slept: only the end of ctx or of this life
// ends it, and for a mailbox without a worker that of its patience.
func (m *Mailbox) Wait(ctx context.Context) ([]*vigilv1.Mail, error) {
	t := &trial{}
	var outside time.Time // since when there is no lease; zero: there is one
	for {
		answer, err := m.mail.WaitMail(ctx,
			&vigilv1.WaitMailRequest{Speaker: m.speaker, MaxWait: durationpb.New(m.maxWait)})
		var list []*vigilv1.Mail
		if answer.GetUnread() > 0 {
			list, err = m.Read(ctx)
		}
		rejoin := errors.Is(err, ErrRejoin)
		switch {
		case !rejoin:
			outside = time.Time{}
		case outside.IsZero():
			outside = time.Now()
		}
		switch {
		case len(list) > 0:
			return list, nil
		case ctx.Err() != nil:
			return nil, m.client.endedBy(ctx.Err(), &trial{tries: 1, last: t.last})
		case errors.Is(err, ErrClosed), rejoin && m.left(outside), err != nil && !rejoin && !lost(err):
			return nil, err
		case err == nil && answer.GetUnread() == 0: // nothing came within MaxWait
			*t = trial{}
			continue
		}
		// No server has answered, one that is behind knows nothing of the last read, or the lease has ended.
		if t.last = From(err); t.tries == 0 {
			t.began = time.Now()
		}
		t.tries++
		if m.worker != nil {
			m.worker.askBeat() // which joins again where the lease has ended
		}
		t.pause(ctx, m.client.done)
	}
}

// left tells whether nobody is to be expected to join again, for a life that is outside its room since then.
func (m *Mailbox) left(since time.Time) bool {
	if m.worker != nil {
		return m.worker.ctx.Err() != nil // it beats no more
	}
	return m.patience > 0 && time.Since(since) >= m.patience
}

// Ack says that the agent has taken note of a mail, so that no later life gets it.
func (m *Mailbox) Ack(ctx context.Context, mail uint64) error {
	_, err := m.mail.AckMail(ctx, &vigilv1.AckMailRequest{Speaker: m.speaker, Mail: mail})
	return err
}
