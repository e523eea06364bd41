package disk

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
)

// newRecoverCmd is `vigil server recover`.
func newRecoverCmd(a *cli.App) *cobra.Command {
	r := recovery{App: a}
	cmd := &cobra.Command{
		Use:   "recover --data-dir DIR",
		Short: "Make one server's data a cluster of one, when a majority is lost for good",
		Long: `Make the data of one server that does not run a cluster of its own, when a majority of the
servers is lost for good and there is no way to bring one of them back. It says what it has
found and what may be lost, asks, and changes nothing before. Hosts find their way to it by
themselves: agentd need not be started again.

If a server can still come back with its data, start that one instead.

With --raft-addr it goes on at another address for the other servers. That is also for a server that
is alone and has moved, and for a cluster whose addresses have all changed.`,
		Example: `  sudo -u vigil vigil server recover --data-dir /var/lib/vigil-server --dry-run
  sudo -u vigil vigil server recover --data-dir /var/lib/vigil-server
  sudo -u vigil vigil server recover --data-dir /var/lib/vigil-server --raft-addr 10.1.0.5:7421`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return r.run() },
	}
	fl := cmd.Flags()
	fl.StringVar(&r.dir, "data-dir", "", "data directory of the server that goes on")
	fl.StringVar(&r.addr, "raft-addr", "", "raft_addr of the server from now on, if it changes")
	fl.BoolVar(&r.yes, "yes", false, "yes, give the other servers up; without it a terminal is asked")
	fl.BoolVar(&r.dry, "dry-run", false, "only say what is found and what may be lost")
	cmd.MarkFlagsMutuallyExclusive("yes", "dry-run")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	return cmd
}

// recovery is one run of the command.
type recovery struct {
	*cli.App
	dir, addr string
	yes, dry  bool
}

func (r *recovery) run() error {
	if err := ownData(r.dir, "recover"); err != nil {
		return err
	}
	if host, port, err := net.SplitHostPort(r.addr); r.addr != "" && (err != nil || host == "" || port == "") {
		return cli.Usagef("--raft-addr %q is not HOST:PORT", r.addr)
	}
	plan, err := cluster.Recover(r.dir, cluster.Recovering{})
	if err != nil {
		return r.explained(err)
	}
	if r.addr == "" {
		r.addr = plan.RaftAddr
	}
	if len(plan.Lost) == 0 && r.addr == plan.RaftAddr {
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("%s: server %s is the only member of cluster %s, at %s: "+
			"there is nobody to give up, just start it, or name its new address with --raft-addr",
			r.dir, plan.Server, plan.Was, plan.RaftAddr))
	}
	if !r.JSON {
		if err := r.show(plan); err != nil {
			return err
		}
	}
	switch {
	case r.dry && r.JSON:
		return r.PrintJSON(r.object(plan, false))
	case r.dry:
		return r.Printf("\nNothing was changed.\n")
	case r.yes:
	case !r.Attended || r.JSON:
		what := LostNames(plan) + " is given up for good"
		if len(plan.Lost) == 0 {
			what = fmt.Sprintf("server %s moves to %s", plan.Server, r.addr)
		}
		return cli.Usagef("%s and there is no terminal to ask on: nothing was changed; "+
			"say so with --yes, look with --dry-run", what)
	default:
		question := fmt.Sprintf("\nIs %s lost for good? Type the name of the server that goes on, %s: ",
			LostNames(plan), plan.Server)
		if len(plan.Lost) == 0 {
			question = fmt.Sprintf("\nType the name of the server that moves, %s: ", plan.Server)
		}
		if err := r.Confirm(question, plan.Server); err != nil {
			return err
		}
	}
	done, err := cluster.Recover(r.dir, cluster.Recovering{Do: true, RaftAddr: r.addr})
	if err != nil {
		return r.explained(err)
	}
	if r.JSON {
		return r.PrintJSON(r.object(done, true))
	}
	return r.next(done)
}

// explained gives the errors of the data their exit code and what to do.
func (r *recovery) explained(err error) error {
	switch {
	case errors.Is(err, cluster.ErrNothingToRecover):
		return cli.Usagef("%w: give the data directory of a server with --data-dir; "+
			"its configuration names it as data_dir", err)
	case errors.Is(err, logstore.ErrInUse):
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("recover %s: %w", r.dir, err))
	}
	return ServerError(fmt.Errorf("recover %s: %w", r.dir, err))
}

// show says what was found and what follows from it.
func (r *recovery) show(plan *cluster.Recovery) error {
	st := plan.State
	counts := st.Counts()
	err := r.Pairs(
		"server", fmt.Sprintf("%s, at %s for other servers", plan.Server, r.addr),
		"given up", lostAddrs(plan),
		"cluster", fmt.Sprintf("%s, which becomes %s", plan.Was, plan.Cluster),
		"last entry", fmt.Sprintf("term %d, index %d", plan.Term, plan.Index),
		"last event", lastEvent(plan),
		"clock", fmt.Sprintf("%s, epoch %d", term.Short(st.Clock().Sub(0)), st.Epoch()),
		"rooms", fmt.Sprint(counts.Rooms),
		"agents", fmt.Sprintf("%d, %d live", counts.Agents, counts.Live),
		"hosts", fmt.Sprint(counts.Hosts),
		"tasks", fmt.Sprintf("%d open, %d in all", st.OpenTasks(), sum(counts.Tasks[:])),
	)
	if err != nil {
		return err
	}
	lost := LostNames(plan)
	if lost == "" {
		return r.Printf("\nAgents may freeze for up to their TTL; nothing is started meanwhile.\n")
	}
	return r.Printf(`
What follows:
- What only %[1]s had is lost, also what was acknowledged.
- The last entries that are here may be ones that nobody was told are done. They count now.
- Agents may freeze for up to their TTL; nothing is started meanwhile. What this server
  does not know of then ends as superseded.
- The old data of %[1]s must never be used again: empty those data directories first.
- If the data of another server is left, look at that with --dry-run too. Recover the one whose
  last entry has the greater term, or the same term and the greater index.
`, lost)
}

// next says what is to be done now.
func (r *recovery) next(done *cluster.Recovery) error {
	how := "with an empty directory, by a token:\n   vigil token create --role server\n   vigil server join TOKEN"
	if done.State.ClusterUUID() == "" {
		api := "ADDRESS"
		for _, s := range done.State.Servers() {
			if s.ID == done.Server && s.APIAddr != "" {
				api = s.APIAddr
			}
		}
		how = "with an empty directory, and this in its configuration:\n   join: [" + api + "]"
	}
	return r.Printf(`
Server %s is the only member of cluster %s now.
1. Start it with the configuration that it had, and raft_addr: %s there: vigil server --config FILE
2. Have each server that takes the place of a lost one join %s
`, done.Server, done.Cluster, done.RaftAddr, how)
}

func (r *recovery) object(plan *cluster.Recovery, done bool) map[string]any {
	counts := plan.State.Counts()
	var lost []map[string]string
	for _, p := range plan.Lost {
		lost = append(lost, map[string]string{"id": p.ID, "raft_addr": p.RaftAddr})
	}
	return map[string]any{"server": plan.Server, "raft_addr": plan.RaftAddr, "lost": lost, "was": plan.Was,
		"cluster": plan.Cluster,
		"term":    plan.Term, "index": plan.Index, "epoch": plan.State.Epoch(),
		"clock_seconds": float64(plan.State.Clock()) / 1e9,
		"rooms":         counts.Rooms, "agents": counts.Agents, "agents_live": counts.Live, "hosts": counts.Hosts,
		"tasks_open": plan.State.OpenTasks(), "tasks": sum(counts.Tasks[:]), "done": done}
}

// lastEvent says what happened last; "" when nothing has.
func lastEvent(plan *cluster.Recovery) string {
	for e := range plan.State.Events(plan.State.LastEvent() - 1) {
		return e.Kind + ", " + e.Wall.Text()
	}
	return ""
}

// LostNames names the servers that a recovery gives up.
func LostNames(plan *cluster.Recovery) string {
	names := make([]string, len(plan.Lost))
	for i, p := range plan.Lost {
		names[i] = p.ID
	}
	return strings.Join(names, " and ")
}

func lostAddrs(plan *cluster.Recovery) string {
	if len(plan.Lost) == 0 {
		return "nobody"
	}
	addrs := make([]string, len(plan.Lost))
	for i, p := range plan.Lost {
		addrs[i] = p.ID + " at " + p.RaftAddr
	}
	return strings.Join(addrs, ", ")
}

func sum(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}
