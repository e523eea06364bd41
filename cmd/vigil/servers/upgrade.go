package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// step is one machine that gets the new program.
type step struct {
	Kind    string `json:"kind"` // server or host
	Name    string `json:"name"`
	Role    string `json:"role"`
	Version string `json:"version"`
	Do      string `json:"do"`
}

// upgrade is what is safe, in which order.
type upgrade struct {
	To    string   `json:"to"`
	Stop  []string `json:"stop"` // why nothing should be restarted now, with remedies; empty: it may begin
	Steps []step   `json:"steps"`
	Done  int      `json:"done"` // machines that run it already
}

const (
	doServer = "install it, then: systemctl restart vigil-server; go on when `vigil server list` shows it alive"
	doLeader = "vigil server transfer, install it, then: systemctl restart vigil-server"
	doHost   = "install it, then: systemctl restart vigil-agentd; its agents go on"
)

// planUpgrade is a function of what the cluster says. Standbys come first, then the other servers, the leader last
// of them: so each change of leaders but one is saved, and what only the new version can read is written when all
// servers run it. Hosts follow, since servers read what older hosts say, not the other way round.
func planUpgrade(to string, servers []*vigilv1.Server, hosts []*vigilv1.Host, warnings []string) upgrade {
	u := upgrade{To: to, Stop: []string{}, Steps: []step{}}
	voters, leads := 0, false
	rank := map[int][]step{}
	for _, s := range servers {
		ok := (s.GetHealth() == "alive" || s.GetLeader()) && !s.GetDiverged()
		role, at, do := "voter", 1, doServer
		switch {
		case s.GetLeader():
			role, at, do, leads = "leader", 2, doLeader, true
		case !s.GetVoter():
			role, at = "standby", 0
		}
		if s.GetVoter() {
			voters++
		}
		switch {
		case s.GetDiverged():
			u.Stop = append(u.Stop, fmt.Sprintf("server %s differs from the majority: rebuild it first", s.GetId()))
		case !ok:
			u.Stop = append(u.Stop, fmt.Sprintf("server %s is %s: start it, or replace it (vigil server replace), "+
				"before another one stops", s.GetId(), orUnknown(s.GetHealth())))
		}
		if s.GetVersion() == to {
			u.Done++
			continue
		}
		rank[at] = append(rank[at], step{"server", s.GetId(), role, s.GetVersion(), do})
	}
	if !leads {
		u.Stop = append(u.Stop, "no leader is known: wait for one, or see `vigil status`")
	}
	if voters > 0 && voters < 3 {
		u.Stop = append(u.Stop, fmt.Sprintf("with %d votes nothing can be written while a voter restarts: "+
			"add servers first, or accept that pause", voters))
	}
	for at := range 3 {
		u.Steps = append(u.Steps, rank[at]...)
	}
	for _, h := range hosts {
		if h.GetVersion() == to {
			u.Done++
			continue
		}
		u.Steps = append(u.Steps, step{"host", h.GetName(), h.GetState(), h.GetVersion(), doHost})
	}
	for _, w := range warnings {
		if strings.Contains(w, "log entries behind") {
			u.Stop = append(u.Stop, w+": wait until it has caught up")
		}
	}
	return u
}

func orUnknown(health string) string {
	if health == "" {
		return "not heard"
	}
	return health
}

// newUpgradeCmd is `vigil upgrade`.
func newUpgradeCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("upgrade", "Bring a new version onto servers and hosts", newUpgradePlanCmd(a))
}

func newUpgradePlanCmd(a *cli.App) *cobra.Command {
	to := cli.Version()
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say what is safe in which order, from the versions that run now",
		Long: `Say which machines get a version, in which order, and why nothing should be restarted now.

Servers come first, the leader last of them, then hosts. What only the new version can read is written
when all servers run it; until then each can go back. The exit code is 1 when it is not safe to begin.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				st, err := c.Cluster.Status(ctx, &vigilv1.StatusRequest{})
				if err != nil {
					return err
				}
				hosts, err := allHosts(ctx, c)
				if err != nil {
					return err
				}
				u := planUpgrade(to, st.GetServers(), hosts, st.GetWarnings())
				if err := printUpgrade(a, &u); err != nil {
					return err
				}
				if len(u.Stop) > 0 {
					return cli.ExitWith(cli.ExitFailed, errors.New("it is not safe to begin: "+strings.Join(u.Stop, "; ")))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", to, "the version that all are to run")
	return cmd
}

// allHosts lists the hosts, page by page.
func allHosts(ctx context.Context, c *cli.Conn) (all []*vigilv1.Host, err error) {
	for after := uint32(0); ; {
		page, err := c.Fleet.ListHosts(ctx, &vigilv1.ListHostsRequest{After: after})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetHosts()...)
		if after = page.GetNext(); !page.GetMore() {
			return all, nil
		}
	}
}

func printUpgrade(a *cli.App, u *upgrade) error {
	if a.JSON {
		return a.PrintJSON(u)
	}
	if len(u.Steps) == 0 {
		return a.Printf("all %d servers and hosts run %s\n", u.Done, term.OneLine(u.To))
	}
	t := term.NewTable("STEP", "WHAT", "NAME", "ROLE", "NOW", "DO~")
	for i, s := range u.Steps {
		t.Add(fmt.Sprint(i+1), s.Kind, s.Name, s.Role, s.Version, s.Do)
	}
	if err := a.Printf("to %s, one machine after the other; %d run it already\n\n", term.OneLine(u.To), u.Done); err != nil {
		return err
	}
	return a.PrintTable(t, "")
}
