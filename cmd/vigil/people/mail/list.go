package mail

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// mostListed is more than a mailbox holds.
const mostListed = 2000

// lister is a command that lists mail and marks none of it.
type lister struct {
	*cli.App
	request *vigilv1.ListMailRequest
	limit   int
	mine    bool // what the person who asks has sent
}

func newLister(a *cli.App) *lister {
	return &lister{App: a, request: &vigilv1.ListMailRequest{}}
}

func (m *lister) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&m.request.Unacknowledged, "unacknowledged", false, "only what nobody has acknowledged yet")
	flags.StringVar(&m.request.Room, "room", "", "only to agents of this room")
	flags.Uint64Var(&m.request.Thread, "thread", 0, "only this conversation")
	flags.IntVar(&m.limit, "limit", mostListed, "at most this many")
	flags.Uint64Var(&m.request.After, "after", 0, "continue behind this mail")
	_ = cmd.RegisterFlagCompletionFunc("room", m.Every(cli.RoomNames)) // the flag is there
}

func newInboxCmd(a *cli.App) *cobra.Command {
	m := newLister(a)
	cmd := &cobra.Command{
		Use:   "inbox [ROOM/ROLE[.N]]",
		Short: "List the mail of an agent by its state; marks nothing",
		Long: `List the mail in the mailbox of an agent, or of all agents: queued (no life of the agent
has it yet), delivered, expired and acknowledged, the last two as long as they are kept.
It marks nothing, and bodies are left out: vigil mail show has them. Inside an agent the
mailbox is its own when none is named.`,
		Example: `  vigil mail inbox web/builder
  vigil mail inbox --room web --unacknowledged`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			m.request.Agent = cli.FirstOf(args)
			if len(args) == 0 && m.request.Room == "" {
				var err error
				if m.request.Agent, err = life.OwnAgent(a); err != nil {
					return err
				}
			}
			return m.run(cmd)
		},
	}
	m.add(cmd)
	cmd.Flags().StringVar(&m.request.From, "from", "", "only what this agent, human or tool has sent")
	return cmd
}

func newSentCmd(a *cli.App) *cobra.Command {
	m := newLister(a)
	cmd := &cobra.Command{
		Use:   "sent [SENDER]",
		Short: "List what an agent, a human or a tool has sent, by its state; marks nothing",
		Long: `List what somebody has sent and how far it has come. Without a sender it is the agent
itself inside an agent, and the user elsewhere.`,
		Example: `  vigil mail sent --unacknowledged
  vigil mail sent web/builder`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.request.From = cli.FirstOf(args); len(args) == 0 {
				name, err := life.OwnAgent(a)
				if err != nil {
					return err
				}
				m.request.From, m.mine = cmp.Or(name, a.Me()), name == ""
			}
			return m.run(cmd)
		},
	}
	m.add(cmd)
	return cmd
}

// run lists all pages up to the limit.
func (m *lister) run(cmd *cobra.Command) error {
	if m.limit < 1 {
		return cli.Usagef("flag --limit: %d is not above 0", m.limit)
	}
	m.request.Stale = m.Stale
	return m.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		if self, known := c.Self(); known && m.mine {
			m.request.From = self // the cluster knows people by their certificates, not by their accounts
		}
		list := &vigilv1.ListMailResponse{}
		for {
			m.request.Limit = uint32(min(m.limit-len(list.GetMails()), 1000))
			page, err := c.Mail.ListMail(ctx, m.request)
			if err != nil {
				return err
			}
			list.Mails = append(list.Mails, page.GetMails()...)
			list.More, list.Next = page.GetMore(), page.GetNext()
			if m.request.After = page.GetNext(); m.request.After == 0 || len(list.GetMails()) >= m.limit {
				return m.print(list)
			}
		}
	})
}

// print shows each state apart, first what waits for somebody.
func (m *lister) print(list *vigilv1.ListMailResponse) error {
	if m.JSON {
		return m.PrintJSON(list)
	}
	if len(list.GetMails()) == 0 {
		return m.Printf("There is no such mail.\n")
	}
	gap := ""
	for _, state := range [...]string{"queued", "delivered", "expired", "acknowledged"} {
		t := term.NewTable(">MAIL", "PRIORITY", "AGE", "FROM~", "TO~", "SUBJECT~", "MARKS~")
		for _, x := range list.GetMails() {
			if x.GetState() == state {
				t.Add(fmt.Sprint(x.GetId()), x.GetPriority(), term.OrZero(term.Span(x.GetAge())), x.GetFrom(),
					x.GetTo(), x.GetSubject(), strings.Join(marks(x), ", "))
			}
		}
		if len(t.Rows) == 0 {
			continue
		}
		if err := m.Printf("%s%s\n", gap, m.Screen.Bold(fmt.Sprintf("%s: %d", state, len(t.Rows)))); err != nil {
			return err
		}
		if err := m.PrintTable(t, ""); err != nil {
			return err
		}
		gap = "\n"
	}
	if list.GetNext() != 0 {
		return m.Printf("%s\n", m.Screen.Faint(fmt.Sprintf("more: --after %d", list.GetNext())))
	}
	return nil
}
