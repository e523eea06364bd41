package main

import (
	"context"
	"os/user"
	"time"

	"github.com/spf13/cobra"
)

// defaultTimeout bounds commands that ask one thing and print the answer.
const defaultTimeout = 15 * time.Second

// app is one run of the program: its outside world and its global flags.
type app struct {
	terminal
	getenv func(string) string
	spawn  func(args []string) error // starts this program again on its own; nil: really

	addrs   []string
	timeout time.Duration
	stale   bool
	effort  bool // --best-effort was given

	started bool // the command line was understood
}

// bestEffortTimeout is what a hook may cost when no server answers.
const bestEffortTimeout = 2 * time.Second

// bestEffort adds the flag for hooks of AI tools. Those read standard output, and take
// exit code 2 for a reason not to go on.
func (a *app) bestEffort(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.effort, "best-effort", false, "for hooks: print nothing but errors, give up after "+bestEffortTimeout.String()+", and exit with 0 whatever happens")
}

// bound gives a context that ends after --timeout.
func (a *app) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.timeout)
}

// ask runs fn with a client, within --timeout.
func (a *app) ask(cmd *cobra.Command, fn func(ctx context.Context, c *conn) error) error {
	c, err := a.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := a.bound(cmd.Context())
	defer cancel()
	return fn(ctx, c)
}

// follow runs fn with a client and without --timeout, unless that was given.
func (a *app) follow(cmd *cobra.Command, fn func(ctx context.Context, c *conn) error) error {
	if !cmd.Flags().Changed("timeout") {
		a.timeout = 0
	}
	return a.ask(cmd, fn)
}

// me names the human who says something, for the history.
func (a *app) me() string {
	for _, name := range []string{a.getenv("VIGIL_USER"), a.getenv("SUDO_USER"), a.getenv("USER"), a.getenv("LOGNAME")} {
		if name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}
