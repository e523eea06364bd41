package terminal

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
)

// leave is the key that ends an attachment whatever the other side does, as on the page.
const (
	leave     = 0x1d
	leaveName = "Ctrl-]"
)

// NewAttachCommand is `vigil agent attach`: a seat at the terminal of an agent, from wherever one is.
func NewAttachCommand(a *cli.App) *cobra.Command {
	var dataDir string
	var readOnly, take, remote bool
	cmd := &cobra.Command{
		Use:   "attach ROOM/ROLE[.N]",
		Short: "Attach to the terminal of an agent, and type there",
		Long: `Attach this terminal to that of an agent, from wherever you are. Leave with Ctrl-]; the agent goes
on. What you type, the agent gets, key by key: Ctrl-C interrupts its work. Of what it sends only what draws
reaches this terminal: no titles, no clipboard. Only agents that run with a runner of kind tmux have a terminal.

It goes by the servers: others see that you type and since when, nobody else types meanwhile, and the
watchdogs leave the agent alone. When somebody else has the terminal you are told who; --take takes it from
them, --read-only only looks. You give it back when you leave, however that happens; a minute after your last
key it is free as well, and your next key takes it again. Meanwhile the agent's terminal has the size of yours.

On the agent's own host root and agentd's user are inside of the terminal at once, and need no server;
C-b d leaves it, too. --remote goes by the servers there as well.`,
		Example: "  vigil agent attach web/builder\n  vigil agent attach web/builder --read-only\n" +
			"  vigil agent attach web/builder --data-dir /var/lib/vigil-agentd",
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if here := agentsHere(dataDir); len(here) > 0 { // no server needs to be there
				return here, cobra.ShellCompDirectiveNoFileComp
			}
			return a.CompleteAgent(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := cli.SplitAgent(args[0]); err != nil {
				return err
			}
			if !remote {
				named := cmd.Flags().Changed("data-dir")
				if elsewhere, err := attachHere(a, dataDir, args[0], readOnly); !elsewhere || named {
					return err
				}
			}
			return attachFar(a, cmd, args[0], readOnly, take)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dataDir, "data-dir", agentdFolder(),
		"agentd's directory on this host, as in its configuration; when it is given, no server is asked")
	flags.BoolVar(&readOnly, "read-only", false, "only look")
	flags.BoolVar(&take, "take", false, "take the terminal from whoever types there")
	flags.BoolVar(&remote, "remote", false, "go by the servers, also on the agent's own host")
	_ = cmd.MarkFlagDirname("data-dir") // the flags are there
	cmd.MarkFlagsMutuallyExclusive("read-only", "take")
	cmd.MarkFlagsMutuallyExclusive("remote", "data-dir")
	return cmd
}

// attachFar sits down at the terminal by the servers, until the person leaves or the life ends.
func attachFar(a *cli.App, cmd *cobra.Command, agent string, readOnly, take bool) error {
	if !term.OnTerminal(a.In) || !term.OnTerminal(a.Out) {
		return noTerminal()
	}
	limit := a.Timeout
	return a.Follow(cmd, func(ctx context.Context, c *cli.Conn) error {
		s := &seat{fleet: c.Fleet, agent: agent, me: a.Me(), readOnly: readOnly, take: take, limit: limit, now: a.Now,
			in: a.In, out: a.Out, size: sizeOf(a.Out)}
		if err := s.sit(ctx); err != nil {
			return err
		}
		restore, err := raw(a.In, a.Out)
		if err == nil {
			err = s.stay(ctx)
			restore()
		}
		s.rise(ctx)
		if s.last != "" && err == nil {
			_, err = a.Err.Write([]byte(s.last + "\n"))
		}
		return err
	})
}

// noTerminal says that this is for people at a terminal.
func noTerminal() error {
	return cli.Usagef("attach needs a terminal: run it there, not in a pipe; `vigil agent logs` shows the output anywhere")
}
