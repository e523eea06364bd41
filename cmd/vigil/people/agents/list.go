package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm/judge"
	"vigil/rpc/gen/vigilv1"
)

func newListCmd(a *cli.App) *cobra.Command {
	var request vigilv1.ListAgentsRequest
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List agents with the reason for their state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := proto.CloneOf(&request) // with --watch this runs again and again
			r.Stale, r.Limit = a.Stale, 1000
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list := &vigilv1.ListAgentsResponse{}
				for {
					page, err := c.Fleet.ListAgents(ctx, r)
					if err != nil {
						return err
					}
					list.Agents = append(list.Agents, page.GetAgents()...)
					if r.After = page.GetNext(); r.After == "" {
						return Print(a, list)
					}
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Room, "room", "", "only of this room")
	flags.StringVar(&request.Role, "role", "", "only of this role")
	flags.StringVar(&request.Host, "host", "", "only on this host")
	flags.StringSliceVar(&request.Verdicts, "verdict", nil, "only with this verdict, such as stalled; several with commas")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flags are there
	_ = cmd.RegisterFlagCompletionFunc("host", a.Every(cli.HostNames))
	_ = cmd.RegisterFlagCompletionFunc("verdict",
		cobra.FixedCompletions(verdictWords(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// verdictWords are the verdicts that an agent can have.
func verdictWords() (words []cobra.Completion) {
	for _, k := range judge.Kinds() {
		words = append(words, k.String())
	}
	return words
}

// Print prints agents, one line each, or as JSON.
func Print(a *cli.App, list *vigilv1.ListAgentsResponse) error {
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
