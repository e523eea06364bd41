//go:build unix

package people

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"vigil/agentd/shim"
	"vigil/agentd/tmux"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/term"
)

// newAgentAttachCmd is `vigil agent attach`: a look into the terminal of an agent on
// this host. It needs no server.
func newAgentAttachCmd(a *cli.App) *cobra.Command {
	var dataDir string
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "attach AGENT",
		Short: "On its host: attach to the terminal of an agent",
		Long: `Attach this terminal to that of an agent that runs on this host with a runner of kind
tmux. Leave it with C-b d, or with C-] three times should that not help; the agent goes
on. What you type, the agent gets: C-c interrupts its work. Of what it sends only what draws
reaches this terminal: no titles, no clipboard. Run it as root or as agentd's user.`,
		Example: "  vigil agent attach web/builder --data-dir /var/lib/vigil-agentd",
		Args:    cobra.ExactArgs(1),
		// Not completeAgent: that would ask a server, which this command does not need.
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return agentsHere(dataDir), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if _, _, err := cli.SplitAgent(args[0]); err != nil {
				return err
			}
			folder, err := lifeHere(dataDir, args[0])
			if err != nil {
				return err
			}
			return attach(a, folder, readOnly)
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", conf.DefaultAgentd().DataDir,
		"agentd's directory, as in its configuration")
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "only look")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	return cmd
}

// attach runs tmux in the foreground until the person leaves.
func attach(a *cli.App, folder string, readOnly bool) error {
	program, err := tmux.Find()
	if err != nil {
		return err
	}
	cmd, err := tmux.Attach(program, folder, readOnly)
	if err != nil {
		return err
	}
	if !term.OnTerminal(a.In) || !term.OnTerminal(a.Out) {
		return cli.Usagef("attach needs a terminal: run it there, not in a pipe; `vigil agent logs` shows the output anywhere")
	}
	var exit *exec.ExitError
	switch err := between(cmd, a.In.(*os.File), a.Out.(*os.File)); {
	case errors.As(err, &exit):
		return cli.ExitWith(cli.ExitFailed, fmt.Errorf("attach: tmux ended with code %d", exit.ExitCode()))
	case err != nil:
		return fmt.Errorf("attach: %w", err)
	}
	return nil
}

// lifeOnHost is what attach needs to know of a life folder.
type lifeOnHost struct {
	folder      string
	AgentName   string
	Incarnation uint64
}

// livesHere are the lives in the journal of this host that have not ended. Folders
// that cannot be read are left out.
func livesHere(dataDir string) (lives []lifeOnHost, err error) {
	dir := filepath.Join(dataDir, "lives")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		l := lifeOnHost{folder: filepath.Join(dir, e.Name())}
		text, e1 := os.ReadFile(filepath.Join(l.folder, shim.IntentFile))
		if _, e2 := os.Stat(filepath.Join(l.folder, shim.ExitFile)); e1 == nil && e2 != nil &&
			json.Unmarshal(text, &l) == nil {
			lives = append(lives, l)
		}
		if errors.Is(e1, fs.ErrPermission) {
			err = e1
		}
	}
	return lives, err
}

func agentsHere(dataDir string) (names []string) {
	lives, _ := livesHere(dataDir) // without it there is nothing to offer
	for _, l := range lives {
		names = append(names, l.AgentName)
	}
	return names
}

// lifeHere finds the life folder of an agent on this host.
func lifeHere(dataDir, agent string) (string, error) {
	lives, err := livesHere(dataDir)
	var newest lifeOnHost
	for _, l := range lives {
		if l.AgentName == agent && l.Incarnation >= newest.Incarnation {
			newest = l
		}
	}
	switch {
	case newest.folder != "":
		// tmux has another current folder than we.
		return filepath.Abs(newest.folder)
	case errors.Is(err, fs.ErrPermission):
		return "", cli.Usagef("look for agent: %w; run it as root or as agentd's user", err)
	case errors.Is(err, fs.ErrNotExist):
		return "", cli.Usagef("look for agent: %w; name agentd's directory with --data-dir, on the host of the agent", err)
	case err != nil:
		return "", fmt.Errorf("look for agent: %w", err)
	}
	return "", cli.ExitWith(cli.ExitNotFound,
		fmt.Errorf("%s does not run on this host: `vigil agent list` shows where it does", agent))
}
