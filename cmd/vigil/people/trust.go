package people

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/join"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// trustCommands are the commands about who may speak to the cluster.
func trustCommands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		cli.NewGroup("token", "Tokens by which servers and hosts join, and programs call", newTokenCreateCmd(a), newTokenListCmd(a), newTokenRevokeCmd(a)),
		cli.NewGroup("user", "People and what they may do", newUserAddCmd(a), newUserListCmd(a), newUserRemoveCmd(a)),
		cli.NewGroup("identity", "Who has certificates of the cluster", newIdentityListCmd(a), newIdentityRevokeCmd(a)),
		newGossipCmd(a),
		newRootCmd(a),
		cli.NewGroup("tls", "Certificates of the cluster", newTLSShowCmd(a)),
		newLoginCmd(a),
		newLogoutCmd(a),
	}
}

func trustOf(c *cli.Conn) vigilv1.TrustClient { return vigilv1.NewTrustClient(c) }

// tokenFor writes a token that was made as one word: with all servers and the pin of the root.
func tokenFor(ctx context.Context, c *cli.Conn, made *vigilv1.CreateTokenResponse) (string, error) {
	list, err := c.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	if err != nil {
		return "", err
	}
	var addrs []string
	for _, s := range list.GetServers() {
		if s.GetApiAddr() != "" {
			addrs = append(addrs, s.GetApiAddr())
		}
	}
	t, err := join.Made(made, addrs)
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// bindings reads --role and --room: the role holds in these rooms, or in all.
func bindings(role string, rooms []string) (out []*vigilv1.Binding) {
	if len(rooms) == 0 {
		rooms = []string{"*"}
	}
	for _, room := range rooms {
		out = append(out, &vigilv1.Binding{Role: role, Room: room})
	}
	return out
}

func newUserAddCmd(a *cli.App) *cobra.Command {
	var role string
	var rooms []string
	ttl := time.Hour
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Let a person in, or change what one may do", Args: cobra.ExactArgs(1),
		Long: "Let a person in, and print a token for one login. For somebody who is there already the role is replaced.\n\n" +
			"viewer sees names and states, reader also mail, results, output and screens; operator also changes\n" +
			"tasks, mail and what runs; admin also changes settings, servers, tokens and users.",
		Example: "  vigil user add anna --role operator --room web\n  vigil user add ben --role viewer",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := trustOf(c).PutUser(ctx, &vigilv1.PutUserRequest{User: args[0], Bindings: bindings(role, rooms)}); err != nil {
					return err
				}
				made, err := trustOf(c).CreateToken(ctx, &vigilv1.CreateTokenRequest{Role: "user", Name: args[0], Ttl: durationpb.New(ttl)})
				if err != nil {
					return err
				}
				word, err := tokenFor(ctx, c, made)
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"user": args[0], "token": made.GetToken(), "secret": word},
					"%s may log in within %s:\n  vigil login %s --user %s", args[0], term.Span(durationpb.New(ttl)), word, args[0])
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&role, "role", "", "viewer, reader, operator or admin")
	fl.StringSliceVar(&rooms, "room", nil, "rooms in which the role holds (default: all, and what belongs to none)")
	fl.DurationVar(&ttl, "ttl", ttl, "how long the token can be used")
	_ = cmd.MarkFlagRequired("role") // the flag is there
	return cmd
}

func newUserListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List people and what they may do", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				all := &vigilv1.ListUsersResponse{}
				for after := ""; ; after = all.GetNext() {
					page, err := trustOf(c).ListUsers(ctx, &vigilv1.ListUsersRequest{Stale: a.Stale, After: after, Limit: 1000})
					if err != nil {
						return err
					}
					all.Users, all.Next = append(all.Users, page.GetUsers()...), page.GetNext()
					if !page.GetMore() {
						break
					}
				}
				if a.JSON {
					return a.PrintJSON(&vigilv1.ListUsersResponse{Users: all.GetUsers()})
				}
				t := term.NewTable("USER", "MAY", "BY~")
				for _, u := range all.GetUsers() {
					t.Add(u.GetUser(), may(u.GetBindings()), u.GetBy())
				}
				return a.PrintTable(t, "there are no users")
			})
		},
	}
}

func newUserRemoveCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Shut a person out, at once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := trustOf(c).RemoveUser(ctx, &vigilv1.RemoveUserRequest{User: args[0]}); err != nil {
					return err
				}
				return a.Done(map[string]any{"user": args[0]}, "%s is shut out", args[0])
			})
		},
	}
}

// allIdentities reads every page of the names that have certificates.
func allIdentities(ctx context.Context, a *cli.App, c *cli.Conn) (all []*vigilv1.Identity, err error) {
	for after := uint64(0); ; {
		page, err := trustOf(c).ListIdentities(ctx, &vigilv1.ListIdentitiesRequest{Stale: a.Stale, After: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		all, after = append(all, page.GetIdentities()...), page.GetNext()
		if !page.GetMore() {
			return all, nil
		}
	}
}

func newIdentityListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List servers, hosts and people with certificates", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				all, err := allIdentities(ctx, a, c)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(&vigilv1.ListIdentitiesResponse{Identities: all})
				}
				t := term.NewTable("KIND", "NAME", "GENERATION", "CERTIFICATE'S AGE")
				for _, i := range all {
					t.Add(i.GetKind(), holder(i.GetName(), i.GetHost()), fmt.Sprint(i.GetGeneration()), term.Span(i.GetAge()))
				}
				return a.PrintTable(t, "nobody has an identity")
			})
		},
	}
}

func newIdentityRevokeCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "revoke KIND NAME", Short: "Make every certificate of a server, host or user void, at once", Args: cobra.ExactArgs(2),
		Example: "  vigil identity revoke host 0f3a55c09a7be2d16c08b1f7dd21e4aa",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := trustOf(c).Revoke(ctx, &vigilv1.RevokeRequest{Kind: args[0], Name: args[1]}); err != nil {
					return err
				}
				return a.Done(map[string]any{"kind": args[0], "name": args[1]}, "the certificates of %s/%s are void; it joins again by a new token", args[0], args[1])
			})
		},
	}
}

func newLoginCmd(a *cli.App) *cobra.Command {
	var name, user string
	cmd := &cobra.Command{
		Use: "login TOKEN", Short: "Be somebody in a cluster: use the token that an admin has made for you", Args: cobra.ExactArgs(1),
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
			return a.Done(map[string]any{"user": user, "context": name}, "you are %s in the context %s, which is selected", user, name)
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
