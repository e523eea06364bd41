package trust

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/join"
	"vigil/rpc/trust"
)

func newLoginCmd(a *cli.App) *cobra.Command {
	var name, user string
	cmd := &cobra.Command{
		Use: "login TOKEN", Short: "Be somebody in a cluster: use the token that an admin has made for you",
		Args:    cobra.ExactArgs(1),
		Example: "  vigil login vigil1.MTAuMC4w... --user anna\n  vigil login - < token   # it is in no list of processes",
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := join.ReadToken(args[0], a.In)
			if err != nil {
				return err
			}
			if user == "" {
				user = a.Me()
			}
			dir, err := a.NewIdentityDir(name, "--name", token.Knows)
			if err != nil {
				return err
			}
			ctx, cancel := a.Bound(cmd.Context())
			defer cancel()
			if err := join.Enter(ctx, token, trust.User, user, nil, dir); err != nil {
				return err
			}
			if err := a.ChangeContexts(func(all *cli.Contexts) error {
				all.Contexts[name], all.Selected = cli.Context{Servers: token.Addrs, Identity: string(dir)}, name
				return nil
			}); err != nil {
				return err
			}
			return a.Done(map[string]any{"user": user, "context": name},
				"you are %s in the context %s, which is selected", user, name)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "your name there (default: that of your account)")
	cmd.Flags().StringVar(&name, "name", "vigil", "name of the context")
	return cmd
}

func newLogoutCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Throw your certificate for the selected context away", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, err := a.Forget()
			if err != nil {
				return err
			}
			return a.Done(map[string]any{"context": name}, "you are nobody in the context %s any more", name)
		},
	}
}
