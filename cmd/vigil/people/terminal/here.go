//go:build unix

package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"vigil/agentd/shim"
	"vigil/agentd/tmux"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/term"
)

// agentdFolder is where agentd keeps what it has, unless its configuration says else.
func agentdFolder() string { return conf.DefaultAgentd().DataDir }

// attachHere attaches to an agent of this host without any server. elsewhere: no agentd of this host that this
// person may look into has it.
func attachHere(a *cli.App, dataDir, agent string, readOnly bool) (elsewhere bool, err error) {
	folder, err := lifeHere(dataDir, agent)
	if err != nil {
		return true, err
	}
	return false, attach(a, folder, readOnly)
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
		return noTerminal()
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
