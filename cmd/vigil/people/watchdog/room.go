package watchdog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// NewReopenCommand is `vigil room reopen`.
func NewReopenCommand(a *cli.App) *cobra.Command {
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

// NewRoomCommand is `vigil room watchdog`.
func NewRoomCommand(a *cli.App) *cobra.Command {
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
				return a.Pairs("room", room.GetName(), "watchdog", Text(a, room))
			})
		},
	}
	cmd.Flags().DurationVar(&idle, "idle-limit", 0,
		"silence after which it is stalled (0: the setting watchdog_threshold)")
	cmd.Flags().DurationVar(&deadline, "deadline", 0, "the longest time that it may be active at a stretch (0: none)")
	cmd.Flags().StringVar(&untaken,
		"untaken", "", "when nobody serves it: warn or cancel (\"\": as its own limits or the setting say)")
	cmd.Flags().BoolVar(&off, "disable", false, "the watchdog leaves the room alone")
	cmd.Flags().BoolVar(&on, "enable", false, "ends --disable")
	cmd.MarkFlagsMutuallyExclusive("disable", "enable")
	return cmd
}

// Text says how the conversation watchdog sees a room.
func Text(a *cli.App, room *vigilv1.Room) string {
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

// CanceledText says when and why the watchdog has canceled a room.
func CanceledText(a *cli.App, room *vigilv1.Room) string {
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
