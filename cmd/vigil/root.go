package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/doctor"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/mcp"
	starter "vigil/cmd/vigil/new"
	"vigil/cmd/vigil/people"
	"vigil/cmd/vigil/servers"
	"vigil/cmd/vigil/term"
	"vigil/cmd/vigil/top"
	"vigil/cmd/vigil/trust"
	"vigil/cmd/vigil/ui"
)

// parts give the commands below the root; the help sorts them by who needs them.
var parts = [...]func(*cli.App) []*cobra.Command{
	servingCommands,
	people.Commands,
	ui.Commands,
	servers.Commands,
	trust.Commands,
	agent.Commands,
}

// run is the whole program; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &cli.App{Terminal: term.NewTerminal(stdin, stdout, stderr, os.Getenv), Getenv: os.Getenv, Renew: renewPerson}
	return runApp(ctx, a, args)
}

// runFor runs a command for another one that shows what it prints.
func runFor(ctx context.Context, args []string, out io.Writer) {
	run(ctx, args, strings.NewReader(""), out, out)
}

func runApp(ctx context.Context, a *cli.App, args []string) int {
	defer a.EndErr()
	root := newRootCmd(a)
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.Started {
		err = cli.WrongUsage(withUsage(root, args, err))
	}
	if sig, ok := context.Cause(ctx).(cli.SignalError); ok && err != nil && !errors.As(err, new(cli.CodeError)) {
		err = sig
	}
	if a.Effort && err == life.ErrNobody {
		return cli.ExitOK // hooks are run in every session, and this one is no agent
	}
	if err != nil {
		cli.Report(a.Err, err, a.JSON)
	}
	if a.Effort {
		return cli.ExitOK
	}
	return cli.ExitCode(err)
}

// withUsage adds the form of the command to an error about the number of its
// arguments, whose text is the library's.
func withUsage(root *cobra.Command, args []string, err error) error {
	cmd, _, e := root.Find(args)
	if e != nil {
		return err
	}
	text := ""
	if m := wordTooMany.FindStringSubmatch(err.Error()); m != nil && !cmd.HasSubCommands() {
		text = "takes no arguments, " + m[1] + " is one"
	} else if m := wrongCount.FindStringSubmatch(err.Error()); m != nil {
		text = countText(m[1], m[2], m[3])
	} else {
		return err
	}
	return fmt.Errorf("%s %s: write %s", cmd.CommandPath(), text, cmd.UseLine())
}

// What the library says of arguments.
var (
	wordTooMany = regexp.MustCompile(`^unknown command (".*") for "[^"]*"$`)
	wrongCount  = regexp.MustCompile(`^(accepts|requires at least|accepts at most|accepts between) (.*) ` +
		`arg\(s\), (?:only )?received (\d+)$`)
)

// countText says how many arguments a command takes, and how many it got.
func countText(rule, want, got string) string {
	noun := "arguments"
	if want == "1" {
		noun = "argument"
	}
	there := "there are " + got
	if got == "1" {
		there = "there is only 1"
	}
	switch {
	case got == "0" && want == "1":
		return "needs an argument"
	case got == "0":
		there = "there is none"
	case rule == "accepts" || rule == "accepts at most" || rule == "accepts between":
		there = "not " + got
	}
	switch rule {
	case "requires at least":
		return fmt.Sprintf("needs at least %s %s, %s", want, noun, there)
	case "accepts at most":
		return fmt.Sprintf("takes at most %s %s, %s", want, noun, there)
	}
	return fmt.Sprintf("takes %s %s, %s", strings.Replace(want, " and ", " to ", 1), noun, there)
}

func newRootCmd(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "vigil",
		Short: "Keep fleets of AI agents alive and give each task to exactly one of them",
		Long: `vigil keeps fleets of AI agents alive and gives each task to exactly one of them.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 no leader or no
server, 6 time-out, 7 superseded, 128+n ended by signal n.`,
		Version:           versionLine(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs, // cli.ChooseSubcommand judges them
		RunE:              cli.ChooseSubcommand,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return startApp(a, cmd) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringSliceVar(&a.Addrs, "addr", nil,
		"API address of a server, host:port; may be repeated (default $VIGIL_ADDR, the selected context or "+
			cli.DefaultAddr+")")
	flags.StringVar(&a.Context,
		"context", "", "ask the servers of this context (default $VIGIL_CONTEXT or the selected one; see vigil context)")
	flags.BoolVar(&a.JSON, "json", false, "print JSON with stable field names")
	flags.DurationVar(&a.Timeout, "timeout", cli.DefaultTimeout, "give up after this long (0: never)")
	flags.BoolVar(&a.Stale, "stale", false, "let any server answer reads, without a leader, from what it has")
	for _, commands := range parts {
		root.AddCommand(commands(a)...)
	}
	root.AddCommand(mcp.NewCommand(a), doctor.NewCommand(a), doctor.NewDebugCommand(a), newVersionCmd(a),
		top.NewCommand(a, runFor), starter.NewCommand(a))
	servers.AddVerbs(root, a)
	addManuals(root)
	arrange(root)
	watchable(a, root)
	cli.Tune(root)
	_ = root.RegisterFlagCompletionFunc("addr", cobra.NoFileCompletions) // the flags are there
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective) {
		return a.ContextNames(), cobra.ShellCompDirectiveNoFileComp
	})
	return root
}

// watched are the commands that say how something is and take --watch.
var watched = [...]string{"status", "agent list", "agent show", "agent explain", "agent status", "agent deadlines",
	"task list", "task show", "room list", "room show", "room deadlines", "host list", "host show", "host explain",
	"server list", "escalation list", "escalation show", "watchdog status"}

// watchable gives them the flag.
func watchable(a *cli.App, root *cobra.Command) {
	for _, path := range watched {
		cmd, _, _ := root.Find(strings.Fields(path)) // a test looks whether each is there
		a.Watchable(cmd)
	}
}

// arrange sorts the commands of the help by who needs them.
func arrange(root *cobra.Command) {
	for _, g := range [...]struct{ id, title, commands string }{
		{"people", "The fleet:",
			"status top ui apply room task agent mail nudge host pause resume brake usage budget watchdog " +
				"escalation triage events settings context"},
		{"agents", "For agents:", "new wait-for-task beat declare patrol handoff run remember mcp"},
		{"machines", "Servers and hosts:", "dev server agentd backup upgrade doctor debug keygen bench"},
		{"trust", "Who may do what:", "login logout user token identity tls root gossip"},
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
func startApp(a *cli.App, cmd *cobra.Command) error {
	// The library looks only after this function, when an error would count as a failure.
	if err := cmd.ValidateFlagGroups(); err != nil {
		return err
	}
	if a.Timeout < 0 {
		return fmt.Errorf("flag --timeout: %s is negative; give a duration like 10s, or 0 for no limit", a.Timeout)
	}
	if a.Effort {
		a.Out = io.Discard
		if !cmd.Flags().Changed("timeout") {
			a.Timeout = cli.BestEffortTimeout
		}
	}
	a.Started = true
	return nil
}
