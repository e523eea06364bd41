package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/rpc/gen/vigilv1"
)

// completeLimit bounds what the shell waits for names.
const completeLimit = 400 * time.Millisecond

// completions is what a shell may offer for the word that is being typed.
type completions func(ctx context.Context, c *conn, typed string) []string

// complete asks the cluster for names; without an answer there are none.
func (a *app) complete(cmd *cobra.Command, typed string, fn completions) ([]string, cobra.ShellCompDirective) {
	c, err := a.dial()
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

// first makes fn the completion of the first argument.
func (a *app) first(fn completions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.complete(cmd, typed, fn)
	}
}

// every makes fn the completion of all arguments and of flags.
func (a *app) every(fn completions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.complete(cmd, typed, fn)
	}
}

func (a *app) completeRoom(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.first(roomNames)(cmd, args, typed)
}

func (a *app) completeAgent(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.first(agentNames)(cmd, args, typed)
}

func (a *app) completeTask(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.first(taskIDs)(cmd, args, typed)
}

func roomNames(ctx context.Context, c *conn, _ string) (names []string) {
	list, err := c.fleet.ListRooms(ctx, &vigilv1.ListRoomsRequest{Stale: true})
	if err != nil {
		return nil
	}
	for _, r := range list.GetRooms() {
		names = append(names, r.GetName())
	}
	return names
}

func roleNames(ctx context.Context, c *conn, _ string) (names []string) {
	list, err := c.fleet.ListRooms(ctx, &vigilv1.ListRoomsRequest{Stale: true})
	if err != nil {
		return nil
	}
	for _, r := range list.GetRooms() {
		for _, role := range r.GetRoles() {
			names = append(names, r.GetName()+"/"+role.GetSpec().GetName())
		}
	}
	return names
}

func agentNames(ctx context.Context, c *conn, typed string) (names []string) {
	room, _, _ := strings.Cut(typed, "/")
	if !strings.Contains(typed, "/") {
		room = ""
	}
	list, err := c.fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: room, Stale: true, Limit: 1000})
	if err != nil {
		return nil
	}
	for _, g := range list.GetAgents() {
		names = append(names, g.GetName())
	}
	return names
}

func taskIDs(ctx context.Context, c *conn, _ string) (ids []string) {
	list, err := c.fleet.ListTasks(ctx, &vigilv1.ListTasksRequest{Stale: true, NewestFirst: true, Limit: 100})
	if err != nil {
		return nil
	}
	for _, t := range list.GetTasks() {
		ids = append(ids, fmt.Sprintf("%d\t%s: %s", t.GetId(), strings.ToLower(t.GetState().String()), oneLine(t.GetTitle())))
	}
	return ids
}

func hostNames(ctx context.Context, c *conn, _ string) (names []string) {
	list, err := c.fleet.ListHosts(ctx, &vigilv1.ListHostsRequest{Stale: true})
	if err != nil {
		return nil
	}
	for _, h := range list.GetHosts() {
		names = append(names, h.GetName())
	}
	return names
}
