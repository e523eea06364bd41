package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// newPatrolCmd is `vigil patrol`: what an overseer says of its rounds.
func newPatrolCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("patrol", "As an overseer: report your rounds; for people: see them",
		newPatrolReportCmd(a), newPatrolStatusCmd(a))
	group.Long = `An overseer is an agent that watches others; its role has overseer: in the room file. It
goes round, looks at its agents (vigil agent health-check), and reports each round. Whoever
reports none for long is looked at, woken, and restarted: vigil triage status.`
	return group
}

func newPatrolReportCmd(a *cli.App) *cobra.Command {
	var who life.Flags
	request := &vigilv1.ReportPatrolRequest{}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "As an overseer: say that you have been round",
		Long: `Say that a patrol was made. The same cycle said again changes nothing; without --cycle it
is the next one. The answer says when this life has made as many patrols as one should
(handoff_after in the room file): hand over then with vigil handoff.`,
		Example: `  vigil patrol report --cycle 42 --action health-scan --healthy 3 --unhealthy 0`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := who.Current(a)
			if err != nil {
				return err
			}
			request.Speaker = l.Speaker()
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				o, err := vigilv1.NewOverseersClient(c).ReportPatrol(ctx, request)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(o)
				}
				return a.Printf("%s\n", patrolled(o))
			})
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&request.Cycle, "cycle", 0, "number of the patrol as you count (0: the next one)")
	flags.StringVar(&request.Action, "action", "", "what you did, a name like health-scan")
	flags.Uint32Var(&request.Healthy, "healthy", 0, "agents that are well")
	flags.Uint32Var(&request.Unhealthy, "unhealthy", 0, "agents that are not")
	a.BestEffort(cmd)
	who.Add(cmd, a)
	return cmd
}

// patrolled confirms a patrol, and says when the hand-over is due.
func patrolled(o *vigilv1.OverseerStatus) string {
	text := fmt.Sprintf("%s: patrol %d of this life, cycle %d", o.GetAgent(), o.GetPatrols(), o.GetCycle())
	if o.GetMailWaiting() > 0 {
		text += "; " + term.Plural(o.GetMailWaiting(), "mail waits", "mails wait") + ": vigil mail read"
	}
	if o.GetHandoffDue() {
		text += `; the hand-over is due: vigil handoff -s "Routine cycle" -m "what the next life must know"`
	}
	return text
}

func newPatrolStatusCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "status [ROOM/ROLE[.N]]",
		Short:             "Show the patrols of an overseer, or of all",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if len(args) == 0 {
					return listOverseers(ctx, a, c, term.NewTable("OVERSEER", "SESSION", "PATROL", "AGE",
						"CYCLE", "LAST ACTION", "HEALTHY", "UNHEALTHY", "OF THIS LIFE"),
						func(o *vigilv1.OverseerStatus) []string {
							return []string{o.GetAgent(), o.GetSession(), freshness(o),
								term.OrZero(term.Span(o.GetPatrolAge())), fmt.Sprint(o.GetCycle()),
								term.OrWord(o.GetLastAction(), "-"),
								fmt.Sprint(o.GetHealthy()), fmt.Sprint(o.GetUnhealthy()), patrolsOf(o)}
						})
				}
				o, err := vigilv1.NewOverseersClient(c).GetOverseer(ctx,
					&vigilv1.GetOverseerRequest{Agent: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(o)
				}
				return a.Pairs("overseer", o.GetAgent(), "session", o.GetSession()+", life "+o.GetIncarnation(),
					"patrol", PatrolLine(o), "cycle", fmt.Sprint(o.GetCycle()),
					"last action", o.GetLastAction(), "healthy", fmt.Sprint(o.GetHealthy()),
					"unhealthy", fmt.Sprint(o.GetUnhealthy()),
					"of this life", patrolsOf(o), "mail waiting", fmt.Sprint(o.GetMailWaiting()))
			})
		},
	}
}

// listOverseers prints all overseers, one row each.
func listOverseers(ctx context.Context, a *cli.App, c *cli.Conn, t *term.Table,
	row func(*vigilv1.OverseerStatus) []string) error {
	all, request := &vigilv1.ListOverseersResponse{}, &vigilv1.ListOverseersRequest{Stale: a.Stale, Limit: 1000}
	for {
		page, err := vigilv1.NewOverseersClient(c).ListOverseers(ctx, request)
		if err != nil {
			return err
		}
		all.Overseers = append(all.Overseers, page.GetOverseers()...)
		if request.After = page.GetNext(); request.After == "" {
			break
		}
	}
	if a.JSON {
		return a.PrintJSON(all)
	}
	for _, o := range all.GetOverseers() {
		t.Add(row(o)...)
	}
	return a.PrintTable(t, "There is no overseer: a role becomes one of overseers by `overseer:` in the room file.")
}

func freshness(o *vigilv1.OverseerStatus) string {
	if o.GetSession() == "dead" {
		return "-"
	}
	return strings.ReplaceAll(o.GetFreshness(), "_", " ")
}

// patrolsOf counts the patrols of the present life against what one should make.
func patrolsOf(o *vigilv1.OverseerStatus) string {
	switch {
	case o.GetHandoffAfter() == 0:
		return fmt.Sprint(o.GetPatrols())
	case o.GetHandoffDue():
		return fmt.Sprintf("%d of %d: the hand-over is due", o.GetPatrols(), o.GetHandoffAfter())
	}
	return fmt.Sprintf("%d of %d", o.GetPatrols(), o.GetHandoffAfter())
}

// PatrolLine is one line about the patrols of an overseer; "" when the agent is none.
func PatrolLine(o *vigilv1.OverseerStatus) string {
	switch {
	case o == nil:
		return ""
	case o.GetSession() == "dead":
		return "none: its session is dead"
	case o.GetPatrols() == 0:
		return fmt.Sprintf("%s: this life has reported none for %s", freshness(o),
			term.OrZero(term.Span(o.GetPatrolAge())))
	}
	return fmt.Sprintf("%s: %s ago, cycle %d %s, %d healthy, %d unhealthy", freshness(o),
		term.OrZero(term.Span(o.GetPatrolAge())), o.GetCycle(), o.GetLastAction(), o.GetHealthy(), o.GetUnhealthy())
}

// LookLine is one line about the looks at an overseer; "" when the agent is none.
func LookLine(o *vigilv1.OverseerStatus) string {
	if o == nil {
		return ""
	}
	text := "none yet"
	if o.GetDecision() != "" {
		text = fmt.Sprintf("%s by %s %s ago: %s", o.GetDecision(), o.GetDecidedBy(),
			term.OrZero(term.Span(o.GetDecided())), o.GetAct())
		if o.GetDegraded() != "" {
			text += " (degraded: " + o.GetDegraded() + ")"
		}
	}
	return text + "; " + nextLook(o)
}

// nextLook says what comes next.
func nextLook(o *vigilv1.OverseerStatus) string {
	in := func(d *durationpb.Duration) string { return term.OrZero(term.Span(d)) }
	switch {
	case o.GetLookTask() != 0:
		return fmt.Sprintf("a look is open: task %d waits for triage, for %s at most", o.GetLookTask(),
			in(o.GetLookLeft()))
	case o.GetOff() != "":
		return "nobody looks: " + o.GetOff()
	}
	return "next look in " + in(o.GetNextLook())
}
