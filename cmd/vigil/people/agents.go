package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newAgentCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("agent", "Agents: see why they run or not, stop, pause and start them",
		newAgentListCmd(a), newAgentShowCmd(a), newAgentStatusCmd(a), newAgentHealthCheckCmd(a),
		newAgentExplainCmd(a), newAgentDeadlinesCmd(a), newAgentStartCmd(a), newAgentStopCmd(a),
		newAgentRestartCmd(a),
		newAgentPauseCmd(a, "pause", "Start an agent no more and give it no new task; what it does goes on", true),
		newAgentPauseCmd(a, "resume", "End the pause of an agent", false), newAgentUnparkCmd(a),
		newAgentLogsCmd(a), newAgentScreenCmd(a), newAgentAttachCmd(a))
}

func newAgentListCmd(a *cli.App) *cobra.Command {
	var request vigilv1.ListAgentsRequest
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List agents with the reason for their state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.Stale, request.Limit = a.Stale, 1000
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list := &vigilv1.ListAgentsResponse{}
				for {
					page, err := c.Fleet.ListAgents(ctx, &request)
					if err != nil {
						return err
					}
					list.Agents = append(list.Agents, page.GetAgents()...)
					if request.After = page.GetNext(); request.After == "" {
						return printAgents(a, list)
					}
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Room, "room", "", "only of this room")
	flags.StringVar(&request.Role, "role", "", "only of this role")
	flags.StringVar(&request.Host, "host", "", "only on this host")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flags are there
	_ = cmd.RegisterFlagCompletionFunc("host", a.Every(cli.HostNames))
	return cmd
}

func printAgents(a *cli.App, list *vigilv1.ListAgentsResponse) error {
	if a.JSON {
		return a.PrintJSON(list)
	}
	t := term.NewTable("AGENT~", "STATE", "PROCESS", ">LIFE", "HOST~", ">TASK", "UP", "WHY~")
	for _, g := range list.GetAgents() {
		task := ""
		if g.GetTask() != 0 {
			task = fmt.Sprint(g.GetTask())
		}
		process := processText(g)
		if g.GetOutdated() {
			process += ", outdated"
		}
		t.Add(g.GetName(), g.GetParticipant(), process, g.GetIncarnation(), g.GetHost(), task,
			term.Span(g.GetUp()), term.Tidy(g.GetWhy()))
	}
	return a.PrintTable(t, "There are no such agents.")
}

// processText says what is known of the process.
func processText(g *vigilv1.Agent) string {
	switch {
	case g.GetStuck() != "":
		return "unkillable"
	case g.GetParked():
		return "parked"
	case g.GetWhyCode() == "unheard":
		return "unheard" // it may run, or not
	case !g.GetManaged() && g.GetParticipant() != "DISCONNECTED" && g.GetParticipant() != "":
		return "by hand"
	}
	return g.GetProcess()
}

func newAgentShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "show ROOM/ROLE[.N]",
		Short:             "Show an agent with every known figure",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(answer.GetAgent())
				}
				return printAgent(a, answer.GetAgent())
			})
		},
	}
}

func printAgent(a *cli.App, g *vigilv1.Agent) error {
	pid, task, order := "", "", ""
	if g.GetPid() != 0 {
		pid = fmt.Sprint(g.GetPid())
	}
	if g.GetTask() != 0 {
		task = fmt.Sprint(g.GetTask())
	}
	if g.GetOrder() != "" && g.GetOrder() != "none" {
		order = fmt.Sprintf("%s, open for %s: %s", g.GetOrder(), term.OrZero(term.Span(g.GetOrderOpen())),
			g.GetOrderReason())
	}
	return a.Pairs("agent", g.GetName(), "why", term.Tidy(g.GetWhy()), "desired", intentText(a, g),
		"participant", g.GetParticipant(),
		"process", processText(g), "unkillable", g.GetStuck(), "host", g.GetHost(), "pid", pid,
		"incarnation", g.GetIncarnation(), "up", term.Span(g.GetUp()), "outdated", outdatedText(g),
		"task", task, "done", term.Plural(g.GetDone(), "task")+" in this life", "lease", term.Left(g.GetLeaseLeft()),
		"fence", term.Left(g.GetFenceLeft()),
		"order", order, "failures", failuresText(g), "start fails", g.GetStartFault(),
		"terminal", screenLine(g.GetScreen(), g.GetDegraded()),
		"used", usageLine(g.GetUsage()),
		"patrols", agent.PatrolLine(g.GetOverseer()), "last look", agent.LookLine(g.GetOverseer()),
		"resume value", resumeText(g), "last exit", exitText(a, g.GetLastExit()), "revision", fmt.Sprint(g.GetRev()))
}

// intentEnd is until what is wanted of an agent ends by itself; nil: it does not.
func intentEnd(g *vigilv1.Agent) *durationpb.Duration {
	switch g.GetDesired() {
	case "stopped":
		return g.GetStopEndsIn()
	case "paused":
		return g.GetPauseEndsIn()
	}
	return nil
}

// intentText says what is wanted, who said so and why.
func intentText(a *cli.App, g *vigilv1.Agent) string {
	by, at, why := g.GetIntentBy(), g.GetIntentAt(), g.GetIntentWhy()
	if g.GetPaused() && g.GetDesired() == "paused" {
		by, at, why = g.GetPauseBy(), g.GetPauseAt(), g.GetPauseWhy()
	}
	text := g.GetDesired() + a.EndsText(intentEnd(g))
	if by != "" {
		text = strings.TrimSpace(fmt.Sprintf("%s, by %s %s", text, by, a.Ago(at)))
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// resumeText says that the next life goes on where this one was.
func resumeText(g *vigilv1.Agent) string {
	if g.GetResumeBytes() == 0 {
		return ""
	}
	return fmt.Sprintf("%s for the next life; start or restart with --fresh forgets it",
		term.BytesText(int64(g.GetResumeBytes())))
}

func failuresText(g *vigilv1.Agent) string {
	if g.GetFailures() == 0 {
		return ""
	}
	text := fmt.Sprintf("%d in a row", g.GetFailures())
	if d := term.Span(g.GetNotBefore()); d != "" {
		text += ", no start before " + d + " from now"
	}
	return text
}

func newAgentStartCmd(a *cli.App) *cobra.Command {
	request := &vigilv1.SetAgentRequest{Desired: "running"}
	cmd := newAgentSetCmd(a, "start", "Let an agent run: takes back a stop, ends a back-off, opens a breaker",
		"it runs and has joined", request)
	cmd.Flags().BoolVar(&request.Fresh, "fresh", false, "forget its resume value: begin a new conversation")
	return cmd
}

func newAgentStopCmd(a *cli.App) *cobra.Command {
	cmd := newAgentSetCmd(a, "stop", "Stop an agent and keep it stopped, whatever else asks for it",
		"nothing of it runs", &vigilv1.SetAgentRequest{Desired: "stopped"})
	cmd.Long = `Stop an agent and keep it stopped, whatever else asks for it, until a human starts it or until the
end that was given to the stop: it is started then, as if a human had asked for it. A later stop
replaces the end; one without --for and --until takes it away.`
	cmd.Example = `  vigil agent stop web/builder --for 2h --why "its disk is being replaced"
  vigil agent stop web/builder --until 15:00`
	return cmd
}

func newAgentSetCmd(a *cli.App, verb, short, until string, request *vigilv1.SetAgentRequest) *cobra.Command {
	var wait bool
	var end cli.UntilFlags
	stop := request.GetDesired() == "stopped"
	cmd := &cobra.Command{
		Use:               verb + " ROOM/ROLE[.N]...",
		Short:             short,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.Every(cli.AgentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			span, err := end.Read(cmd, a.Now())
			if err != nil {
				return err
			}
			return eachAgent(a, cmd, args, wait,
				func(ctx context.Context, c *cli.Conn, name string) (*vigilv1.Agent, error) {
					return c.Fleet.SetAgent(ctx, &vigilv1.SetAgentRequest{Agent: name, Desired: request.GetDesired(),
						By: a.Me(), IfRev: request.GetIfRev(), Fresh: request.GetFresh(),
						Reason: request.GetReason(), For: span})
				})
		},
	}
	cmd.Flags().Uint64Var(&request.IfRev, "if-rev", 0, "only when this is the agent's revision")
	waitFlag(cmd, &wait, until)
	cli.WhyFlag(cmd, &request.Reason)
	if stop {
		end.Add(cmd, "the stop")
	}
	return cmd
}

func newAgentUnparkCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "unpark ROOM/ROLE[.N]...",
		Short:             "End a back-off, an open breaker or a usage-limit pause of an agent",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.Every(cli.AgentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return eachAgent(a, cmd, args, false,
				func(ctx context.Context, c *cli.Conn, name string) (*vigilv1.Agent, error) {
					return c.Fleet.UnparkAgent(ctx, &vigilv1.UnparkAgentRequest{Agent: name, By: a.Me()})
				})
		},
	}
}

// eachAgent changes one agent after the other and goes on after a failure; with wait
// it waits then, without a limit unless --timeout gives one, until all have come true.
func eachAgent(a *cli.App, cmd *cobra.Command, names []string, wait bool,
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
				now, err := awaitAgent(ctx, a, c, cmd.Name(), g)
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

func newAgentLogsCmd(a *cli.App) *cobra.Command {
	request := &vigilv1.AgentLogsRequest{}
	cmd := &cobra.Command{
		Use:               "logs ROOM/ROLE[.N]",
		Short:             "Print an agent's output, fetched from its host",
		Long:              "Print an agent's output, fetched from its host: text and its colours. With --json it comes as it is.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Agent = args[0]
			ask := a.Ask
			if request.GetFollow() {
				ask = a.Follow
			}
			return ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				stream, err := c.Fleet.AgentLogs(ctx, request)
				if err != nil {
					return err
				}
				return copyLogs(a, stream.Recv)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&request.Follow, "follow", "f", false, "go on as it grows, until interrupted")
	flags.Uint32VarP(&request.Lines, "lines", "n", 100, "begin with this many of the last lines, at most 10000")
	return cmd
}

// copyLogs prints pieces of output without what steers a terminal; with --json one object for
// each, as it is.
func copyLogs(a *cli.App, next func() (*vigilv1.LogChunk, error)) error {
	shown := term.Drawing{Plain: true}
	for {
		chunk, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.PrintJSON(map[string]string{"data": string(chunk.GetData())})
		} else {
			_, err = a.Out.Write(shown.Pass(chunk.GetData()))
		}
		if err != nil {
			return err
		}
	}
}
