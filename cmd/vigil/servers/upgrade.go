package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm/core"
	"vigil/fsm/noun"
	"vigil/rpc/form"
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
	doServer = "vigil upgrade run %s -- COMMAND, which installs it and restarts vigil-server"
	doHost   = "vigil upgrade run %s -- COMMAND, which installs it and restarts vigil-agentd; its agents go on"
)

// target is the version that machines get.
type target struct {
	version string
	level   uint32 // the newest feature level that it reads; 0: not known, or of no account
	itself  string // the server that is upgraded now: what is wrong with it does not speak against that; empty: none
	pause   bool   // that nothing can be written meanwhile is accepted
}

// planUpgrade is a function of what the cluster says. Standbys come first, then the other servers, the leader last
// of them: so each change of leaders but one is saved, and what only the new version can read is written when all
// servers run it. Hosts follow, since servers read what older hosts say, not the other way round.
func planUpgrade(to target, servers []*vigilv1.Server, hosts []*vigilv1.Host, warnings []string) upgrade {
	u := upgrade{To: to.version, Stop: []string{}, Steps: []step{}}
	voters, leads := 0, false
	rank := map[int][]step{}
	for _, s := range servers {
		role, at := "voter", 1
		switch {
		case s.GetLeader():
			role, at, leads = "leader", 2, true
		case !s.GetVoter():
			role, at = "standby", 0
		}
		if s.GetVoter() {
			voters++
		}
		u.judgeServer(s, to)
		// Builds of no release all have one name.
		if s.GetVersion() == to.version && (to.level == 0 || s.GetFeatures() == 0 || s.GetFeatures() >= to.level) {
			u.Done++
			continue
		}
		rank[at] = append(rank[at], step{"server", s.GetId(), role, s.GetVersion(), fmt.Sprintf(doServer, s.GetId())})
	}
	if !leads {
		u.Stop = append(u.Stop, "no leader is known: wait for one, or see `vigil status`")
	}
	if voters > 0 && voters < 3 && !to.pause {
		u.Stop = append(u.Stop, fmt.Sprintf("with %s nothing can be written while a voter restarts: "+
			"add servers first, or accept that pause", noun.Plural(voters, "vote")))
	}
	u.judgeLevels(to, servers)
	for at := range 3 {
		u.Steps = append(u.Steps, rank[at]...)
	}
	for _, h := range hosts {
		if h.GetState() == "left" {
			continue
		}
		if h.GetVersion() == to.version {
			u.Done++
			continue
		}
		u.Steps = append(u.Steps, step{"host", h.GetName(), h.GetState(), h.GetVersion(),
			fmt.Sprintf(doHost, h.GetName())})
	}
	for _, w := range warnings {
		if strings.Contains(w, form.Behind) && !strings.HasPrefix(w, "server "+to.itself+" ") {
			u.Stop = append(u.Stop, w+": wait until it has caught up")
		}
	}
	return u
}

// judgeServer says why one server keeps all others from a restart.
func (u *upgrade) judgeServer(s *vigilv1.Server, to target) {
	switch {
	case s.GetId() == to.itself:
	case s.GetDiverged():
		u.Stop = append(u.Stop, fmt.Sprintf("server %s differs from the majority: rebuild it first", s.GetId()))
	case s.GetHealth() != "alive" && !s.GetLeader():
		u.Stop = append(u.Stop, fmt.Sprintf("server %s is %s: start it, or replace it (vigil server replace), "+
			"before another one stops", s.GetId(), orUnknown(s.GetHealth())))
	}
}

// judgeLevels says whether the version reads what servers write, and they what it writes: versions may be one
// feature level apart.
func (u *upgrade) judgeLevels(to target, servers []*vigilv1.Server) {
	least, who := uint32(0), ""
	for _, s := range servers {
		if n := s.GetFeatures(); n != 0 && (least == 0 || n < least) {
			least, who = n, s.GetId()
		}
	}
	switch {
	case to.level == 0 || least == 0:
	case to.level > least+1:
		u.Stop = append(u.Stop, fmt.Sprintf("server %s reads feature level %d and %s reads %d: bring all servers to a "+
			"version that reads %d first", who, least, to.version, to.level, least+1))
	case to.level < least:
		u.Stop = append(u.Stop, fmt.Sprintf("all servers read feature level %d and %s reads %d only: it would end with "+
			"exit code 78, so there is no way back", least, to.version, to.level))
	}
}

func orUnknown(health string) string {
	if health == "" {
		return "not heard"
	}
	return health
}

// newUpgradeCmd is `vigil upgrade`.
func newUpgradeCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("upgrade", "Bring a new version onto servers and hosts", newUpgradePlanCmd(a), newUpgradeRunCmd(a))
}

func newUpgradePlanCmd(a *cli.App) *cobra.Command {
	version := cli.Version()
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say what is safe in which order, from the versions that run now",
		Long: `Say which machines get a version, in which order, and why nothing should be restarted now.

Servers come first, the leader last of them, then hosts. What only the new version can read is written
when all servers run it; until then each can go back. The exit code is 1 when it is not safe to begin:
a server is away or behind, votes are missing, or versions are more than one feature level apart.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				u, err := askUpgrade(ctx, c, newTarget(version))
				if err != nil {
					return err
				}
				if err := printUpgrade(a, &u); err != nil {
					return err
				}
				return u.unsafe()
			})
		},
	}
	cmd.Flags().StringVar(&version, "to", version, "the version that all are to run")
	return cmd
}

// newTarget knows the feature level of this program's own version only.
func newTarget(version string) target {
	to := target{version: version}
	if version == cli.Version() {
		to.level = core.Newest
	}
	return to
}

// askUpgrade plans from what the cluster says now.
func askUpgrade(ctx context.Context, c *cli.Conn, to target) (u upgrade, err error) {
	st, err := c.Cluster.Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return u, err
	}
	hosts, err := c.Hosts(ctx, false)
	if err != nil {
		return u, err
	}
	return planUpgrade(to, st.GetServers(), hosts, st.GetWarnings()), nil
}

// unsafe is why nothing should be restarted now; nil: it may begin.
func (u *upgrade) unsafe() error {
	if len(u.Stop) == 0 {
		return nil
	}
	return cli.ExitWith(cli.ExitFailed, errors.New("it is not safe to begin: "+strings.Join(u.Stop, "; ")))
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
	if err := a.Printf("to %s, one machine after the other; %d run it already\n\n",
		term.OneLine(u.To), u.Done); err != nil {
		return err
	}
	return a.PrintTable(t, "")
}
