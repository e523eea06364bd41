package trust

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// allIdentities reads every page of the names that have certificates.
func allIdentities(ctx context.Context, a *cli.App, c *cli.Conn) (all []*vigilv1.Identity, err error) {
	for after := uint64(0); ; {
		page, err := c.Trust.ListIdentities(ctx, &vigilv1.ListIdentitiesRequest{Stale: a.Stale, After: after, Limit: 1000})
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
		Use: "revoke KIND NAME", Short: "Make every certificate of a server, host or user void, at once",
		Args:    cobra.ExactArgs(2),
		Example: "  vigil identity revoke host 0f3a55c09a7be2d16c08b1f7dd21e4aa",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := c.Trust.Revoke(ctx, &vigilv1.RevokeRequest{Kind: args[0], Name: args[1]}); err != nil {
					return err
				}
				return a.Done(map[string]any{"kind": args[0], "name": args[1]},
					"the certificates of %s/%s are void; it joins again by a new token", args[0], args[1])
			})
		},
	}
}

// holder names who has a certificate: the name that other commands take, and the one that people know.
func holder(name, host string) string {
	if host == "" {
		return name
	}
	return name + " (" + host + ")"
}
