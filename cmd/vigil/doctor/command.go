package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// oneLimit is how long one server may take to answer, and all of them how long together: a doctor that
// hangs with its patient helps nobody.
const oneLimit = 3 * time.Second

const about = `Look for whatever is wrong, or soon will be, and name the remedy of each. It changes nothing; run it
before and after an upgrade, a move, a repair.

From anywhere it asks the cluster: who leads, which servers and hosts do not hear each other (TCP, and UDP of
gossip), versions, states that differ, hosts without space or protection. On a server or host it also looks at
the machine: configuration, data directory and its permissions, certificate, how long a write takes to be
durable, space, inodes, limits, packets, and how the clock is driven. It finds the files of a package by itself.

The exit code is 1 when something must be mended; notes alone are 0.`

// NewCommand is `vigil doctor`.
func NewCommand(a *cli.App) *cobra.Command {
	var server, host string
	var local bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the cluster and this machine, and name the remedies",
		Long:  about,
		Args:  cobra.NoArgs,
		Example: "  vigil doctor\n  vigil doctor --server-config /etc/vigil/server.yaml\n" +
			"  vigil doctor --agentd-config /etc/vigil/agentd.yaml --local",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := list{}
			machines, closed, err := measureAll(server, host)
			if err != nil {
				return err
			}
			found.judgeClosed(closed)
			for _, m := range machines {
				found = append(found, judgeMachine(m)...)
			}
			if !local {
				found = append(found, judgeCluster(askCluster(cmd, a))...)
			}
			return report(a, found)
		},
	}
	cmd.Flags().StringVar(&server, "server-config", "", "look at this machine for the server that this file configures")
	cmd.Flags().StringVar(&host, "agentd-config", "", "look at this machine for the agentd that this file configures")
	cmd.Flags().BoolVar(&local, "local", false, "only look at this machine, and ask no server")
	for _, name := range []string{"server-config", "agentd-config"} {
		_ = cmd.MarkFlagFilename(name, "yaml", "yml") // the flags are there
	}
	return cmd
}

// report prints the findings, what must be mended first.
func report(a *cli.App, found list) error {
	sorted, mend := list{}, 0
	for _, f := range found {
		if f.Mend {
			sorted = append(sorted, f)
		}
	}
	mend = len(sorted)
	for _, f := range found {
		if !f.Mend {
			sorted = append(sorted, f)
		}
	}
	if a.JSON {
		if err := a.PrintJSON(map[string]any{"findings": sorted, "mend": mend}); err != nil {
			return err
		}
	} else if err := printFindings(a, sorted); err != nil {
		return err
	}
	if mend > 0 {
		return cli.ExitWith(cli.ExitFailed, fmt.Errorf("to be mended: %d, to be known: %d", mend, len(sorted)-mend))
	}
	return nil
}

func printFindings(a *cli.App, found list) error {
	for _, f := range found {
		word := "note"
		if f.Mend {
			word = "MEND"
		}
		// Names, versions and warnings were written by hosts.
		if err := a.Printf("%s  %s: %s. Remedy: %s\n", word, f.About, term.OneLine(f.What),
			term.OneLine(f.Remedy)); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return a.Printf("Nothing wrong was found.\n")
	}
	return nil
}

// askCluster asks the cluster, and then each server by itself.
func askCluster(cmd *cobra.Command, a *cli.App) *Cluster {
	c := &Cluster{Servers: map[string][]*vigilv1.Server{}, Deaf: map[string]error{}}
	c.Err = a.Ask(cmd, func(ctx context.Context, conn *cli.Conn) (err error) {
		if c.Status, err = statusOf(ctx, conn); err != nil {
			return err
		}
		if c.Hosts, err = conn.Hosts(ctx, true); err != nil {
			return err
		}
		c.heed(c.Status)
		for _, s := range c.Status.GetServers() {
			if s.GetApiAddr() == "" {
				continue
			}
			if seen, err := askServer(ctx, conn, s.GetApiAddr()); err != nil {
				c.Deaf[s.GetId()] = err
			} else {
				c.Servers[s.GetId()] = seen.GetServers()
				c.heed(seen)
			}
		}
		return nil
	})
	return c
}

// electionLimit is how long an election may take that nothing hinders: a server that has just been started, or
// the loss of a leader, is nothing to be mended.
const electionLimit = 5 * time.Second

// statusOf asks for the state of the cluster, again and again while nobody leads, until electionLimit.
func statusOf(ctx context.Context, conn *cli.Conn) (st *vigilv1.StatusResponse, err error) {
	again := time.NewTicker(electionLimit / 20)
	defer again.Stop()
	for end := time.Now().Add(electionLimit); ; {
		st, err = conn.Cluster.Status(ctx, &vigilv1.StatusRequest{Stale: true})
		if err != nil || st.GetLeader() != "" || time.Now().After(end) {
			return st, err
		}
		select {
		case <-ctx.Done():
			return st, nil
		case <-again.C:
		}
	}
}

// askServer asks one server, and no other, what it hears of all.
func askServer(ctx context.Context, conn *cli.Conn, addr string) (*vigilv1.StatusResponse, error) {
	k, err := conn.Direct(addr)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	ctx, cancel := context.WithTimeout(ctx, oneLimit)
	defer cancel()
	if err := k.Ready(ctx, oneLimit); err != nil {
		return nil, err
	}
	return vigilv1.NewClusterClient(k).Status(ctx, &vigilv1.StatusRequest{Stale: true})
}
