package usage

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// NewCommand is `vigil usage`.
func NewCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "usage [ROOM[/ROLE]]",
		Short: "Say what was used within 24 hours: tokens, money, tools, and how budgets stand",
		Long: `Say what AI tools tell that they have used in the hour under way and the 24 before it, in cluster
time: of all rooms, of a room with its roles, or of a role with its agents. An agent reports its own use:
this is a measure for brakes, and no account. It warns of budgets that cannot bite, because agents complete
tasks and their tool tells nothing of what the budget is in.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				room, role, _ := strings.Cut(strings.Join(args, ""), "/")
				list, err := c.Fleet.GetUsage(ctx, &vigilv1.GetUsageRequest{Room: room, Role: role, Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(list)
				}
				t := term.NewTable("WHAT", "NAME~", ">INPUT", ">OUTPUT", ">FROM CACHE", ">USD", ">TOOLS", "BUDGET~")
				for _, u := range list.GetUsage() {
					d := u.GetDay()
					t.Add(u.GetKind(), u.GetName(), count(d.GetInputTokens()), count(d.GetOutputTokens()),
						count(d.GetCacheTokens()), dollars(d.GetMicroUsd()), count(d.GetTools()), budgetText(u))
				}
				if err := a.PrintTable(t, "nothing was used, as far as tools have told"); err != nil {
					return err
				}
				for _, w := range list.GetWarnings() {
					if err := a.Printf("\n%s %s\n", a.Screen.Paint("33", "warning:"), term.OneLine(w)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// NewBudgetCommand is `vigil budget`.
func NewBudgetCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup("budget", "Budgets of rooms and roles: a brake for what AI tools use", newLiftCmd(a))
}

func newLiftCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "lift ROOM[/ROLE]",
		Short: "Let a room, or a role with its agents, go on beyond its budget until the window has passed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				room, role, _ := strings.Cut(args[0], "/")
				answer, err := c.Fleet.LiftBudget(ctx, &vigilv1.LiftBudgetRequest{Room: room, Role: role, By: a.Me()})
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"name": args[0], "lifted": true}, "the budget of %s is lifted for %s",
					args[0], term.Short(answer.GetUsage().GetLiftedFor().AsDuration()))
			})
		},
	}
}
