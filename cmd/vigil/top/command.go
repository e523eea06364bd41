package top

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
)

// Program runs a command of vigil in this process; what it prints goes to out.
type Program func(ctx context.Context, args []string, out io.Writer)

// NewCommand is `vigil top`.
func NewCommand(a *cli.App, program Program) *cobra.Command {
	var room, dataDir string
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the fleet and answer what waits for a human, live in a terminal",
		Long: `Watch the fleet live: what waits for a human, agents with what somebody has to look at first, hosts,
and what happens. Keys answer, explain, restart, drain, acknowledge; ? lists them, q leaves. It goes on when
any server is lost, and says how old what it shows is when none answers.

In a pipe it prints one look and ends. Colours are left out where NO_COLOR is set.`,
		Example: "  vigil top\n  vigil top --room web\n  vigil top | head -20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.JSON || !term.OnTerminal(a.In) || !term.OnTerminal(a.Out) {
				return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
					return printOnce(ctx, a, &feed{c: c, room: room})
				})
			}
			return a.Follow(cmd, func(ctx context.Context, c *cli.Conn) error {
				return watch(ctx, a, &feed{c: c, room: room}, &fleetHand{c: c, me: a.Me(),
					print: printer(program, globals(cmd))}, append(globals(cmd), attachArgs(dataDir)...))
			})
		},
	}
	cmd.Flags().StringVar(&room, "room", "", "only this room, and its part of the inbox")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "agentd's directory on this host, to attach to its agents "+
		"(default: that of vigil agent attach)")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flags are there
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}

// globals are the flags by which this command knows its servers.
func globals(cmd *cobra.Command) (args []string) {
	if f := cmd.Flag("addr"); f != nil && f.Changed {
		addrs, _ := cmd.Flags().GetStringSlice("addr") // it is one
		for _, addr := range addrs {
			args = append(args, "--addr", addr)
		}
	}
	if f := cmd.Flag("context"); f != nil && f.Changed {
		args = append(args, "--context", f.Value.String())
	}
	return args
}

func attachArgs(dataDir string) []string {
	args := []string{"agent", "attach"}
	if dataDir != "" {
		args = append(args, "--data-dir", dataDir)
	}
	return args
}

// mostText bounds what a command prints for the screen.
const mostText = 1 << 20

// printer runs commands of vigil with the same servers, and gives what they print.
func printer(program Program, flags []string) func(context.Context, []string) string {
	return func(ctx context.Context, args []string) string {
		ctx, cancel := context.WithTimeout(ctx, doLimit)
		defer cancel()
		var out limited
		program(ctx, append(append([]string{}, flags...), args...), &out)
		return string(out)
	}
}

// limited keeps the beginning of what is written.
type limited []byte

func (l *limited) Write(p []byte) (int, error) {
	*l = append(*l, p[:min(len(p), max(0, mostText-len(*l)))]...)
	return len(p), nil
}

// watch shows the fleet until the person leaves or the feed cannot go on.
func watch(ctx context.Context, a *cli.App, f *feed, h hand, attach []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := a.Out.(*os.File) // a terminal
	m := newModel(ctx, h, time.Now, lipgloss.NewRenderer(out))
	m.leave = func(agent string) tea.Cmd {
		exe, err := os.Executable()
		if err != nil {
			return func() tea.Msg { return saidMsg{err: err} }
		}
		var said tailWriter
		cmd := exec.Command(exe, append(append([]string{}, attach...), "--", agent)...)
		cmd.Stderr = &said
		return tea.ExecProcess(cmd, func(err error) tea.Msg {
			if err != nil && len(said) > 0 {
				err = errors.New(string(said))
			}
			return saidMsg{"you have left the terminal of " + agent, err}
		})
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithInput(a.In), tea.WithOutput(out),
		tea.WithoutSignalHandler())
	go func() {
		cancel(f.run(ctx, func(msg any) { p.Send(msg) }))
	}()
	_, err := p.Run()
	if cause := context.Cause(ctx); errors.Is(err, tea.ErrProgramKilled) && cause != nil {
		return cause
	}
	return err
}

// tailWriter keeps the end of what is written.
type tailWriter []byte

func (w *tailWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	*w = (*w)[max(0, len(*w)-500):]
	return len(p), nil
}
