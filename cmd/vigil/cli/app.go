package cli

import (
	"context"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/trust"
)

// DefaultTimeout bounds commands that ask one thing and print the answer.
const DefaultTimeout = 15 * time.Second

// App is one run of the program: its outside world and its global flags.
type App struct {
	term.Terminal
	Getenv func(string) string
	Spawn  func(args []string) error // starts this program again on its own; nil: really

	Addrs   []string
	Context string // --context
	Timeout time.Duration
	Stale   bool
	Effort  bool // --best-effort was given

	// Renew gets the person's next certificate over a connection and keeps it in the folder.
	Renew func(ctx context.Context, c *client.Client, h *trust.Holder, dir trust.Dir) error

	Started bool // the command line was understood

	queue *Queue // of Err; nil: whoever writes there waits

	shared *Conn // of all that one --watch asks; nil: each Ask opens its own
}

// BestEffortTimeout is what a hook may cost when no server answers.
const BestEffortTimeout = 2 * time.Second

// BestEffort adds the flag for hooks of AI tools. Those read standard output, and take
// exit code 2 for a reason not to go on.
func (a *App) BestEffort(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.Effort, "best-effort", false, "for hooks: print nothing but errors, give up after "+
		BestEffortTimeout.String()+", and exit with 0 whatever happens")
}

// Bound gives a context that ends after --timeout.
func (a *App) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.Timeout)
}

// Ask runs fn with a client, within --timeout.
func (a *App) Ask(cmd *cobra.Command, fn func(ctx context.Context, c *Conn) error) error {
	c := a.shared
	if c == nil {
		var err error
		if c, err = a.dial(a.absent(cmd)); err != nil {
			return err
		}
		defer c.Close()
	}
	ctx, cancel := a.Bound(cmd.Context())
	defer cancel()
	a.renew(ctx, c)
	if a.Timeout == 0 {
		defer a.KeepRenewed(ctx, c)()
	}
	err := fn(ctx, c)
	a.followServers(c)
	return a.whereElse(c, err)
}

// SpeaksAsAgent tells whether a command takes the flags that name a life.
func SpeaksAsAgent(cmd *cobra.Command) bool { return cmd.Flags().Lookup("incarnation") != nil }

// absent is how long to look for servers that all refuse; 0: as long as for an answer. Whoever
// gives a time wants that one, and agents live through an outage.
func (a *App) absent(cmd *cobra.Command) time.Duration {
	if cmd.Flags().Changed("timeout") || a.Effort || a.Getenv("VIGIL_AGENT") != "" ||
		SpeaksAsAgent(cmd) {
		return 0
	}
	return absentLimit
}

// Follow runs fn with a client and without --timeout, unless that was given.
func (a *App) Follow(cmd *cobra.Command, fn func(ctx context.Context, c *Conn) error) error {
	if !cmd.Flags().Changed("timeout") {
		a.Timeout = 0
	}
	return a.Ask(cmd, fn)
}

// Me names the human who says something, for the history.
func (a *App) Me() string {
	for _, name := range []string{a.Getenv("VIGIL_USER"), a.Getenv("SUDO_USER"), a.Getenv("USER"),
		a.Getenv("LOGNAME")} {
		if name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
