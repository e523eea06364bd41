package mail

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show MAIL",
		Short: "Show one mail with its body; marks nothing",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				m, err := c.Mail.GetMail(ctx, &vigilv1.GetMailRequest{Mail: id, Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(m)
				}
				return printMail(a, m)
			})
		},
	}
}

func printMail(a *cli.App, m *vigilv1.Mail) error {
	from, state := m.GetFrom(), m.GetState()
	if m.GetFromIncarnation() != "" {
		from += " (incarnation " + m.GetFromIncarnation() + ")"
	}
	if n := m.GetDeliveries(); n > 0 {
		state += fmt.Sprintf(", handed over %s, last to incarnation %s", term.Times(n), m.GetDeliveredTo())
	}
	err := a.Pairs("mail", fmt.Sprint(m.GetId()), "from", from, "to", m.GetTo(), "subject", m.GetSubject(),
		"priority", m.GetPriority(),
		"state", state, "marks", strings.Join(marks(m), ", "), "sent", term.OrZero(term.Span(m.GetAge()))+
			" ago", "thread", fmt.Sprint(m.GetThread()))
	if err != nil || m.GetBody() == "" {
		return err
	}
	return a.Printf("\n%s\n", strings.TrimRight(a.Shown(m.GetBody()), "\n"))
}
