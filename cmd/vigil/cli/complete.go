package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// completeLimit bounds what the shell waits for names.
const completeLimit = 400 * time.Millisecond

// completions is what a shell may offer for the word that is being typed.
type completions func(ctx context.Context, c *Conn, typed string) []string

// Complete asks the cluster for names; without an answer there are none.
func (a *App) Complete(cmd *cobra.Command, typed string, fn completions) ([]string, cobra.ShellCompDirective) {
	c, err := a.Dial()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
	defer cancel()
	var fit []string
	for _, name := range fn(ctx, c, typed) {
		if strings.HasPrefix(name, typed) {
			fit = append(fit, name)
		}
	}
	return fit, cobra.ShellCompDirectiveNoFileComp
}

// First makes fn the completion of the first argument.
func (a *App) First(fn completions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.Complete(cmd, typed, fn)
	}
}

// Every makes fn the completion of all arguments and of flags.
func (a *App) Every(fn completions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.Complete(cmd, typed, fn)
	}
}

// CompleteRoom offers rooms for the first argument.
func (a *App) CompleteRoom(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.First(RoomNames)(cmd, args, typed)
}

// CompleteAgent offers agents for the first argument.
func (a *App) CompleteAgent(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.First(AgentNames)(cmd, args, typed)
}

// CompleteTask offers the newest tasks for the first argument.
func (a *App) CompleteTask(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.First(TaskIDs)(cmd, args, typed)
}

// RoomNames completes rooms.
func RoomNames(ctx context.Context, c *Conn, _ string) (names []string) {
	rooms, _ := c.Rooms(ctx, true) // those that came in time
	for _, r := range rooms {
		names = append(names, r.GetName())
	}
	return names
}

// RoleNames completes room/role.
func RoleNames(ctx context.Context, c *Conn, _ string) (names []string) {
	rooms, _ := c.Rooms(ctx, true) // those that came in time
	for _, r := range rooms {
		for _, role := range r.GetRoles() {
			names = append(names, r.GetName()+"/"+role.GetSpec().GetName())
		}
	}
	return names
}

// AgentNames completes agents, of one room once that is typed.
func AgentNames(ctx context.Context, c *Conn, typed string) (names []string) {
	room, _, _ := strings.Cut(typed, "/")
	if !strings.Contains(typed, "/") {
		room = ""
	}
	list, err := c.Fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: room, Stale: true, Limit: 1000})
	if err != nil {
		return nil
	}
	for _, g := range list.GetAgents() {
		names = append(names, g.GetName())
	}
	return names
}

// TaskIDs completes the numbers of the newest tasks, with their titles.
func TaskIDs(ctx context.Context, c *Conn, _ string) (ids []string) {
	list, err := c.Fleet.ListTasks(ctx, &vigilv1.ListTasksRequest{Stale: true, NewestFirst: true, Limit: 100})
	if err != nil {
		return nil
	}
	for _, t := range list.GetTasks() {
		ids = append(ids, fmt.Sprintf("%d\t%s: %s", t.GetId(), strings.ToLower(t.GetState().String()),
			term.OneLine(t.GetTitle())))
	}
	return ids
}

// HostNames completes hosts.
func HostNames(ctx context.Context, c *Conn, _ string) (names []string) {
	hosts, err := c.Hosts(ctx, true)
	if err != nil {
		return nil
	}
	for _, h := range hosts {
		names = append(names, h.GetName())
	}
	return names
}
