package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newStartCmd(a *cli.App) *cobra.Command {
	request := &vigilv1.SetAgentRequest{Desired: "running"}
	cmd := newSetCmd(a, "start", "Let an agent run: takes back a stop, ends a back-off, opens a breaker",
		"it runs and has joined", request)
	cmd.Long = `Let an agent run: takes back a stop, ends a back-off, opens a breaker.

With --room or --all, everything of a room or of the fleet that is stopped is started, also what somebody
had stopped before for a reason of their own: the plan says who has stopped what, when and why. With --by
NAME only what NAME has stopped is, where NAME is as the plan shows it. Agents whose role is declared as
stopped stay as they are: vigil apply changes that.`
	cmd.Example = `  vigil agent start web/builder
  vigil agent start --all --by anna --dry-run`
	cmd.Flags().BoolVar(&request.Fresh, "fresh", false, "forget its resume value: begin a new conversation")
	return cmd
}

func newStopCmd(a *cli.App) *cobra.Command {
	cmd := newSetCmd(a, "stop", "Stop an agent and keep it stopped, whatever else asks for it",
		"nothing of it runs", &vigilv1.SetAgentRequest{Desired: "stopped"})
	cmd.Long = `Stop an agent and keep it stopped, whatever else asks for it, until a human starts it or until the
end that was given to the stop: it is started then, as if a human had asked for it. A later stop
replaces the end; one without --for and --until takes it away.

With --room or --all, everything of a room or of the fleet that is not stopped yet is, also what only its
role keeps from running, which an apply would start, and so is what an earlier stop would let start
again before this one ends, which the plan names. ` + "`vigil agent start`" + `
with the same flag starts what is stopped, whoever has stopped it: its plan says who and why, and --by
NAME starts only what NAME has stopped. A stop with --for or --until ends by itself. A role that starts
its agents on demand, and tasks that come later, do not start what is stopped.`
	cmd.Example = `  vigil agent stop web/builder --for 2h --why "its disk is being replaced"
  vigil agent stop web/builder --until 15:00
  vigil agent stop --all --for 1h --why "they break the main branch"`
	return cmd
}

func newSetCmd(a *cli.App, verb, short, until string, request *vigilv1.SetAgentRequest) *cobra.Command {
	var wait bool
	var end cli.UntilFlags
	stop := request.GetDesired() == "stopped"
	many := &several{App: a, verb: verb, did: "started"}
	many.fits = many.stoppedByWhom
	if stop {
		many.did = "stopped"
	}
	cmd := &cobra.Command{
		Use:               verb + " [ROOM/ROLE[.N]...]",
		Short:             short,
		ValidArgsFunction: a.Every(cli.AgentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			span, err := end.Read(cmd, a.Now())
			if err != nil {
				return err
			}
			if stop {
				many.fits = func(g *vigilv1.Agent) bool { return startsBefore(g, span) }
			}
			chosen, err := many.chosen(cmd, args)
			if err != nil {
				return err
			}
			many.change = func(ctx context.Context, c *cli.Conn, name string) (*vigilv1.Agent, error) {
				r := &vigilv1.SetAgentRequest{Agent: name, Desired: request.GetDesired(), By: a.Me(),
					IfRev: request.GetIfRev(), Fresh: request.GetFresh(), Reason: request.GetReason(), For: span}
				if was := many.planned[name]; was != nil && !stop {
					return startPlanned(ctx, c, r, was)
				}
				return c.Fleet.SetAgent(ctx, r)
			}
			if chosen {
				return many.run(cmd)
			}
			return each(a, cmd, args, wait, many.change)
		},
	}
	cmd.Flags().Uint64Var(&request.IfRev, "if-rev", 0, "only when this is the agent's revision")
	waitFlag(cmd, &wait, until)
	cli.WhyFlag(cmd, &request.Reason)
	many.add(cmd)
	if stop {
		end.Add(cmd, "the stop")
	} else {
		cmd.Flags().StringVar(&many.by, "by", "", "with --room and --all: only what this person has stopped")
	}
	return cmd
}

func newUnparkCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "unpark ROOM/ROLE[.N]...",
		Short:             "End a back-off, an open breaker or a usage-limit pause of an agent",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.Every(cli.AgentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return each(a, cmd, args, false,
				func(ctx context.Context, c *cli.Conn, name string) (*vigilv1.Agent, error) {
					return c.Fleet.UnparkAgent(ctx, &vigilv1.UnparkAgentRequest{Agent: name, By: a.Me()})
				})
		},
	}
}

// each changes one agent after the other and goes on after a failure; with wait
// it waits then, without a limit unless --timeout gives one, until all have come true.
func each(a *cli.App, cmd *cobra.Command, names []string, wait bool,
	change func(context.Context, *cli.Conn, string) (*vigilv1.Agent, error)) error {
	ask := a.Ask
	if wait {
		ask = a.Follow
	}
	return ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		list := &vigilv1.ListAgentsResponse{}
		var first error
		failed := func(err error) {
			if first == nil {
				first = err
			} else {
				cli.Report(a.Err, err, a.JSON)
			}
		}
		for _, name := range names {
			g, err := change(ctx, c, name)
			if err != nil {
				failed(err)
				continue
			}
			list.Agents = append(list.Agents, g)
		}
		for i, g := range list.GetAgents() {
			if wait {
				now, err := await(ctx, a, c, cmd.Name(), g)
				if err != nil {
					failed(err)
					continue
				}
				list.Agents[i], g = now, now
			}
			if !a.JSON {
				if err := a.Printf("%s: desired %s, %s\n", g.GetName(), g.GetDesired()+a.EndTime(intentEnd(g)),
					changedText(cmd.Name(), g)); err != nil {
					return err
				}
			}
		}
		if a.JSON {
			if err := a.PrintJSON(list); err != nil {
				return err
			}
		}
		return first
	})
}

// changedText says how an agent is after a human's word. A start does not end a
// pause (law L9), which must be said.
func changedText(verb string, g *vigilv1.Agent) string {
	text := term.Tidy(g.GetWhy())
	if (verb == "start" || verb == "restart" || verb == "unpark") && g.GetPaused() &&
		!strings.Contains(text, "resume") {
		text += fmt.Sprintf("; its pause stays: `vigil agent resume %s` ends it", g.GetName())
	}
	return term.OneLine(text)
}
