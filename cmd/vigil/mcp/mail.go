package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// maxMailAtOnce is how many mails one call of read_mail hands over: each may have 16 KiB,
// and all of it goes into the context of a model.
const maxMailAtOnce = 10

// mailPause is between two questions for mail when no server answers.
const mailPause = time.Second

// mcpMail is a mail as a model sees it.
type mcpMail struct {
	ID       uint64   `json:"id"`
	From     string   `json:"from"` // an agent, or the name of a human or a tool
	To       string   `json:"to"`
	Others   mailText `json:"from_others"`
	Priority string   `json:"priority"` // urgent, high, normal or low
	Thread   uint64   `json:"thread"`   // the first mail of the conversation
	ReplyTo  uint64   `json:"reply_to,omitempty"`
	State    string   `json:"state"`                 // queued, delivered, acknowledged or expired
	Again    bool     `json:"redelivered,omitempty"` // it was handed over before, so somebody may have acted on it
}

// mailText is what the sender has written.
type mailText struct {
	Subject string `json:"subject"`
	Body    string `json:"body,omitempty"` // left out in lists
	Kind    string `json:"kind,omitempty"`
}

func newMCPMail(m *vigilv1.Mail) mcpMail {
	return mcpMail{ID: m.GetId(), From: m.GetFrom(), To: m.GetTo(),
		Others:   mailText{m.GetSubject(), m.GetBody(), m.GetKind()},
		Priority: m.GetPriority(), Thread: m.GetThread(), ReplyTo: m.GetReplyTo(), State: m.GetState(),
		Again: m.GetRedelivered()}
}

// words is the mail for a reader.
func (m *mcpMail) words() string {
	about := []string{m.Priority, m.State}
	if m.ReplyTo != 0 {
		about = append(about, fmt.Sprintf("answers mail %d", m.ReplyTo))
	}
	if m.Again {
		about = append(about, "handed over before")
	}
	subject, kind := m.Others.Subject, m.Others.Kind
	if subject != "" {
		subject = "Subject: " + term.OneLine(subject)
	}
	if kind != "" {
		kind = "Kind: " + term.OneLine(kind)
	}
	return fmt.Sprintf("Mail %d (%s)\n", m.ID, strings.Join(about, ", ")) +
		term.Quoted(m.From, kind, subject, m.Others.Body)
}

type mailAnswer struct {
	mcpSaid
	Mails []mcpMail `json:"mails"`
}

func (a *mailAnswer) words() string {
	parts := []string{a.Message}
	for _, m := range a.Mails {
		parts = append(parts, m.words())
	}
	return strings.Join(parts, "\n\n")
}

func newMailAnswer(said mcpSaid, list []*vigilv1.Mail) mailAnswer {
	out := mailAnswer{said, []mcpMail{}}
	if len(list) > 0 {
		out.Message += mailIsQuoted
	}
	for _, m := range list {
		out.Mails = append(out.Mails, newMCPMail(m))
	}
	return out
}

type sendMailArgs struct {
	To       string `json:"to"`
	Subject  string `json:"subject"`
	Body     string `json:"body"`
	Priority string `json:"priority"`
	Kind     string `json:"kind"`
	ReplyTo  uint64 `json:"reply_to"`
	Running  bool   `json:"only_if_running"`
}

type sendMailAnswer struct {
	mcpSaid
	Mails []uint64 `json:"mails"` // of each copy, one for each agent that gets one
}

// sendMail sends a mail as this life.
func (d *mcpDesk) sendMail(ctx context.Context, _ *mcp.CallToolRequest, in sendMailArgs) (sendMailAnswer, error) {
	switch {
	case in.To == "" && in.ReplyTo == 0:
		return sendMailAnswer{},
			mcpAdvicef("Nothing was changed: nobody is named. Call send_mail again, with to or with reply_to.")
	case in.Subject == "" && in.Body == "":
		return sendMailAnswer{},
			mcpAdvicef("Nothing was changed: the mail is empty. Call send_mail again, with subject or with body.")
	}
	ctx, cancel := d.aside(ctx)
	defer cancel()
	w, err := d.member(ctx)
	if err != nil {
		return sendMailAnswer{}, err
	}
	list, err := w.Mailbox().Send(ctx, client.Letter{To: in.To, Subject: in.Subject, Body: in.Body, Kind: in.Kind,
		Priority: in.Priority,
		ReplyTo:  in.ReplyTo, Now: in.Running})
	switch {
	case err != nil && agent.Unheard(err): // unlike other words, a mail that is sent again is another mail
		return sendMailAnswer{},
			mcpAdvicef("No server has answered, so it is not known whether the mail was sent. " +
				"Send it again in half a minute; at worst it comes twice.")
	case err != nil:
		return sendMailAnswer{}, d.judge(ctx, nil, err)
	case len(list) == 1:
		return sendMailAnswer{saidf("Mail %d is sent.", list[0]), list}, nil
	}
	return sendMailAnswer{saidf("The mail is sent to %d agents.", len(list)), list}, nil
}

type readMailArgs struct {
	Seconds int    `json:"seconds"`
	Mail    uint64 `json:"mail"`
}

// readMail takes unread mail, waiting for it when told to, or shows one mail again.
func (d *mcpDesk) readMail(ctx context.Context, _ *mcp.CallToolRequest, in readMailArgs) (mailAnswer, error) {
	w, err := d.member(ctx)
	switch {
	case err != nil:
		return mailAnswer{}, err
	case in.Mail != 0 && in.Seconds != 0:
		return mailAnswer{}, mcpAdvicef("Nothing was changed: give seconds or mail, not both.")
	case in.Mail != 0:
		return d.showMail(ctx, w, in.Mail)
	}
	if in.Seconds > 0 {
		look, cancel := context.WithTimeout(ctx, time.Duration(in.Seconds)*time.Second)
		defer cancel()
		defer context.AfterFunc(d.gone, cancel)()
		defer context.AfterFunc(w.Context(), cancel)()
		_, err := d.mailComes(look)
		switch {
		case ctx.Err() != nil:
			return mailAnswer{}, ctx.Err()
		case d.gone.Err() != nil:
			return mailAnswer{}, context.Cause(d.gone)
		case err != nil && look.Err() == nil:
			return mailAnswer{}, d.judge(ctx, nil, err)
		}
	}
	ctx, cancel := d.aside(ctx)
	defer cancel()
	answer, err := d.mail.ReadMail(ctx, &vigilv1.ReadMailRequest{Speaker: d.life.Speaker(), Max: maxMailAtOnce})
	if err != nil {
		return mailAnswer{}, d.judge(ctx, nil, err)
	}
	d.tell(answer.GetUnread())
	list := answer.GetMails()
	switch {
	case len(list) == 0:
		return newMailAnswer(saidf("There is no unread mail."), nil), nil
	case answer.GetUnread() > 0:
		return newMailAnswer(saidf("%s, and %s: call read_mail again. "+
			"Call ack_mail for each that you have dealt with.", term.Plural(len(list), "mail"),
			term.Plural(answer.GetUnread(), "more is unread", "more are unread")),
			list), nil
	}
	return newMailAnswer(saidf("%s. Call ack_mail for each that you have dealt with.",
		term.Plural(len(list), "mail")), list), nil
}

// showMail shows a mail of this agent, whatever became of it, and marks nothing.
func (d *mcpDesk) showMail(ctx context.Context, w *client.Worker, number uint64) (mailAnswer, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	m, err := d.mail.GetMail(ctx, &vigilv1.GetMailRequest{Mail: number})
	switch {
	case err != nil:
		return mailAnswer{}, d.judge(ctx, nil, err)
	case m.GetTo() != w.Agent() && m.GetFrom() != w.Agent():
		return mailAnswer{}, mcpAdvicef("Nothing was changed: mail %d is neither to you nor from you.", number)
	}
	return newMailAnswer(saidf("This is mail %d; nothing was marked.", number), []*vigilv1.Mail{m}), nil
}

// inbox lists what waits for an acknowledgement.
func (d *mcpDesk) inbox(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs) (mailAnswer, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	w, err := d.member(ctx)
	if err != nil {
		return mailAnswer{}, err
	}
	list, err := w.Mailbox().Inbox(ctx)
	if err != nil {
		return mailAnswer{}, d.judge(ctx, nil, err)
	}
	if len(list) == 0 {
		return newMailAnswer(saidf("You have acknowledged all mail."), nil), nil
	}
	return newMailAnswer(saidf("%s for your acknowledgement. read_mail gives what is queued; "+
		"with its number also what you have read before.", term.Plural(len(list), "mail waits", "mails wait")), list), nil
}

type ackMailArgs struct {
	Mails []uint64 `json:"mails"`
}

// ackMail acknowledges mails; saying it again changes nothing.
func (d *mcpDesk) ackMail(ctx context.Context, _ *mcp.CallToolRequest, in ackMailArgs) (mcpSaid, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	w, err := d.member(ctx)
	if err != nil {
		return mcpSaid{}, err
	}
	for i, number := range in.Mails {
		err := w.Mailbox().Ack(ctx, number)
		switch {
		case err != nil && unchanged(err) && i > 0:
			return mcpSaid{},
				mcpAdvicef("Mail %d was not acknowledged, and none behind it, but those before it were: %s",
					number, sentence(err))
		case err != nil:
			return mcpSaid{}, d.judge(ctx, nil, err)
		}
	}
	return saidf("Acknowledged: %d of %d.", len(in.Mails), len(in.Mails)), nil
}

// sentence is what an error says, with one full stop.
func sentence(err error) string { return strings.TrimRight(err.Error(), ".") + "." }

// mailComes parks until there is unread mail and tells how much, or until ctx ends or
// this life has no lease.
func (d *mcpDesk) mailComes(ctx context.Context) (uint32, error) {
	for {
		answer, err := d.mail.WaitMail(ctx, &vigilv1.WaitMailRequest{Speaker: d.life.Speaker()})
		switch {
		case err == nil && answer.GetUnread() > 0:
			return answer.GetUnread(), nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err == nil:
			continue // nothing came within the bound of one call
		case !agent.Unheard(err):
			return 0, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(mailPause):
		}
	}
}

// breakForMail ends a wait for a task when there is mail that the model does not know of.
func (d *mcpDesk) breakForMail(ctx context.Context, stop context.CancelCauseFunc) {
	n, err := d.mailComes(ctx)
	if err == nil && d.tell(n) < n {
		stop(errMailCame)
	}
}

// tell notes how much unread mail the model is told of, and gives what it was told before.
func (d *mcpDesk) tell(unread uint32) (before uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, d.told = d.told, unread
	return before
}

// mailNews says that there is unread mail; "": there is none, or nobody answers.
func (d *mcpDesk) mailNews(ctx context.Context) string {
	status, err := d.conn.Fleet.GetAgentStatus(ctx, &vigilv1.GetAgentStatusRequest{Agent: d.life.Agent, Stale: true})
	if err != nil {
		return ""
	}
	n := status.GetUnreadMessages()
	d.tell(n)
	switch n {
	case 0:
		return ""
	case 1:
		return "You have an unread mail: call read_mail."
	}
	return fmt.Sprintf("You have %d unread mails: call read_mail.", n)
}
