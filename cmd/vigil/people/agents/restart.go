package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newRestartCmd(a *cli.App) *cobra.Command {
	x := &renewal{App: a}
	var wait, outdated bool
	cmd := &cobra.Command{
		Use:   "restart [ROOM/ROLE[.N]...]",
		Short: "Stop the running life of an agent; the next start is not charged",
		Long: `Stop the running life of an agent; the next start is not charged.

With --outdated, all agents are restarted whose life was started as their role was declared
before, of --room and --role when those are given. One follows the other, once the next life of
the one before has joined; when one does not, the rest goes on as it is. This command does it, so
it runs until all are renewed; interrupted and given again it goes on where it was.`,
		Example:           "  vigil agent restart web/builder.2\n  vigil agent restart --outdated --room web --dry-run",
		ValidArgsFunction: a.Every(cli.AgentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := x.check(cmd, args, outdated); err != nil {
				return err
			}
			if outdated {
				return x.run(cmd)
			}
			return each(a, cmd, args, wait, x.restart)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&x.fresh, "fresh", false, "forget its resume value: begin a new conversation")
	waitFlag(cmd, &wait, "its next life runs and has joined")
	cli.WhyFlag(cmd, &x.why)
	flags.BoolVar(&outdated, "outdated", false, "those that live as their role was declared before, one by one")
	flags.StringVar(&x.room, "room", "", "with --outdated: only of this room")
	flags.StringVar(&x.role, "role", "", "with --outdated: only of roles with this name")
	flags.BoolVar(&x.yes, "yes", false, "with --outdated: go on without a question")
	flags.BoolVar(&x.dryRun, "dry-run", false, "with --outdated: print the plan and change nothing")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flag is there
	return cmd
}

// renewal is one run of a restart.
type renewal struct {
	*cli.App
	fresh       bool
	why         string
	room, role  string
	yes, dryRun bool
	names       []string // of those that are outdated
	atWork      int      // of them
}

func (x *renewal) check(cmd *cobra.Command, args []string, outdated bool) error {
	if outdated && len(args) > 0 {
		return cli.Usagef("flag --outdated: it chooses agents itself; leave out %s or the flag", args[0])
	}
	if outdated {
		return nil
	}
	for _, name := range [...]string{"room", "role", "yes", "dry-run"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("flag --%s: it goes with --outdated", name)
		}
	}
	if len(args) == 0 {
		return cli.Usagef("name an agent, see `vigil agent list`, or choose with --outdated")
	}
	return nil
}

func (x *renewal) restart(ctx context.Context, c *cli.Conn, name string) (*vigilv1.Agent, error) {
	return c.Fleet.RestartAgent(ctx, &vigilv1.RestartAgentRequest{Agent: name, By: x.Me(), Fresh: x.fresh,
		Reason: x.why})
}

// run plans, asks, and renews.
func (x *renewal) run(cmd *cobra.Command) error {
	if err := x.Follow(cmd, x.plan); err != nil {
		return err
	}
	switch {
	case x.JSON && (x.dryRun || len(x.names) == 0):
		return x.PrintJSON(map[string]any{"outdated": slices.Concat([]string{}, x.names), "renewed": []string{}})
	case len(x.names) == 0:
		return x.Printf("No agent is outdated: nothing was changed.\n")
	case x.dryRun:
		return x.Printf("%sNothing was changed.\n", x.text())
	}
	if x.why == "" {
		x.why = "its role is declared otherwise now"
	}
	harm := "restarts " + term.Plural(len(x.names), "agent") + ", one after the other"
	if x.atWork > 0 {
		harm += fmt.Sprintf(", of which %d are at work", x.atWork)
	}
	if _, err := x.ConfirmPlan(x.text(), harm, x.yes); err != nil {
		return err
	}
	return x.Follow(cmd, x.renew)
}

// plan finds the agents that are outdated.
func (x *renewal) plan(ctx context.Context, c *cli.Conn) error {
	request := &vigilv1.ListAgentsRequest{Room: x.room, Role: x.role, Limit: 1000}
	for {
		page, err := c.Fleet.ListAgents(ctx, request)
		if err != nil {
			return err
		}
		for _, g := range page.GetAgents() {
			if g.GetOutdated() && g.GetDesired() == "running" {
				x.names = append(x.names, g.GetName())
				if g.GetTask() != 0 {
					x.atWork++
				}
			}
		}
		if request.After = page.GetNext(); request.After == "" {
			return nil
		}
	}
}

// text is the plan for people.
func (x *renewal) text() string {
	shown := x.names[:min(len(x.names), cli.PlanShown)]
	text := fmt.Sprintf("restart %s: %s", term.Plural(len(x.names), "agent"), strings.Join(shown, ", "))
	if more := len(x.names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "\n"
}

// renew restarts one after the other. Whoever was restarted otherwise since is left alone.
func (x *renewal) renew(ctx context.Context, c *cli.Conn) error {
	renewed := []string{}
	var failed error
	defer x.ProgressPart("")
	for i, name := range x.names {
		x.ProgressPart("%d of %d: ", i+1, len(x.names))
		if failed = x.renewOne(ctx, c, name); failed != nil {
			failed = fmt.Errorf("%d of %d renewed, the rest goes on as it is; give the command again to go on: %w",
				i, len(x.names), failed)
			break
		}
		renewed = append(renewed, name)
	}
	if failed != nil && !x.JSON {
		return failed
	}
	if err := x.Done(map[string]any{"outdated": x.names, "renewed": renewed}, "%s renewed",
		term.Plural(len(renewed), "agent is", "agents are")); err != nil {
		return err
	}
	return failed
}

func (x *renewal) renewOne(ctx context.Context, c *cli.Conn, name string) error {
	is, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: name})
	if err != nil || !is.GetAgent().GetOutdated() || is.GetAgent().GetDesired() != "running" {
		return err
	}
	was, err := x.restart(ctx, c, name)
	if err != nil {
		return err
	}
	_, err = await(ctx, x.App, c, "renew", was)
	return err
}
