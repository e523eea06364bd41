package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm/core"
	"vigil/rpc/gen/vigilv1"
)

const (
	upgradeWait  = 10 * time.Minute // for the others before, and for the machine afterwards
	upgradeLook  = time.Second      // between two looks
	upgradeCalm  = 3                // looks one after the other that find nothing wrong
	upgradeReply = 15 * time.Second // bounds one look
	// hostCalm are the looks that must find a host well whose agentd has not registered since the command: until its
	// silence is noticed, told and doubted.
	hostCalm = int((core.SilentFor + 10*time.Second) / upgradeLook)
)

// rolling is the upgrade of one machine.
type rolling struct {
	*cli.App
	c       *cli.Conn
	name    string
	command []string
	to      target
	said    bool // the version of to was given
	wait    time.Duration
	look    time.Duration

	host bool      // an agentd of that name ran before the command, be it beside a server
	seen time.Time // when it was registered last before the command
	calm int       // looks one after the other that have found the host well, and not registered since
}

func newUpgradeRunCmd(a *cli.App) *cobra.Command {
	r := &rolling{App: a, look: upgradeLook}
	cmd := &cobra.Command{
		Use:   "run NAME -- COMMAND [ARGUMENT...]",
		Short: "Upgrade one server or host: wait until it is safe, run the command that installs it, wait until it is back",
		Long: `Upgrade one machine, a server or a host, with a command that installs the new version there and restarts
what runs. It is started as it is given, without a shell, on this machine: another one is reached with ssh.

First it waits until nothing speaks against a restart, as ` + "`vigil upgrade plan`" + ` says it. A server that leads
hands leadership over. Then the command runs, and at the end it waits until the server is alive and has caught up, or
the agentd of the host has registered anew; one that the command did not restart must be heard for 15 s. A machine that
is a server and a host of the same name has to be back as both. So one call after the other upgrades a cluster.

Exit code 1: it was not safe, the command failed, the machine did not come back, or the version that it ran before goes
on and is not that of --to. Where --to is given, any other version is an error. Nothing else was touched then.`,
		Example: `  vigil upgrade run s2 -- dpkg -i vigil_0.3-1_amd64.deb
  vigil upgrade run s3 -- ssh root@s3 dpkg -i vigil_0.3-1_amd64.deb`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return cli.Usagef("give the name of one server or host, then -- and the command that installs the new version")
			}
			return nil
		},
		ValidArgsFunction: a.First(serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.name, r.command, r.said = args[0], args[1:], cmd.Flags().Changed("to")
			r.to.level = newTarget(r.to.version).level
			return a.Follow(cmd, func(ctx context.Context, c *cli.Conn) error {
				r.c = c
				return r.run(ctx)
			})
		},
	}
	cmd.Flags().DurationVar(&r.wait, "wait", upgradeWait, "how long to wait, before and after the command")
	cmd.Flags().StringVar(&r.to.version, "to", cli.Version(), "the version that is to run there at the end")
	cmd.Flags().BoolVar(&r.to.pause, "pause", false,
		"accept that with fewer than three votes nothing can be written meanwhile")
	return cmd
}

func (r *rolling) run(ctx context.Context) error {
	before, server, err := r.find(ctx)
	if err != nil {
		return err
	}
	if server {
		r.to.itself = r.name
	} else {
		r.to.level = 0 // hosts read no log
	}
	if err := r.until(ctx, "until it is safe", 1, r.safe); err != nil {
		return cli.ExitWith(cli.ExitFailed, fmt.Errorf("%s is not touched: %w", r.name, err))
	}
	if err := r.handOver(ctx, server); err != nil {
		return err
	}
	if err := r.noteHost(ctx); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, r.command[0], r.command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.In, r.Err, r.Err // standard output is for what this command says
	if err := cmd.Run(); err != nil {
		return cli.ExitWith(cli.ExitFailed, fmt.Errorf("%s: %w; see that %s runs before you go on (vigil upgrade plan)",
			term.OneLine(strings.Join(r.command, " ")), err, r.name))
	}
	r.to.itself, r.to.level = "", 0 // the level is that of what was to be installed: it says nothing of what has been
	if err := r.until(ctx, "until "+r.name+" is back", upgradeCalm, r.back); err != nil {
		return cli.ExitWith(cli.ExitFailed, err)
	}
	after, _, err := r.find(ctx)
	if err != nil {
		return err
	}
	if err := r.installed(before, after); err != nil {
		return cli.ExitWith(cli.ExitFailed, err)
	}
	return r.Done(map[string]any{"name": r.name, "before": before, "after": after},
		"%s is back with version %s, it was %s; go on with the next one", r.name, term.OneLine(after), term.OneLine(before))
}

// installed refuses a version that is not the one that was to come. Where nobody has said which, that is known only
// of a machine on which nothing has changed.
func (r *rolling) installed(before, after string) error {
	was, is, to := term.OneLine(before), term.OneLine(after), term.OneLine(r.to.version)
	switch {
	case after == r.to.version:
	case after == before:
		return fmt.Errorf("%s is there and runs version %s as before, not %s: see that the command installs the version and "+
			"restarts what runs; --to %s if that was meant", r.name, is, to, is)
	case r.said:
		return fmt.Errorf("%s is back with version %s, not %s; it was %s", r.name, is, to, was)
	}
	return nil
}

// find gives the version that the machine runs, and whether it is a server.
func (r *rolling) find(ctx context.Context) (version string, server bool, err error) {
	list, err := r.c.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	if err != nil {
		return "", false, err
	}
	for _, s := range list.GetServers() {
		if s.GetId() == r.name {
			return s.GetVersion(), true, nil
		}
	}
	h, err := r.findHost(ctx)
	if err == nil && h == nil {
		err = fmt.Errorf("no server or host is called %s: see `vigil server list` and `vigil host list`", r.name)
	}
	return h.GetVersion(), false, err
}

// findHost gives the host of that name; nil: there is none.
func (r *rolling) findHost(ctx context.Context) (*vigilv1.Host, error) {
	hosts, err := r.c.Hosts(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if h.GetName() == r.name {
			return h, nil
		}
	}
	return nil, nil
}

// noteHost looks at the host before the command. Of a server's machine it need not be back if it was away already.
func (r *rolling) noteHost(ctx context.Context) error {
	h, err := r.findHost(ctx)
	if err != nil || h == nil {
		return err
	}
	r.host, r.seen = !away(h), h.GetSeenAt().AsTime()
	return nil
}

// away tells whether nothing of a host is heard.
func away(h *vigilv1.Host) bool {
	return slices.Contains([]string{"lost", "suspect", "left"}, h.GetState())
}

// handOver has another server lead, when this one does.
func (r *rolling) handOver(ctx context.Context, server bool) error {
	if !server {
		return nil
	}
	st, err := r.c.Cluster.Status(ctx, &vigilv1.StatusRequest{})
	if err != nil || st.GetLeader() != r.name {
		return err
	}
	voters := 0
	for _, s := range st.GetServers() {
		if s.GetVoter() {
			voters++
		}
	}
	if voters < 2 { // nobody is there to lead
		return nil
	}
	if _, err := r.c.Cluster.TransferLeadership(ctx, &vigilv1.TransferLeadershipRequest{}); err != nil {
		return fmt.Errorf("%s is not touched: it leads and cannot hand that over: %w", r.name, err)
	}
	return nil
}

// safe is why the machine should not be restarted now; nil: it may.
func (r *rolling) safe(ctx context.Context) error {
	u, err := askUpgrade(ctx, r.c, r.to)
	if err != nil || len(u.Stop) == 0 {
		return err
	}
	return errors.New(strings.Join(u.Stop, "; "))
}

// back is what is missing until the machine is as it was; nil: nothing.
func (r *rolling) back(ctx context.Context) error {
	_, server, err := r.find(ctx)
	if err != nil {
		return err
	}
	if server {
		if err := r.safe(ctx); err != nil || !r.host {
			return err
		}
	}
	h, err := r.findHost(ctx)
	if err != nil {
		return err
	}
	if h == nil {
		return fmt.Errorf("there is no host %s any more", r.name)
	}
	return r.hostBack(h)
}

// hostBack goes by a new registration: a host whose agentd did not start is called ready until its silence is noticed,
// and for longer where the server that heard it was restarted with it. A command that does not restart agentd leaves
// none, so then somebody must hear it all the while.
func (r *rolling) hostBack(h *vigilv1.Host) error {
	anew := !h.GetSeenAt().AsTime().Equal(r.seen)
	heard := slices.ContainsFunc(h.GetViews(), func(v *vigilv1.HostView) bool { return v.GetStream() == "alive" })
	switch {
	case away(h):
		r.calm = 0
		return fmt.Errorf("host %s is %s", r.name, h.GetState())
	case anew:
		return nil
	case !heard:
		r.calm = 0
		return fmt.Errorf("no server hears the agentd of host %s", r.name)
	}
	if r.calm++; r.calm < hostCalm {
		return fmt.Errorf("the agentd of host %s has not registered since the command: it is heard, for %d looks of %d",
			r.name, r.calm, hostCalm)
	}
	return nil
}

// until looks again and again until nothing is wrong, so many times one after the other; the last reason is the error.
func (r *rolling) until(ctx context.Context, what string, times int, wrong func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	defer r.ProgressEnd()
	for calm := 0; ; {
		call, done := context.WithTimeout(limit, upgradeReply)
		err := wrong(call)
		done()
		if err == nil {
			if calm++; calm == times {
				return nil
			}
		} else {
			calm = 0
			r.Progress("waiting %s: %v", what, err)
		}
		select {
		case <-limit.Done():
			if err == nil {
				err = limit.Err()
			}
			return fmt.Errorf("waited %s %s: %w", r.wait, what, err)
		case <-time.After(r.look):
		}
	}
}
