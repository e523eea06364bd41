package trust

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newUserAddCmd(a *cli.App) *cobra.Command {
	var role string
	var rooms []string
	ttl := time.Hour
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Let a person in, or change what one may do", Args: cobra.ExactArgs(1),
		Long: "Let a person in, and print a token for one login. " +
			"For somebody who is there already the role is replaced.\n\n" +
			"viewer sees names and states, reader also mail, results, output and screens; operator also changes\n" +
			"tasks, mail and what runs; admin also changes settings, servers, tokens and users.",
		Example: "  vigil user add anna --role operator --room web\n  vigil user add ben --role viewer",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := c.Trust.PutUser(ctx,
					&vigilv1.PutUserRequest{User: args[0], Bindings: bindings(role, rooms)}); err != nil {
					return err
				}
				made, err := c.Trust.CreateToken(ctx, &vigilv1.CreateTokenRequest{Role: "user", Name: args[0],
					Ttl: durationpb.New(ttl)})
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
					page, err := c.Trust.ListUsers(ctx, &vigilv1.ListUsersRequest{Stale: a.Stale, After: after, Limit: 1000})
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
				if _, err := c.Trust.RemoveUser(ctx, &vigilv1.RemoveUserRequest{User: args[0]}); err != nil {
					return err
				}
				return a.Done(map[string]any{"user": args[0]}, "%s is shut out", args[0])
			})
		},
	}
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

// may says what bindings allow, for people.
func may(list []*vigilv1.Binding) string {
	var words []string
	for _, b := range list {
		words = append(words, b.GetRole()+" in "+strings.Replace(b.GetRoom(), "*", "all rooms", 1))
	}
	return strings.Join(words, ", ")
}
