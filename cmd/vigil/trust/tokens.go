package trust

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/join"
	"vigil/cmd/vigil/term"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// apiMark begins the number of an API token where both kinds of tokens are named.
const apiMark = "api-"

// For how long tokens hold where nothing is said.
const (
	joinLife = time.Hour
	apiLife  = 30 * 24 * time.Hour
)

// tokenFlags are those of `vigil token create`.
type tokenFlags struct {
	role, name string
	uses       uint32
	ttl        time.Duration
	runners    []string
	rooms      []string
}

func newTokenCreateCmd(a *cli.App) *cobra.Command {
	f := &tokenFlags{}
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token by which a server or a host joins, or a program calls", Args: cobra.NoArgs,
		Long: "Make a token by which a server or a host joins, or, with one of the roles of people, an API token for a\n" +
			"program. It is shown once, and is a secret until it is used up or over.",
		Example: "  vigil token create --role host\n  vigil token create --role host --uses 20 --ttl 8h --runner claude\n" +
			"  vigil token create --role server --name s4\n  vigil token create --role operator --room web --name ci",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, program := code.ParseRole(f.role)
			if err := f.check(program, cmd.Flags().Changed); err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if program {
					return f.createAPI(ctx, a, c)
				}
				return f.createJoin(ctx, a, c)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.role, "role", "",
		"who joins: server or host; or what a program may do: viewer, reader, operator or admin")
	fl.StringVar(&f.name, "name", "",
		"id of the server, or key of the host, that alone may join (default: any that is free); of a program its name")
	fl.Uint32Var(&f.uses, "uses", 1, "how many may join by it")
	fl.DurationVar(&f.ttl, "ttl", 0, "how long it can be used (default 1h, of a program 720h)")
	fl.StringSliceVar(&f.runners, "runner", nil, "runners that the host may offer (default: all)")
	fl.StringSliceVar(&f.rooms, "room", nil,
		"rooms in which the role of a program holds (default: all, and what belongs to none)")
	_ = cmd.MarkFlagRequired("role") // the flag is there
	return cmd
}

// check refuses flags that are about another kind of token, and fills in how long this one holds.
func (f *tokenFlags) check(program bool, said func(string) bool) error {
	of, life := map[string]string{"room": "a token by which somebody joins"}, joinLife
	if program {
		of, life = map[string]string{"uses": "an API token", "runner": "an API token"}, apiLife
	} else if f.role != string(trust.Server) && f.role != string(trust.Host) {
		return cli.Usagef("flag --role: %q: give server or host, or viewer, reader, operator or admin for a program "+
			"(`vigil user add` makes tokens for people)", f.role)
	}
	for flag, what := range of {
		if said(flag) {
			return cli.Usagef("flag --%s: %s has none", flag, what)
		}
	}
	if program && f.name == "" {
		return cli.Usagef("flag --name: say for which program the token is, for instance --name ci")
	}
	if !said("ttl") {
		f.ttl = life
	}
	return nil
}

func (f *tokenFlags) createJoin(ctx context.Context, a *cli.App, c *cli.Conn) error {
	made, err := c.Trust.CreateToken(ctx, &vigilv1.CreateTokenRequest{Role: f.role, Name: f.name, Uses: f.uses,
		Ttl: durationpb.New(f.ttl), Runners: f.runners})
	if err != nil {
		return err
	}
	word, err := tokenFor(ctx, c, made)
	if err != nil {
		return err
	}
	hint, command := "", "agentd join --config /etc/vigil/agentd.yaml --data-dir /var/lib/vigil-agentd"
	if f.role == string(trust.Server) {
		hint = "; put its address for HERE"
		command = "server join --config /etc/vigil/server.yaml --data-dir /var/lib/vigil-server " +
			"--addr HERE:7420 --raft-addr HERE:7421"
	}
	// The token is the last word, for scripts that look for it.
	return a.Done(map[string]any{"token": made.GetToken(), "secret": word},
		"on the machine that joins, within %s (without the unit leave out --config and --data-dir%s):\n  vigil %s %s",
		term.Span(durationpb.New(f.ttl)), hint, command, word)
}

func (f *tokenFlags) createAPI(ctx context.Context, a *cli.App, c *cli.Conn) error {
	made, err := c.Trust.CreateAPIToken(ctx, &vigilv1.CreateAPITokenRequest{Name: f.name,
		Bindings: bindings(f.role, f.rooms), Ttl: durationpb.New(f.ttl)})
	if err != nil {
		return err
	}
	return a.Done(map[string]any{"token": apiName(made.GetToken()), "secret": made.GetBearer()},
		"for %s, as the header \"Authorization: Bearer TOKEN\" over https; "+
			"roots.crt in the folder of your identity is the root to trust:\n  %s",
		term.Span(durationpb.New(f.ttl)), made.GetBearer())
}

func apiName(number uint64) string { return apiMark + strconv.FormatUint(number, 10) }

func newTokenListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens; their secrets are not kept", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list, err := c.Trust.ListTokens(ctx, &vigilv1.ListTokensRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				programs, err := c.Trust.ListAPITokens(ctx, &vigilv1.ListAPITokensRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return printTokens(a, list, programs)
				}
				t := term.NewTable("TOKEN", "ROLE", "NAME", "USES", "ENDS IN", "BY~")
				for _, k := range list.GetTokens() {
					t.Add(fmt.Sprint(k.GetToken()), k.GetRole(), k.GetName(), fmt.Sprint(k.GetUsesLeft()),
						remaining(k.GetEndsIn()), k.GetBy())
				}
				for _, k := range programs.GetTokens() {
					t.Add(apiName(k.GetToken()), may(k.GetBindings()), k.GetName(), "", remaining(k.GetEndsIn()), k.GetBy())
				}
				return a.PrintTable(t, "there are no tokens")
			})
		},
	}
}

// printTokens prints both kinds as one object, in the form that answers over HTTP have.
func printTokens(a *cli.App, list *vigilv1.ListTokensResponse, programs *vigilv1.ListAPITokensResponse) error {
	var joining, calling struct {
		Tokens json.RawMessage `json:"tokens"`
	}
	for m, into := range map[proto.Message]any{list: &joining, programs: &calling} {
		text, err := term.Marshal(m)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return err
		}
	}
	return a.PrintJSON(map[string]any{"tokens": joining.Tokens, "api_tokens": calling.Tokens})
}

// remaining is the time that a token has.
func remaining(d *durationpb.Duration) string {
	if text := term.Span(d); text != "" {
		return text
	}
	return "over"
}

func newTokenRevokeCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN", Short: "End a token; who has joined by it stays", Args: cobra.ExactArgs(1),
		Example: "  vigil token revoke 7\n  vigil token revoke api-3",
		RunE: func(cmd *cobra.Command, args []string) error {
			number, program := strings.CutPrefix(args[0], apiMark)
			id, err := strconv.ParseUint(number, 10, 64)
			if err != nil || strconv.FormatUint(id, 10) != number {
				return cli.Usagef("%q is no number of a token; `vigil token list` shows them", args[0])
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if program {
					_, err = c.Trust.RevokeAPIToken(ctx, &vigilv1.RevokeAPITokenRequest{Token: id})
				} else {
					_, err = c.Trust.RevokeToken(ctx, &vigilv1.RevokeTokenRequest{Token: id})
				}
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"token": args[0]}, "token %s is over", args[0])
			})
		},
	}
}

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
