package trust

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// gossipLook is how often the wait for a new key looks.
const gossipLook = 200 * time.Millisecond

// newGossipCmd is `vigil gossip`.
func newGossipCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("gossip", "The keys that encrypt gossip", newGossipStatusCmd(a), newGossipRotateCmd(a))
}

func newGossipStatusCmd(a *cli.App) *cobra.Command {
	return newStatusCmd(a, "Show which keys there are and who lacks what, not the keys themselves",
		func(ctx context.Context, c *cli.Conn) (*vigilv1.GossipRing, error) {
			return c.Trust.GetGossip(ctx, &vigilv1.GetGossipRequest{Stale: a.Stale})
		}, printRing)
}

func printRing(a *cli.App, ring *vigilv1.GossipRing) error {
	keys := term.NewTable("KEY", "ID", "USE")
	for _, k := range ring.GetKeys() {
		use := "taken, not used"
		if k.GetUsed() {
			use = "used"
		}
		keys.Add(fmt.Sprint(k.GetNumber()), shortKey(k), use)
	}
	servers := term.NewTable("SERVER", "IT AND ITS HOSTS")
	for _, s := range ring.GetServers() {
		has := "up to date"
		if !s.GetDone() {
			has = lacks(ring)
		}
		servers.Add(s.GetServer(), has)
	}
	return printReport(a, ring, ringText(ring), part{keys, "there is no key yet"},
		part{servers, "no server has announced itself yet"})
}

func shortKey(k *vigilv1.GossipRingKey) string { return k.GetKey()[:min(8, len(k.GetKey()))] }

// ringText says where the replacement of keys stands.
func ringText(ring *vigilv1.GossipRing) string {
	keys := ring.GetKeys()
	if len(keys) == 0 {
		return "There is no key yet: the leader makes one by itself."
	}
	newest, text := keys[len(keys)-1], ""
	switch ring.GetStep() {
	case "spread":
		text = fmt.Sprintf("Key %d comes to every server and host.", newest.GetNumber())
	case "switch":
		text = fmt.Sprintf("Every server and host begins to use key %d; then key %d goes.", newest.GetNumber(),
			keys[0].GetNumber())
	default:
		text = fmt.Sprintf("All use key %d.", newest.GetNumber())
	}
	if why := ring.GetWhy(); why != "" {
		text += " It is replaced next: " + why + "."
	}
	return text
}

// lacks says what a server that is not up to date has not done yet.
func lacks(ring *vigilv1.GossipRing) string {
	keys := ring.GetKeys()
	if len(keys) == 0 {
		return "no key yet"
	}
	newest := keys[len(keys)-1]
	switch ring.GetStep() {
	case "spread":
		return fmt.Sprintf("lack key %d", newest.GetNumber())
	case "switch":
		return fmt.Sprintf("do not all use key %d", newest.GetNumber())
	}
	return "may still take an older key"
}

func newGossipRotateCmd(a *cli.App) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the key of gossip", Args: cobra.NoArgs,
		Long: "Replace the key that encrypts gossip, while everybody is heard. It happens by itself when a host\n" +
			"is forgotten, a server removed, or one of them revoked: whoever has only the old key is shut out.",
		Example: "  vigil gossip rotate --wait",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				was, err := c.Trust.RotateGossip(ctx, &vigilv1.RotateGossipRequest{})
				if err != nil {
					return err
				}
				if !wait {
					return a.Done(map[string]any{"number": was.GetNumber()},
						"the key of gossip is being replaced; `vigil gossip status` shows how far it is")
				}
				ring, err := awaitRing(ctx, a, c, was.GetNumber())
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(ring)
				}
				return a.Printf("%s\n", term.OneLine(ringText(ring)))
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the new key is the only one")
	return cmd
}

// awaitRing waits until a key above that number is the only one, and is not to be replaced itself.
func awaitRing(ctx context.Context, a *cli.App, c *cli.Conn, was uint64) (*vigilv1.GossipRing, error) {
	tick := time.NewTicker(gossipLook)
	defer tick.Stop()
	defer a.ProgressEnd()
	for {
		ring, err := c.Trust.GetGossip(ctx, &vigilv1.GetGossipRequest{})
		if err != nil {
			return nil, err
		}
		keys := ring.GetKeys()
		if ring.GetStep() == "rest" && ring.GetWhy() == "" && keys[len(keys)-1].GetNumber() > was {
			return ring, nil
		}
		var late []string
		for _, s := range ring.GetServers() {
			if !s.GetDone() {
				late = append(late, s.GetServer())
			}
		}
		state := strings.TrimSuffix(ringText(ring), ".")
		if len(late) > 0 {
			state += ", waiting for " + strings.Join(late, ", ")
		}
		a.Progress("%s", term.OneLine(state))
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the key of gossip is still being replaced: %s: %w", state, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
