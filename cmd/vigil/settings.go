package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func newSettingsCmd(a *app) *cobra.Command {
	return newGroup("settings", "Settings that all servers share", newSettingsShowCmd(a), newSettingsSetCmd(a))
}

func newSettingsShowCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "show [NAME]...",
		Short:             "Show settings with their defaults and what they mean",
		ValidArgsFunction: a.every(settingNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd, func(ctx context.Context, c *conn) error {
				s, err := c.cluster.GetSettings(ctx, &vigilv1.GetSettingsRequest{Stale: a.stale})
				if err != nil {
					return err
				}
				for _, name := range args {
					if _, ok := s.GetValues()[name]; !ok {
						return usagef("there is no setting %q: see `vigil settings show`", name)
					}
				}
				if len(args) > 0 {
					maps.DeleteFunc(s.Values, func(k, _ string) bool { return !slices.Contains(args, k) })
				}
				return printSettings(a, s)
			})
		},
	}
}

func printSettings(a *app, s *vigilv1.Settings) error {
	if a.json {
		return a.printJSON(s)
	}
	t := newTable("SETTING", "VALUE", "DEFAULT", "MEANING~")
	for _, name := range slices.Sorted(maps.Keys(s.GetValues())) {
		t.add(name, tidy(s.GetValues()[name]), tidy(s.GetDefaults()[name]), tidy(s.GetHelp()[name]))
	}
	return a.printTable(t, "There are no settings.")
}

func newSettingsSetCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "set NAME=VALUE...",
		Short:   "Change settings; all of them or none",
		Example: "  vigil settings set ttl=90s kill_limit=5",
		Args:    cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			names, directive := a.complete(cmd, typed, settingNames)
			for i := range names {
				names[i] += "="
			}
			return names, directive | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			values := map[string]string{}
			for _, arg := range args {
				name, value, ok := strings.Cut(arg, "=")
				if !ok || name == "" {
					return usagef("%q is not of the form NAME=VALUE", arg)
				}
				if _, twice := values[name]; twice {
					return usagef("setting %q is given twice: remove one", name)
				}
				values[name] = value
			}
			return a.ask(cmd, func(ctx context.Context, c *conn) error {
				s, err := c.cluster.PutSettings(ctx, &vigilv1.PutSettingsRequest{Values: values, By: a.me()})
				if err != nil {
					return perhapsSet(err)
				}
				maps.DeleteFunc(s.Values, func(k, _ string) bool { _, set := values[k]; return !set })
				return printSettings(a, s)
			})
		},
	}
}

// perhapsSet says what to do when nobody knows whether the settings were changed:
// the client does not repeat the change, since it could undo somebody else's.
func perhapsSet(err error) error {
	switch {
	case errors.Is(err, client.ErrUnknownOutcome), errors.Is(err, client.ErrTimeout), errors.Is(err, client.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the settings may have been changed or not; see `vigil settings show`, and set them again if need be: %w", err)
	}
	return err
}

func settingNames(ctx context.Context, c *conn, _ string) []string {
	s, err := c.cluster.GetSettings(ctx, &vigilv1.GetSettingsRequest{Stale: true})
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.GetValues()))
}
