package events

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// NewCommand is `vigil events`.
func NewCommand(a *cli.App) *cobra.Command {
	request := &vigilv1.WatchEventsRequest{}
	var follow bool
	var audit auditFlags
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the history, with -f also what happens from now on",
		Long: `Print the history: what happened to rooms, agents, tasks and hosts. With -f and
without --after only what happens from now on. The stream goes on at another server
when one is lost; no event is left out or shown twice.

With --audit who has changed what instead, for admins: when, who, which call, about which
room, from which address, and a digest of the request, by which two equal ones are known.`,
		Example: "  vigil events -f\n  vigil events --room web --after 1200\n  vigil events --audit --who user/anna",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := audit.check(request); err != nil {
				return err
			}
			request.NoFollow = !follow
			request.Tail = follow && !cmd.Flags().Changed("after")
			if audit.on {
				return printAudit(cmd, a, &vigilv1.ListAuditRequest{Stale: a.Stale, After: request.GetAfter(),
					Tail: request.GetTail(), Room: request.GetRoom(), Who: audit.who, Method: audit.method}, follow)
			}
			ask := a.Ask
			if follow {
				ask = a.Follow
			}
			found := false
			err := ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				return Watch(ctx, c, request, func(e *vigilv1.Event) error {
					found = true
					if a.JSON {
						return a.PrintJSON(e)
					}
					return Print(a, e)
				})
			})
			if err == nil && !found && !a.JSON {
				fmt.Fprintln(a.Err, "There are no such events.")
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "go on until interrupted")
	flags.Uint64Var(&request.After, "after", 0, "only events with a greater number")
	flags.StringVar(&request.Room, "room", "", "only of this room")
	flags.StringVar(&request.Agent, "agent", "", "only of this agent")
	flags.Uint64Var(&request.Task, "task", 0, "only of this task")
	flags.BoolVar(&audit.on, "audit", false, "who has changed what, instead of what has happened")
	flags.StringVar(&audit.who, "who", "", "only by this one, as user/anna or token/7; with --audit")
	flags.StringVar(&audit.method, "method", "", "only this call, as Fleet/ApplyRoom; with --audit")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flags are there
	_ = cmd.RegisterFlagCompletionFunc("agent", a.Every(cli.AgentNames))
	return cmd
}

// Print prints one event on one line.
func Print(a *cli.App, e *vigilv1.Event) error {
	when := "        "
	if e.GetAt() != nil {
		at, form := e.GetAt().AsTime().Local(), time.TimeOnly
		if at.Format(time.DateOnly) != a.Now().Local().Format(time.DateOnly) {
			form = time.DateTime
		}
		when = at.Format(form)
	}
	subject := e.GetAgent()
	if subject == "" {
		subject = e.GetRoom()
	}
	if subject == "" {
		subject = e.GetHost()
	}
	var about []string
	if e.GetTask() != 0 {
		about = append(about, fmt.Sprintf("task %d", e.GetTask()))
	}
	if e.GetText() != "" {
		about = append(about, term.Tidy(e.GetText()))
	}
	line := fmt.Sprintf("%s  %-20s  %-18s  %s", when, e.GetKind(), subject, term.OneLine(strings.Join(about, ": ")))
	if a.Screen.Width > 0 {
		line = term.Cut(line, a.Screen.Width)
	}
	return a.Printf("%s\n", strings.TrimRight(line, " "))
}
