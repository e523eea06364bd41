package rpc

import (
	"context"
	"iter"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// mailbox serves mail. What a mail says is in no log line and no error.
type mailbox struct {
	vigilv1.UnimplementedMailboxServer
	*base.Core
}

// SendMail sends a mail to an agent, a role or a room.
func (m *mailbox) SendMail(ctx context.Context, r *vigilv1.SendMailRequest) (*vigilv1.SendMailResponse, error) {
	return base.Write(ctx, m.Core, r, sendMailCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.SendMailResponse {
		resp := &vigilv1.SendMailResponse{Note: fault.Sentence(out.Detail)}
		for i := range out.Count {
			resp.Mails = append(resp.Mails, uint64(out.Mail)+uint64(i))
			if first := st.Mail(out.Mail + noun.MailID(i)); first != nil && resp.GetThread() == 0 {
				resp.Thread = uint64(first.Thread)
			}
		}
		return resp
	})
}

// ReadMail hands unread mail over to the life that asks.
func (m *mailbox) ReadMail(ctx context.Context, r *vigilv1.ReadMailRequest) (*vigilv1.ReadMailResponse, error) {
	cmd, err := readMailCmd(r)
	if err != nil {
		return nil, err
	}
	// A repeated write has its first answer in the log; else nothing is written when there
	// is nothing to hand over, so that agents may ask often. That there is nothing only a
	// leader knows that still leads: a deposed one would hide what its successor has.
	if r.GetId().GetSession() == 0 && m.nothingFor(&cmd.Speaker) {
		if err := m.Reader.Barrier(ctx); err != nil {
			return nil, err
		}
		if m.nothingFor(&cmd.Speaker) {
			return &vigilv1.ReadMailResponse{}, nil
		}
	}
	return base.Write(ctx, m.Core, r, func(*vigilv1.ReadMailRequest) (fsm.Command, error) { return cmd, nil },
		func(st *fsm.View, out *noun.Outcome) *vigilv1.ReadMailResponse {
			resp := &vigilv1.ReadMailResponse{Unread: uint32(st.Unread(out.Agent))}
			for _, x := range st.MailDelivery(out.Agent, out.Rev) {
				resp.Mails = append(resp.Mails, convertMail(st, x, true))
			}
			return resp
		})
}

// nothingFor tells that this server knows of no mail that the life could be given.
func (m *mailbox) nothingFor(sp *fsm.Speaker) bool {
	n, no := m.unread(sp)
	return n == 0 && no.Code == noun.OK
}

// AckMail says that the agent has taken note of a mail.
func (m *mailbox) AckMail(ctx context.Context, r *vigilv1.AckMailRequest) (*vigilv1.AckMailResponse, error) {
	return base.Write(ctx, m.Core, r, ackMailCmd, func(_ *fsm.View, out *noun.Outcome) *vigilv1.AckMailResponse {
		return &vigilv1.AckMailResponse{Applied: out.Count == 0}
	})
}

// GetMail shows one mail with its body.
func (m *mailbox) GetMail(_ context.Context, r *vigilv1.GetMailRequest) (*vigilv1.Mail, error) {
	if r.GetMail() == 0 {
		return nil, fault.Invalid("mail is missing; give the number that `vigil mail inbox` shows.")
	}
	out := base.Read(m.Core, func(st *fsm.View) *vigilv1.Mail {
		if x := st.Mail(noun.MailID(r.GetMail())); x != nil {
			return convertMail(st, x, true)
		}
		return nil
	})
	if out == nil {
		return nil, fault.NotFound("there is no mail %d, or it was closed so long ago that it was "+
			"removed; `vigil mail inbox` shows what is there", r.GetMail())
	}
	return out, nil
}

// ListMail pages through mail by number, as ListTasks through tasks. Newest first it ends after a bounded look: pages
// ask for it again and again.
func (m *mailbox) ListMail(ctx context.Context, r *vigilv1.ListMailRequest) (*vigilv1.ListMailResponse, error) {
	var c form.Checks
	if r.GetAgent() != "" {
		c.Agent("agent", r.GetAgent(), false)
	}
	c.Line("from", r.GetFrom(), form.MaxWho)
	c.OptionalName("room", r.GetRoom())
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	if c.Err != nil {
		return nil, c.Err
	}
	resp := &vigilv1.ListMailResponse{}
	looks := 0
	for at := noun.MailID(r.GetAfter()); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more, missing := false, error(nil)
		m.Reader.Read(func(st *fsm.View) {
			list, room, err := mailSource(st, r, at)
			if missing = err; err != nil {
				return
			}
			seen := 0
			for x := range list {
				if more = seen == base.ScanStep || len(resp.Mails) == limit; more {
					return
				}
				seen, looks, at = seen+1, looks+1, x.ID
				if (room == 0 || x.Room == room) && wantsMail(st, r, x) {
					resp.Mails = append(resp.Mails, convertMail(st, x, false))
				}
			}
		})
		switch {
		case missing != nil:
			return nil, missing
		case !more:
			return resp, nil
		case len(resp.Mails) == limit, r.GetNewestFirst() && looks >= looked:
			resp.More, resp.Next = true, uint64(at)
			return resp, nil
		}
	}
}

// mailSource gives the smallest list that has everything that is asked for.
func mailSource(
	st *fsm.View, r *vigilv1.ListMailRequest, at noun.MailID,
) (list iter.Seq[*noun.Mail], room noun.RoomID, err error) {
	if r.GetRoom() != "" {
		rm := st.Room(r.GetRoom())
		if rm == nil {
			return nil, 0, base.NoRoom(st, r.GetRoom())
		}
		room = rm.ID
	}
	switch {
	case r.GetAgent() != "":
		a := st.AgentByName(r.GetAgent())
		if a == nil {
			return nil, 0, base.NoAgent(st, r.GetAgent())
		}
		if r.GetNewestFirst() {
			return st.MailboxBack(a.ID, at), room, nil
		}
		return st.Mailbox(a.ID, at), room, nil
	case r.GetFrom() != "" && r.GetNewestFirst():
		return st.MailFromBack(r.GetFrom(), at), room, nil
	case r.GetFrom() != "":
		return st.MailFrom(r.GetFrom(), at), room, nil
	case r.GetNewestFirst():
		return st.MailsBack(at), room, nil
	}
	return st.Mails(at), room, nil
}

func wantsMail(st *fsm.View, r *vigilv1.ListMailRequest, x *noun.Mail) bool {
	switch {
	case r.GetFrom() != "" && x.From != r.GetFrom(),
		r.GetUnacknowledged() && x.State.Closed(),
		r.GetThread() != 0 && uint64(x.Thread) != r.GetThread():
		return false
	}
	return true
}

func convertMail(st *fsm.View, x *noun.Mail, withBody bool) *vigilv1.Mail {
	out := &vigilv1.Mail{
		Id: uint64(x.ID), From: x.From, FromIncarnation: form.IncName(x.FromInc), To: form.AgentName(st, x.To),
		Subject: x.Subject,
		Kind:    x.Kind, Priority: x.Priority.String(), Thread: uint64(x.Thread), ReplyTo: uint64(x.ReplyTo),
		SentAt: form.Wall(x.SentWall), Age: durationpb.New(st.Clock().Sub(x.SentAt)), State: x.State.String(),
		DeliveredTo: form.IncName(x.DeliveredTo), Deliveries: x.Deliveries, Redelivered: x.Redelivered(),
		Reminded: x.Reminded, Escalated: x.Escalated,
	}
	if withBody {
		out.Body = x.Body
	}
	return out
}

func sendMailCmd(r *vigilv1.SendMailRequest) (fsm.Command, error) {
	var c form.Checks
	cmd := fsm.SendMail{From: r.GetFrom(), To: r.GetTo(), Subject: r.GetSubject(), Body: r.GetBody(), Kind: r.GetKind(),
		Thread: noun.MailID(r.GetThread()), ReplyTo: noun.MailID(r.GetReplyTo()), NoQueue: r.Queue != nil &&
			!r.GetQueue()}
	switch {
	case r.GetSpeaker() != nil && r.GetFrom() != "":
		c.Fail("speaker and from exclude each other; an agent speaks for itself.")
	case r.GetSpeaker() != nil:
		cmd.Speaker = c.Speaking(r.GetSpeaker(), false)
	default:
		c.Present("from", r.GetFrom(), "say who sends it, or speak as an agent")
		c.Line("from", r.GetFrom(), noun.MaxMailFrom)
	}
	if r.GetTo() != "" || r.GetReplyTo() == 0 {
		c.Address("to", r.GetTo())
	}
	c.Line("subject", r.GetSubject(), noun.MaxMailSubject)
	c.Text("body", r.GetBody(), noun.MaxMailBody)
	c.OptionalName("kind", r.GetKind())
	cmd.Priority = noun.MailPriority(c.Word("priority", r.GetPriority(), noun.MailPriorityNames()))
	if r.GetSubject() == "" && r.GetBody() == "" {
		c.Fail("subject and body are both missing; a mail needs at least one of them.")
	}
	return cmd, c.Err
}

func readMailCmd(r *vigilv1.ReadMailRequest) (fsm.ReadMail, error) {
	var c form.Checks
	cmd := fsm.ReadMail{Speaker: c.Speaking(r.GetSpeaker(), false), Max: r.GetMax()}
	if r.GetMax() > noun.MaxMailRead {
		c.Fail("max is %d; at most %d mails are handed over at once, then read again.", r.GetMax(), noun.MaxMailRead)
	}
	return cmd, c.Err
}

func ackMailCmd(r *vigilv1.AckMailRequest) (fsm.Command, error) {
	var c form.Checks
	cmd := fsm.AckMail{Speaker: c.Speaking(r.GetSpeaker(), false), Mail: noun.MailID(r.GetMail())}
	if r.GetMail() == 0 {
		c.Fail("mail is missing; give the number that came with it.")
	}
	return cmd, c.Err
}
