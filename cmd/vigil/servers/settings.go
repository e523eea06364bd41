package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func newSettingsCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("settings", "Settings that all servers share", newSettingsShowCmd(a), newSettingsSetCmd(a))
}

func newSettingsShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "show [NAME]...",
		Short:             "Show settings with their defaults and what they mean",
		ValidArgsFunction: a.Every(settingNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				s, err := c.Cluster.GetSettings(ctx, &vigilv1.GetSettingsRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				for _, name := range args {
					if _, ok := s.GetValues()[name]; !ok {
						return cli.Usagef("there is no setting %q: see `vigil settings show`", name)
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

func printSettings(a *cli.App, s *vigilv1.Settings) error {
	if a.JSON {
		return a.PrintJSON(s)
	}
	t := term.NewTable("SETTING", "VALUE", "DEFAULT", "MEANING~")
	for _, name := range slices.Sorted(maps.Keys(s.GetValues())) {
		t.Add(name, term.Tidy(s.GetValues()[name]), term.Tidy(s.GetDefaults()[name]), term.Tidy(s.GetHelp()[name]))
	}
	return a.PrintTable(t, "There are no settings.")
}

func newSettingsSetCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "set NAME=VALUE...",
		Short:   "Change settings; all of them or none",
		Example: "  vigil settings set ttl=90s kill_limit=5",
		Args:    cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			names, directive := a.Complete(cmd, typed, settingNames)
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
					return cli.Usagef("%q is not of the form NAME=VALUE", arg)
				}
				if _, twice := values[name]; twice {
					return cli.Usagef("setting %q is given twice: remove one", name)
				}
				values[name] = cli.PlainSpan(value)
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				s, err := c.Cluster.PutSettings(ctx, &vigilv1.PutSettingsRequest{Values: values, By: a.Me()})
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
	case errors.Is(err, client.ErrUnknownOutcome), errors.Is(err, client.ErrTimeout),
		errors.Is(err, client.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the settings may have been changed or not; "+
			"see `vigil settings show`, and set them again if need be: %w", err)
	}
	return err
}

func settingNames(ctx context.Context, c *cli.Conn, _ string) []string {
	s, err := c.Cluster.GetSettings(ctx, &vigilv1.GetSettingsRequest{Stale: true})
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.GetValues()))
}
