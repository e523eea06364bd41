package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// MaxBody is what the cluster takes.
const MaxBody = 16 << 10

// draft is a mail that is about to be sent.
type draft struct {
	*cli.App
	who        life.Flags
	from, file string
	noQueue    bool
	wait       bool
	request    *vigilv1.SendMailRequest
}

func newDraft(a *cli.App) *draft {
	return &draft{App: a, request: &vigilv1.SendMailRequest{}}
}

func (d *draft) add(cmd *cobra.Command) {
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

func newSendCmd(a *cli.App) *cobra.Command {
	d := newDraft(a)
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
		ValidArgsFunction: a.First(addresses),
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

func newReplyCmd(a *cli.App) *cobra.Command {
	d := newDraft(a)
	cmd := &cobra.Command{
		Use:     "reply MAIL [BODY]",
		Short:   "Answer a mail: to the agent that sent it, in the same thread",
		Long:    `Answer a mail of an agent. It does not acknowledge the mail: vigil mail ack does.`,
		Example: `  vigil mail reply 12 "done, see branch fix-12"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if d.request.ReplyTo, err = parseID(args[0]); err != nil {
				return err
			}
			return d.send(cmd, cli.FirstOf(args[1:]))
		},
	}
	d.add(cmd)
	return cmd
}

func addresses(ctx context.Context, c *cli.Conn, typed string) []string {
	names := slices.Concat(cli.RoomNames(ctx, c, typed), cli.RoleNames(ctx, c, typed), cli.AgentNames(ctx, c, typed))
	slices.Sort(names)
	return slices.Compact(names)
}

// fill completes the request: who speaks, and what.
func (d *draft) fill(cmd *cobra.Command, body string) error {
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
	case len(body) > MaxBody:
		return cli.Usagef("the body has %s, a mail takes at most %s: put large content into a file and name that",
			term.BytesText(int64(len(body))), term.BytesText(MaxBody))
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

func (d *draft) send(cmd *cobra.Command, body string) error {
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
func (d *draft) sentText(answer *vigilv1.SendMailResponse) string {
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
