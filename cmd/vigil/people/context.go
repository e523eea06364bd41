package people

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
)

func newContextCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("context", "Clusters by name: which one the other commands ask",
		newContextListCmd(a), newContextShowCmd(a), newContextUseCmd(a), newContextSetCmd(a), newContextRemoveCmd(a))
	group.Long = `A context is a name for the servers of a cluster. The selected one is asked by all
commands, unless --addr, --context, VIGIL_ADDR or VIGIL_CONTEXT says otherwise, in this
order. vigil dev selects a context of its own while it runs.

They are kept in $XDG_CONFIG_HOME/vigil/contexts.yaml or ~/.config/vigil/contexts.yaml.
Servers and agentd do not look there.`
	return group
}

// contextView is a context as it is printed.
type contextView struct {
	Name     string   `json:"name"`
	Servers  []string `json:"servers"`
	Selected bool     `json:"selected"`
	Demo     string   `json:"demo,omitempty"`
}

func newContextListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the contexts",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := a.Contexts()
			if err != nil {
				return err
			}
			list := []contextView{}
			t := term.NewTable("", "NAME", "SERVERS~")
			for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
				one := all.Contexts[name]
				list = append(list, contextView{name, one.Servers, name == all.Selected, one.Demo})
				mark := ""
				if name == all.Selected {
					mark = "*"
				}
				t.Add(mark, name, strings.Join(one.Servers, ", "))
			}
			if a.JSON {
				return a.PrintJSON(list)
			}
			return a.PrintTable(t, "There are no contexts: `vigil context set NAME HOST:PORT` makes one.")
		},
	}
}

func newContextShowCmd(a *cli.App) *cobra.Command {
	var servers, identity bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show which servers are asked, who asks, and what has chosen them",
		Example: "  vigil context show\n  me=$(vigil context show --identity)\n" +
			"  curl --cacert $me/roots.crt --cert $me/leaf.crt --key $me/leaf.key \\\n" +
			"    \"https://$(vigil context show --servers | cut -d, -f1)/v1/status\"",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.Chosen()
			switch {
			case err != nil:
				return err
			case a.JSON:
				view := map[string]any{"servers": c.Servers, "from": c.From}
				if c.Identity != "" {
					view["identity"] = c.Identity
				}
				return a.PrintJSON(view)
			case servers:
				return a.Printf("%s\n", term.OneLine(strings.Join(c.Servers, ",")))
			case identity && c.Identity == "":
				return cli.ExitWith(cli.ExitNotFound, errors.New("nobody is logged in there: `vigil login TOKEN` does that"))
			case identity:
				return a.Printf("%s\n", c.Identity)
			}
			return a.Pairs("servers", strings.Join(c.Servers, ", "), "identity", c.Identity, "from", c.From)
		},
	}
	cmd.Flags().BoolVar(&servers, "servers", false, "print nothing but the addresses, with commas between them")
	cmd.Flags().BoolVar(&identity, "identity", false, "print nothing but the folder with the certificates of who asks")
	cmd.MarkFlagsMutuallyExclusive("servers", "identity")
	return cmd
}

func newContextUseCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME",
		Short:             "Select the context that commands ask from now on",
		Example:           "  vigil context use dev",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.FirstContext,
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			err := a.ChangeContexts(func(all *cli.Contexts) error {
				if err := all.Need(name); err != nil {
					return err
				}
				all.Selected = name
				return nil
			})
			if err != nil {
				return err
			}
			return a.Done(map[string]any{"selected": name}, "context %s is selected%s", name, overruled(a))
		},
	}
}

// overruled warns that the environment wins over what was selected; "" when it does not.
func overruled(a *cli.App) string {
	for _, name := range [...]string{"VIGIL_ADDR", "VIGIL_CONTEXT"} {
		if a.Getenv(name) != "" {
			return "; " + name + " is set and wins over it in this terminal"
		}
	}
	return ""
}

func newContextSetCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME HOST:PORT...",
		Short: "Make a context or change its servers; the first one is selected too",
		Long: `Make a context, or change the servers of one that is there: your identity in it stays. The first one
is selected too.`,
		Example:           "  vigil context set prod 10.0.0.1:7420 10.0.0.2:7420 10.0.0.3:7420",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.FirstContext,
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if err := cli.CheckContextName(name); err != nil {
				return err
			}
			addrs, err := cli.CleanAddresses(strings.Split(strings.Join(args[1:], ","), ","))
			if err != nil {
				return cli.WrongUsage(err)
			}
			if len(addrs) == 0 {
				return cli.Usagef("name at least one server as host:port, for instance %s", cli.DefaultAddr)
			}
			selected, known := false, false
			err = a.ChangeContexts(func(all *cli.Contexts) error {
				one := all.Contexts[name]
				one.Servers = addrs // who one is there stays: its folder may hold the only way into that cluster
				all.Contexts[name] = one
				known = one.Identity != ""
				if all.Selected == "" {
					all.Selected = name
				}
				selected = all.Selected == name
				return nil
			})
			if err != nil {
				return err
			}
			how := "is selected" + overruled(a)
			if !selected {
				how = "is kept; `vigil context use " + name + "` selects it"
			}
			if known {
				how += "; your identity there stays"
			}
			return a.Done(map[string]any{"name": name, "servers": addrs, "selected": selected},
				"context %s (%s) %s", name, strings.Join(addrs, ", "), how)
		},
	}
}

func newContextRemoveCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME",
		Short:             "Forget a context; its cluster goes on",
		Example:           "  vigil context remove old",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.FirstContext,
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			err := a.ChangeContexts(func(all *cli.Contexts) error {
				if err := all.Need(name); err != nil {
					return err
				}
				all.Remove(name)
				return nil
			})
			if err != nil {
				return err
			}
			return a.Done(map[string]any{"removed": name}, "context %s is forgotten", name)
		},
	}
}
