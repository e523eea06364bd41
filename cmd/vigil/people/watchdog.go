package people

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// newWatchdogCmd is `vigil watchdog`: what the conversation watchdog sees and has done.
func newWatchdogCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("watchdog", "Rooms in which nothing happens: who was warned, who was canceled",
		newWatchdogStatusCmd(a), newWatchdogHistoryCmd(a))
	group.Long = `The conversation watchdog warns of rooms with open tasks in which nothing is done or said
for longer than their limit, and then cancels their tasks and stops the agents that hold
them. A canceled room is brought back with vigil room reopen. Its settings begin with
watchdog_ (vigil settings show); a room has its own limit, a deadline or no watchdog with
vigil room watchdog or in its file. A room is exempt while an agent that holds a task of it
has declared itself busy, in a tool, sleeping or waiting for a human, and while it is paused.
A room in which no agent has lived since it was created, and which has no limits of its own,
is not canceled: a human is told that nobody serves it (setting watchdog_untaken).`
	return group
}

func newWatchdogStatusCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether it works, what it has done and which rooms are stalled",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				w, err := c.Fleet.GetWatchdog(ctx, &vigilv1.GetWatchdogRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					w.History = nil
					return a.PrintJSON(w)
				}
				return printWatchdog(a, w)
			})
		},
	}
}

func printWatchdog(a *cli.App, w *vigilv1.GetWatchdogResponse) error {
	state := "on"
	if !w.GetEnabled() {
		state = "switched off: `vigil settings set watchdog_enabled=true` ends that"
	}
	s := w.GetStats()
	last := "none since this leader's server started"
	if at := a.Ago(s.GetLastCheck()); at != "" {
		last = fmt.Sprintf("%s, took %s", at, s.GetLastDuration().AsDuration().Round(time.Microsecond))
	}
	return a.Pairs("watchdog", state, "checks", fmt.Sprint(s.GetChecks()), "last check", last,
		"rooms checked", fmt.Sprint(s.GetChecked()), "errors", fmt.Sprint(s.GetErrors()),
		"active rooms", fmt.Sprint(w.GetActiveRooms()), "stalled now",
		term.OrWord(strings.Join(w.GetStalled(), " "), "none"),
		"warned in all", fmt.Sprint(w.GetWarnedTotal()), "canceled in all", fmt.Sprint(w.GetCanceledTotal()))
}

func newWatchdogHistoryCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List the last cancellations, and where they pile up by role, host and hour (UTC)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				w, err := c.Fleet.GetWatchdog(ctx, &vigilv1.GetWatchdogRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(&vigilv1.GetWatchdogResponse{History: w.GetHistory(),
						CanceledTotal: w.GetCanceledTotal()})
				}
				return printCancellations(a, w.GetHistory())
			})
		},
	}
}

func printCancellations(a *cli.App, list []*vigilv1.Cancellation) error {
	t := term.NewTable("CANCELED", "ROOM~", "REASON", ">TASKS", "SILENT", "ROLES~", "HOSTS~")
	for _, x := range list {
		t.Add(a.Ago(x.GetAt()), x.GetRoom(), x.GetReason(), fmt.Sprint(x.GetTasks()), term.Span(x.GetSilent()),
			strings.Join(x.GetRoles(), " "), strings.Join(x.GetHosts(), " "))
	}
	if err := a.PrintTable(t, "The watchdog has canceled nothing."); err != nil || len(list) == 0 {
		return err
	}
	p := patternsOf(list)
	return a.Printf("\nby role  %s\nby host  %s\nby hour  %s\n", most(p.roles),
		term.OrWord(most(p.hosts), "none held a task"), most(p.hours))
}

// patterns count cancellations by what they have in common.
type patterns struct{ roles, hosts, hours map[string]int }

func patternsOf(list []*vigilv1.Cancellation) patterns {
	p := patterns{map[string]int{}, map[string]int{}, map[string]int{}}
	for _, x := range list {
		for _, r := range x.GetRoles() {
			p.roles[r]++
		}
		for _, h := range x.GetHosts() {
			p.hosts[h]++
		}
		p.hours[fmt.Sprintf("%02dh", x.GetAt().AsTime().UTC().Hour())]++
	}
	return p
}

// most lists counts, the greatest first, at most eight.
func most(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		if counts[x] != counts[y] {
			return counts[y] - counts[x]
		}
		return strings.Compare(x, y)
	})
	var parts []string
	for _, name := range names[:min(len(names), 8)] {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func newRoomReopenCmd(a *cli.App) *cobra.Command {
	var rev uint64
	cmd := &cobra.Command{
		Use:               "reopen ROOM",
		Short:             "Bring back the tasks that the watchdog canceled",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteRoom,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := c.Fleet.ReopenRoom(ctx, &vigilv1.ReopenRoomRequest{Room: args[0], By: a.Me(),
					IfRev: rev})
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"room": args[0], "tasks": answer.GetTasks()},
					"room %s is reopened: %s again", args[0], term.Plural(answer.GetTasks(), "task waits", "tasks wait"))
			})
		},
	}
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only when this is the room's revision")
	return cmd
}

func newRoomWatchdogCmd(a *cli.App) *cobra.Command {
	var idle, deadline time.Duration
	var off, on bool
	var untaken string
	cmd := &cobra.Command{
		Use:   "watchdog ROOM",
		Short: "Set a room's own limit of silence, a deadline, or no watchdog",
		Example: `  vigil room watchdog web --idle-limit 2h
  vigil room watchdog web --deadline 8h
  vigil room watchdog web --disable`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteRoom,
		RunE: func(cmd *cobra.Command, args []string) error {
			said := cmd.Flags().Changed
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				room, err := c.Fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				watch := &vigilv1.RoomWatch{IdleLimit: room.GetWatch().GetIdleLimit(),
					Deadline: room.GetWatch().GetDeadline(), Disabled: room.GetWatch().GetDisabled(),
					Untaken: room.GetWatch().GetUntaken()}
				if said("untaken") {
					watch.Untaken = untaken
				}
				if said("idle-limit") {
					watch.IdleLimit = durationpb.New(idle)
				}
				if said("deadline") {
					watch.Deadline = durationpb.New(deadline)
				}
				if off || on {
					watch.Disabled = off
				}
				if off || on || said("idle-limit") || said("deadline") || said("untaken") {
					room, err = c.Fleet.SetRoomWatch(ctx,
						&vigilv1.SetRoomWatchRequest{Room: args[0], Watch: watch, By: a.Me(), IfRev: room.GetRev()})
					if err != nil {
						return err
					}
				}
				if a.JSON {
					return a.PrintJSON(room)
				}
				return a.Pairs("room", room.GetName(), "watchdog", watchText(a, room))
			})
		},
	}
	cmd.Flags().DurationVar(&idle, "idle-limit", 0,
		"silence after which it is stalled (0: the setting watchdog_threshold)")
	cmd.Flags().DurationVar(&deadline, "deadline", 0, "the longest time that it may be active at a stretch (0: none)")
	cmd.Flags().StringVar(&untaken,
		"untaken", "", "when nobody has lived in it: warn or cancel (\"\": as its own limits or the setting say)")
	cmd.Flags().BoolVar(&off, "disable", false, "the watchdog leaves the room alone")
	cmd.Flags().BoolVar(&on, "enable", false, "ends --disable")
	cmd.MarkFlagsMutuallyExclusive("disable", "enable")
	return cmd
}

// watchText says how the conversation watchdog sees a room.
func watchText(a *cli.App, room *vigilv1.Room) string {
	q := room.GetQuiet()
	text := q.GetState()
	switch q.GetState() {
	case "":
		return ""
	case "stalled", "stalling":
		text += ": " + strings.ReplaceAll(q.GetReason(), "_", " ") + ", silent for " + term.Span(q.GetSilent())
		if q.GetState() == "stalling" {
			text += ", it is canceled in " + term.OrWord(term.Span(q.GetCancelIn()), "a moment")
		}
	case "active":
		text += fmt.Sprintf(": silent for %s, stalled in %s", term.OrWord(term.Span(q.GetSilent()), "0s"),
			term.OrWord(term.Span(q.GetDueIn()), "0s"))
	default:
		text += ": " + q.GetWhy()
	}
	var own []string
	if d := term.Span(room.GetWatch().GetIdleLimit()); d != "" {
		own = append(own, "limit "+d)
	}
	if d := term.Span(room.GetWatch().GetDeadline()); d != "" {
		own = append(own, "deadline "+d)
	}
	if u := room.GetWatch().GetUntaken(); u != "" {
		own = append(own, "untaken: "+u)
	}
	if len(own) > 0 {
		text += " (" + strings.Join(own, ", ") + ")"
	}
	return text
}

// canceledText says when and why the watchdog has canceled a room.
func canceledText(a *cli.App, room *vigilv1.Room) string {
	x := room.GetCanceled()
	if x == nil {
		return ""
	}
	since := ""
	if x.GetResumed() {
		since = ", and it has got new work since"
	}
	return fmt.Sprintf("by the watchdog %s: %s, %s%s; `vigil room reopen %s` brings them back",
		a.Ago(x.GetAt()), strings.ReplaceAll(x.GetReason(), "_", " "),
		term.Plural(x.GetTasks(), "task"), since, room.GetName())
}
