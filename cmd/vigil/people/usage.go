package people

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newUsageCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "usage [ROOM[/ROLE]]",
		Short: "Say what was used within 24 hours: tokens, money, tools, and how budgets stand",
		Long: `Say what AI tools tell that they have used in the hour under way and the 24 before it, in cluster
time: of all rooms, of a room with its roles, or of a role with its agents. An agent reports its own use:
this is a measure for brakes, and no account.`,
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
				return a.PrintTable(t, "nothing was used, as far as tools have told")
			})
		},
	}
}

func newBudgetCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("budget", "Budgets of rooms and roles: a brake for what AI tools use", newBudgetLiftCmd(a))
}

func newBudgetLiftCmd(a *cli.App) *cobra.Command {
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

// budgetText says how a budget stands.
func budgetText(u *vigilv1.UsageState) string {
	b := u.GetBudget()
	if b == nil {
		return ""
	}
	var parts []string
	if b.GetTokens() > 0 {
		d := u.GetDay()
		parts = append(parts, share(d.GetInputTokens()+d.GetOutputTokens(), b.GetTokens())+" of "+count(b.GetTokens())+" tokens")
	}
	if b.GetMicroUsd() > 0 {
		parts = append(parts, share(u.GetDay().GetMicroUsd(), b.GetMicroUsd())+" of "+dollars(b.GetMicroUsd())+" USD")
	}
	text := strings.Join(parts, ", ")
	switch {
	case u.GetLiftedFor() != nil:
		text += "; lifted for " + term.Short(u.GetLiftedFor().AsDuration()) + " by " + term.Tidy(u.GetLiftedBy())
	case u.GetStage() == "out":
		text += "; used up: nothing new is started or claimed"
	case u.GetStage() == "warned":
		text += "; nearly used up"
	}
	return text
}

// usageLine says what an agent has used; empty: it has told of nothing.
func usageLine(u *vigilv1.UsageState) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("life %s: %s; 24 h: %s", u.GetIncarnation(), usageText(u.GetLife()), usageText(u.GetDay()))
	if b := budgetText(u); b != "" {
		text += "; " + b
	}
	if n := u.GetClamped(); n > 0 {
		text += "; " + term.Plural(n, "report was", "reports were") + " more than can be"
	}
	return text
}

func usageText(u *vigilv1.Usage) string {
	return fmt.Sprintf("%s tokens in, %s out, %s from cache, %s USD, %s", count(u.GetInputTokens()),
		count(u.GetOutputTokens()), count(u.GetCacheTokens()), dollars(u.GetMicroUsd()),
		term.Plural(u.GetTools(), "use of tools", "uses of tools"))
}

// count writes a number in four digits or less, as budgets are written.
func count(n uint64) string {
	for _, unit := range []struct {
		of   uint64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.of*10 {
			return fmt.Sprintf("%d%s", n/unit.of, unit.name)
		}
		if n >= unit.of {
			return fmt.Sprintf("%d.%d%s", n/unit.of, n%unit.of*10/unit.of, unit.name)
		}
	}
	return fmt.Sprint(n)
}

func dollars(micro uint64) string { return fmt.Sprintf("%d.%02d", micro/1e6, micro%1e6/1e4) }

func share(used, of uint64) string { return fmt.Sprintf("%d %%", int(float64(used)*100/float64(of))) }
