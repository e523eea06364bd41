package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// newMailCmd is `vigil mail`: messages to agents.
func newMailCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("mail", "Mail to agents: send it, look at mailboxes; read and acknowledge it as an agent",
		newMailSendCmd(a), newMailReplyCmd(a), newMailInboxCmd(a), newMailSentCmd(a), newMailShowCmd(a),
		newMailReadCmd(a), newMailAckCmd(a))
	group.Long = `Mail waits in the mailbox of an agent, also while the agent is off. Each life of the agent
gets it once, until one of them acknowledges it. When nobody does, urgent mail is escalated
after 2 minutes, high mail is reminded of after 5 and escalated after 10, normal mail is
reminded of after 15 minutes, and low mail is recorded after an hour (settings mail_*).
Inside an agent the commands know who it is; everybody else is a sender without a mailbox.`
	return group
}

// MaxMailBody is what the cluster takes.
const MaxMailBody = 16 << 10

// mailDraft is a mail that is about to be sent.
type mailDraft struct {
	*cli.App
	who        life.Flags
	from, file string
	noQueue    bool
	wait       bool
	request    *vigilv1.SendMailRequest
}

func newMailDraft(a *cli.App) *mailDraft {
	return &mailDraft{App: a, request: &vigilv1.SendMailRequest{}}
}

func (d *mailDraft) add(cmd *cobra.Command) {
	d.who.Add(cmd, d.App)
	flags := cmd.Flags()
	flags.StringVarP(&d.request.Subject, "subject", "s", "", "what it is about, on one line")
	flags.StringVar(&d.file, "body-file", "", "file with the body, - for standard input")
	flags.StringVar(&d.request.Kind, "kind", "", "a name for programs, for instance status-inquiry")
	flags.StringVar(&d.request.Priority,
		"priority", "normal", "urgent, high, normal or low: how soon it must be acknowledged")
	flags.BoolVar(&d.noQueue, "no-queue", false, "not for agents that are off; when all are, nothing is sent")
	flags.BoolVar(&d.wait, "wait", false, "wait until every copy is acknowledged or has expired")
	flags.StringVar(&d.from, "from", "", "who sends it, when no agent does (default: the user's name)")
	cmd.MarkFlagsMutuallyExclusive("from", "agent")
	// the flag is there
	_ = cmd.RegisterFlagCompletionFunc("priority",
		cobra.FixedCompletions([]cobra.Completion{"urgent", "high", "normal", "low"},
			cobra.ShellCompDirectiveNoFileComp))
}

func newMailSendCmd(a *cli.App) *cobra.Command {
	d := newMailDraft(a)
	cmd := &cobra.Command{
		Use:   "send ROOM[/ROLE[.N]] [BODY]",
		Short: "Send a mail to an agent, a role or a room",
		Long: `Send a mail to each agent of a room (ROOM) or of a role (ROOM/ROLE), or to one agent alone
(ROOM/ROLE.2; ROOM/ROLE.1 is the first). The body is an argument, or comes from --body-file,
or from standard input when it is -: other users of the machine see arguments. An agent
sends under its own name, anybody else under that of the user.

The exit code is 3 when there is no such agent, 4 when it is off and --no-queue was given or
its mailbox is full. With --wait it is 0 when every copy is acknowledged, 1 when one has
expired, and 6 when --timeout is over; the mail stays in the mailbox then.`,
		Example: `  vigil mail send web/builder -s "Rebase first" "main has moved"
  vigil mail send web --priority high --body-file notice.md
  vigil mail send web/builder.2 --no-queue --wait --timeout 5m "Are you stuck?"`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.First(mailAddresses),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.request.To = args[0]
			return d.send(cmd, cli.FirstOf(args[1:]))
		},
	}
	d.add(cmd)
	cmd.Flags().Uint64Var(&d.request.Thread, "thread", 0,
		"the conversation that it belongs to (default: that of --reply-to, or a new one)")
	cmd.Flags().Uint64Var(&d.request.ReplyTo, "reply-to", 0,
		"the mail that it answers; vigil mail reply needs no address")
	return cmd
}

func newMailReplyCmd(a *cli.App) *cobra.Command {
	d := newMailDraft(a)
	cmd := &cobra.Command{
		Use:     "reply MAIL [BODY]",
		Short:   "Answer a mail: to the agent that sent it, in the same thread",
		Long:    `Answer a mail of an agent. It does not acknowledge the mail: vigil mail ack does.`,
		Example: `  vigil mail reply 12 "done, see branch fix-12"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if d.request.ReplyTo, err = parseMail(args[0]); err != nil {
				return err
			}
			return d.send(cmd, cli.FirstOf(args[1:]))
		},
	}
	d.add(cmd)
	return cmd
}

// parseMail reads a mail's number.
func parseMail(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || n == 0 {
		return 0, cli.Usagef("%q is not a mail: give its number, see `vigil mail inbox`", text)
	}
	return n, nil
}

func mailAddresses(ctx context.Context, c *cli.Conn, typed string) []string {
	names := slices.Concat(cli.RoomNames(ctx, c, typed), cli.RoleNames(ctx, c, typed), cli.AgentNames(ctx, c, typed))
	slices.Sort(names)
	return slices.Compact(names)
}

// fill completes the request: who speaks, and what.
func (d *mailDraft) fill(cmd *cobra.Command, body string) error {
	switch {
	case cmd.Flags().Changed("body-file") && body != "":
		return cli.Usagef("the body is given twice: as an argument and with --body-file; leave one out")
	case cmd.Flags().Changed("body-file"):
	case body == "-":
		d.file = "-"
	}
	if d.file != "" {
		var err error
		if body, err = d.ReadFile(d.file); err != nil {
			return err
		}
	}
	switch {
	case len(body) > MaxMailBody:
		return cli.Usagef("the body has %s, a mail takes at most %s: put large content into a file and name that",
			term.BytesText(int64(len(body))), term.BytesText(MaxMailBody))
	case body == "" && d.request.Subject == "":
		return cli.Usagef("the mail is empty: give a body, --body-file or --subject")
	}
	d.request.Body = body
	if d.noQueue {
		d.request.Queue = new(bool)
	}
	if d.request.From = d.from; d.from != "" {
		return nil
	}
	l, err := d.who.OrNobody(d.App)
	switch {
	case err != nil:
		return err
	case l != nil:
		d.request.Speaker = l.Speaker()
	default:
		d.request.From = d.Me()
	}
	return nil
}

func (d *mailDraft) send(cmd *cobra.Command, body string) error {
	if err := d.fill(cmd, body); err != nil {
		return err
	}
	ask := d.Ask
	if d.wait {
		ask = d.Follow
	}
	return ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		answer, err := c.Mail.SendMail(ctx, d.request)
		if err != nil {
			return err
		}
		switch {
		case d.wait:
			if note := answer.GetNote(); note != "" {
				cli.Report(d.Err, errors.New(note), d.JSON)
			}
			return d.awaitAcks(ctx, c, answer)
		case d.JSON:
			return d.PrintJSON(answer)
		}
		return d.Printf("%s\n", d.sentText(answer))
	})
}

// sentText says which mails were sent, and whom they do not reach.
func (d *mailDraft) sentText(answer *vigilv1.SendMailResponse) string {
	list := answer.GetMails()
	text := fmt.Sprintf("mail %d is sent", list[0])
	if n := len(list); n > 1 {
		text = fmt.Sprintf("mails %d to %d are sent", list[0], list[n-1])
	}
	if d.request.GetTo() != "" {
		text += " to " + d.request.GetTo()
	}
	if note := answer.GetNote(); note != "" {
		text += "; " + term.OneLine(term.Tidy(note))
	}
	return text
}

// awaitAcks waits until each copy is acknowledged or has expired: events say when to
// look, and it looks now and then anyway.
func (d *mailDraft) awaitAcks(ctx context.Context, c *cli.Conn, answer *vigilv1.SendMailResponse) error {
	sent := answer.GetMails()
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	var changed <-chan struct{}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	defer d.ProgressEnd()
	var copies []*vigilv1.Mail
	for {
		// Numbers of copies follow each other, so these are the first of their thread.
		list, err := c.Mail.ListMail(ctx, &vigilv1.ListMailRequest{Thread: answer.GetThread(), After: sent[0] - 1,
			Limit: uint32(len(sent))})
		switch {
		case err == nil:
			copies = slices.DeleteFunc(list.GetMails(),
				func(m *vigilv1.Mail) bool { return m.GetId() > sent[len(sent)-1] })
			if changed == nil && len(copies) > 0 {
				changed = eventSignals(watch, c, about(copies))
			}
		case ctx.Err() == nil:
			return err
		}
		open := unacknowledged(copies)
		if err == nil && len(open) == 0 {
			d.ProgressEnd()
			return d.acksOver(sent, copies)
		}
		if err == nil {
			d.Progress("%d of %d copies are acknowledged; %s", len(copies)-len(open), len(sent), waitsFor(open))
			select {
			case <-changed:
				continue
			case <-tick.C:
				continue
			case <-ctx.Done():
			}
		}
		return d.notAcknowledged(ctx, sent[0], open)
	}
}

// about asks for the events of those who have the copies.
func about(copies []*vigilv1.Mail) *vigilv1.WatchEventsRequest {
	if len(copies) == 1 {
		return &vigilv1.WatchEventsRequest{Agent: copies[0].GetTo(), Tail: true}
	}
	room, _, _ := strings.Cut(copies[0].GetTo(), "/")
	return &vigilv1.WatchEventsRequest{Room: room, Tail: true}
}

func unacknowledged(list []*vigilv1.Mail) (open []*vigilv1.Mail) {
	for _, m := range list {
		if m.GetState() == "queued" || m.GetState() == "delivered" {
			open = append(open, m)
		}
	}
	return open
}

// waitsFor says what is missing.
func waitsFor(open []*vigilv1.Mail) string {
	text := fmt.Sprintf("mail %d to %s is %s", open[0].GetId(), open[0].GetTo(), open[0].GetState())
	if n := len(open) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// notAcknowledged is the error of a wait whose time is over.
func (d *mailDraft) notAcknowledged(ctx context.Context, first uint64, open []*vigilv1.Mail) error {
	what := fmt.Sprintf("mail %d is sent", first)
	if len(open) > 0 {
		what = waitsFor(open)
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &client.Error{Code: "timeout",
			Message: fmt.Sprintf("%s, and was not acknowledged within %s; it stays in the mailbox: see `vigil mail show %d`", what, d.Timeout, first)}
	}
	return fmt.Errorf("%s: %w", what, context.Cause(ctx))
}

// acksOver prints what became of the copies.
func (d *mailDraft) acksOver(sent []uint64, copies []*vigilv1.Mail) error {
	bad := len(copies) < len(sent)
	var lines strings.Builder
	for _, m := range copies {
		if m.GetState() == "acknowledged" {
			fmt.Fprintf(&lines, "mail %d is acknowledged by %s\n", m.GetId(), m.GetTo())
			continue
		}
		bad = true
		fmt.Fprintf(&lines, "mail %d to %s has expired without an acknowledgement\n", m.GetId(), m.GetTo())
	}
	if n := len(sent) - len(copies); n > 0 {
		fmt.Fprintf(&lines, "%d copies are gone with their agents\n", n)
	}
	var err error
	if d.JSON {
		err = d.PrintJSON(&vigilv1.ListMailResponse{Mails: copies})
	} else {
		err = d.Printf("%s", lines.String())
	}
	if err == nil && bad {
		return cli.ExitWith(cli.ExitFailed, nil)
	}
	return err
}
