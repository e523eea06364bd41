package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// defaultAddr is where a server listens unless told otherwise.
const defaultAddr = "127.0.0.1:7420"

// defaultTimeout bounds commands that ask one thing and print the answer.
const defaultTimeout = 15 * time.Second

// commands are the constructors of the root's commands, in the order of the help.
var commands = [...]func(*app) *cobra.Command{
	newServerCmd,
	newDevCmd,
	newDevAgentCmd,
	newAgentdCmd,
	newKeygenCmd,
	newShimCommand,
	newStatusCmd,
	newApplyCmd,
	newRoomCmd,
	newTaskCmd,
	newAgentCmd,
	newDeclareCmd,
	newNudgeCmd,
	newPatrolCmd,
	newTriageCmd,
	newHandoffCmd,
	newMailCmd,
	newHostCmd,
	newPauseCmd,
	newResumeCmd,
	newBrakeCmd,
	newWatchdogCmd,
	newEscalationCmd,
	newEventsCmd,
	newSettingsCmd,
	newWaitForTaskCmd,
	newBeatCmd,
	newRunCmd,
	newRememberCmd,
	newMCPCmd,
	newBenchCmd,
	newBenchAgentCmd,
	newVersionCmd,
}

// app is one run of the program: its outside world and its global flags.
type app struct {
	terminal
	getenv   func(string) string
	spawn    func(args []string) error // starts this program again on its own; nil: really

	addrs   []string
	timeout time.Duration
	stale   bool
	effort  bool // --best-effort was given

	started bool // the command line was understood
}

// run is the whole program; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{terminal: newTerminal(stdin, stdout, stderr, os.Getenv), getenv: os.Getenv}
	return runApp(ctx, a, args)
}

func runApp(ctx context.Context, a *app, args []string) int {
	root := newRootCmd(a)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = usageError{withUsage(root, args, err)}
	}
	if sig, ok := context.Cause(ctx).(signalError); ok && err != nil && !errors.As(err, new(codeError)) {
		err = sig
	}
	if a.effort && err == errNobody {
		return exitOK // hooks are run in every session, and this one is no agent
	}
	if err != nil {
		report(a.err, err, a.json)
	}
	if a.effort {
		return exitOK
	}
	return exitCode(err)
}

// withUsage adds the form of the command to an error about the number of its
// arguments, whose text is the library's.
func withUsage(root *cobra.Command, args []string, err error) error {
	if !strings.Contains(err.Error(), "arg(s)") {
		return err
	}
	cmd, _, e := root.Find(args)
	if e != nil {
		return err
	}
	text := strings.NewReplacer(" arg(s), received 0", " argument(s), there is none", " arg(s), only received 0", " argument(s), there is none",
		" arg(s), received", " argument(s), there are", " arg(s), only received", " argument(s), there are only").Replace(err.Error())
	return fmt.Errorf("%s %s: write %s", cmd.CommandPath(), text, cmd.UseLine())
}

func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "vigil",
		Short: "Keep fleets of AI agents alive and give each task to exactly one of them",
		Long: `vigil keeps fleets of AI agents alive and gives each task to exactly one of them.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 no leader or no
server, 6 time-out, 7 superseded, 128+n ended by signal n.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs, // chooseSubcommand judges them
		RunE:              chooseSubcommand,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return startApp(a, cmd) },
	}
	flags := root.PersistentFlags()
	flags.StringSliceVar(&a.addrs, "addr", nil, "API address of a server, host:port; may be repeated (default $VIGIL_ADDR or "+defaultAddr+")")
	flags.BoolVar(&a.json, "json", false, "print JSON with stable field names")
	flags.DurationVar(&a.timeout, "timeout", defaultTimeout, "give up after this long (0: never)")
	flags.BoolVar(&a.stale, "stale", false, "let any server answer reads, without a leader, from what it has")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
	})
	for _, constructor := range commands {
		root.AddCommand(constructor(a))
	}
	addServerVerbs(root, a)
	arrange(root)
	_ = root.RegisterFlagCompletionFunc("addr", cobra.NoFileCompletions) // the flag is there
	return root
}

// arrange sorts the commands of the help by who needs them.
func arrange(root *cobra.Command) {
	for _, g := range [...]struct{ id, title, commands string }{
		{"people", "The fleet:", "status apply room task agent mail nudge host pause resume brake watchdog escalation triage events settings"},
		{"agents", "For agents:", "wait-for-task beat declare patrol handoff run remember mcp"},
		{"machines", "Servers and hosts:", "dev server agentd keygen bench"},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(strings.Fields(g.commands), cmd.Name()) {
				cmd.GroupID = g.id
			}
		}
	}
}

// startApp runs before every command, after its command line was understood.
func startApp(a *app, cmd *cobra.Command) error {
	// The library looks only after this function, when an error would count as a failure.
	if err := cmd.ValidateFlagGroups(); err != nil {
		return err
	}
	if a.timeout < 0 {
		return fmt.Errorf("flag --timeout: %s is negative; give a duration like 10s, or 0 for no limit", a.timeout)
	}
	if a.effort {
		a.out = io.Discard
		if !cmd.Flags().Changed("timeout") {
			a.timeout = bestEffortTimeout
		}
	}
	a.started = true
	return nil
}

// bestEffortTimeout is what a hook may cost when no server answers.
const bestEffortTimeout = 2 * time.Second

// bestEffort adds the flag for hooks of AI tools. Those read standard output, and take
// exit code 2 for a reason not to go on.
func (a *app) bestEffort(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.effort, "best-effort", false, "for hooks: print nothing but errors, give up after "+bestEffortTimeout.String()+", and exit with 0 whatever happens")
}

// newGroup makes a noun: a command that only holds others.
func newGroup(use, short string, members ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short, RunE: chooseSubcommand}
	group.AddCommand(members...)
	return group
}

// chooseSubcommand answers a noun without a verb, or with a wrong one.
func chooseSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	msg := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = max(cmd.SuggestionsMinimumDistance, 2)
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		msg += " (did you mean " + strings.Join(near, " or ") + "?)"
	}
	return usagef("%s: see %s --help", msg, cmd.CommandPath())
}

// addresses are the servers to ask.
func (a *app) addresses() []string {
	addrs := a.addrs
	if len(addrs) == 0 {
		addrs = strings.Split(a.getenv("VIGIL_ADDR"), ",")
	}
	var clean []string
	for _, addr := range addrs {
		if addr = strings.TrimSpace(addr); addr != "" {
			clean = append(clean, addr)
		}
	}
	if len(clean) == 0 {
		return []string{defaultAddr}
	}
	return clean
}

// serversFile is the file in which an agent finds the servers of now; none when the command
// line names some.
func (a *app) serversFile() string {
	if len(a.addrs) > 0 {
		return ""
	}
	return a.getenv(client.EnvFile)
}

// conn is a client with a stub for every service.
type conn struct {
	*client.Client
	fleet   vigilv1.FleetClient
	work    vigilv1.WorkClient
	cluster vigilv1.ClusterClient
	mail    vigilv1.MailboxClient
}

// dial opens a client; the caller closes it.
func (a *app) dial() (*conn, error) {
	c, err := client.Open(client.Config{Addrs: a.addresses(), File: a.serversFile(), Name: "vigil " + version()})
	if err != nil {
		return nil, usageError{err}
	}
	return newConn(c), nil
}

func newConn(c *client.Client) *conn {
	return &conn{c, vigilv1.NewFleetClient(c), vigilv1.NewWorkClient(c), vigilv1.NewClusterClient(c), vigilv1.NewMailboxClient(c)}
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
