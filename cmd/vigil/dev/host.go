package dev

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/agentd/proc"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
)

// devHostNames are the hosts of a demo, in the order in which they are used.
var devHostNames = [...]string{"east", "west", "north", "south", "middle"}

const (
	devKillLimit  = 10 * time.Second // for what was killed to be gone
	devStartLimit = 15 * time.Second // for the daemon of a host that was switched on
)

// errNoProc says that processes cannot be looked at here.
var errNoProc = errors.New("this needs Linux, where processes show what they belong to")

// devHost is one host of a demo, as it is on disk.
type devHost struct {
	name string
	dir  string // absolute, without symbolic links

	figures string // address at which it gives them; "": nowhere
}

func (h devHost) config() string { return filepath.Join(h.dir, "agentd.yaml") }

func (h devHost) data() string { return filepath.Join(h.dir, "data") }

// offFile is there while the host is switched off.
func (h devHost) offFile() string { return filepath.Join(h.dir, "off") }

// whyOff says that the host is switched off; "": it is on.
func (h devHost) whyOff() string {
	if _, err := os.Stat(h.offFile()); err != nil {
		return ""
	}
	return "the host is off until `vigil dev start-host " + h.name + "`"
}

// switchOff kills everything of the host and keeps its daemon from being started
// again.
func (h devHost) switchOff(ctx context.Context) (devToll, error) {
	if err := os.WriteFile(h.offFile(), nil, 0o600); err != nil {
		return devToll{}, fmt.Errorf("switch host %s off: %w", h.name, err)
	}
	toll, err := h.kill(ctx)
	if err != nil {
		return toll, fmt.Errorf("switch host %s off: %w", h.name, err)
	}
	return toll, nil
}

// switchOn lets the daemon be started again. It returns fs.ErrNotExist when the host
// was not off.
func (h devHost) switchOn() error {
	if err := os.Remove(h.offFile()); err != nil {
		return fmt.Errorf("switch host %s on: %w", h.name, err)
	}
	return nil
}

// devPart is what a process is to its host.
type devPart uint8

const (
	devForeign devPart = iota
	devDaemon
	devShim
	devAgentProcess
)

// devToll counts processes that were killed.
type devToll [devAgentProcess + 1]int

func (t devToll) String() string {
	return fmt.Sprintf("%s, %s and %s were killed", term.Plural(t[devDaemon], "daemon"),
		term.Plural(t[devShim], "shim"),
		term.Plural(t[devAgentProcess], "process of agents", "processes of agents"))
}

// kill ends every process of the host and nothing else, and returns when none is
// left. It goes from above, as when the power fails: nobody is left to report an end.
func (h devHost) kill(ctx context.Context) (toll devToll, err error) {
	ctx, cancel := context.WithTimeout(ctx, devKillLimit)
	defer cancel()
	spared := life.Ancestors(os.Getpid())
	seen := map[int]devPart{} // most agents die with their shims
	for {
		found, err := h.processes()
		if err != nil {
			return toll, err
		}
		for _, p := range spared {
			delete(found, p.PID)
		}
		if len(found) == 0 {
			for _, part := range seen {
				toll[part]++
			}
			return toll, nil
		}
		maps.Copy(seen, found)
		for _, part := range []devPart{devDaemon, devShim, devAgentProcess} {
			for pid, is := range found {
				if is == part {
					h.killOne(pid, part)
				}
			}
		}
		select {
		case <-ctx.Done():
			return toll, fmt.Errorf("%d processes of the host do not end", len(found))
		case <-time.After(devLook):
		}
	}
}

// killOne kills a process if it is what it was when it was found: where the system
// can, os.FindProcess holds on to the process and not to its number.
func (h devHost) killOne(pid int, part devPart) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return // it is gone
	}
	defer p.Release()
	if h.part(pid) == part {
		_ = p.Kill() // whoever is left is found again
	}
}

// processes lists what runs on the host, without zombies.
func (h devHost) processes() (map[int]devPart, error) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return nil, errNoProc
	}
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	found := map[int]devPart{}
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		if part := h.part(pid); part != devForeign {
			found[pid] = part
		}
	}
	return found, nil
}

// part tells what a process is to this host: the daemon was started with its
// configuration, shims live in its folder of lives, and what agents start carries
// its mark.
func (h devHost) part(pid int) devPart {
	at := filepath.Join("/proc", strconv.Itoa(pid))
	line, err := os.ReadFile(filepath.Join(at, "cmdline"))
	if err != nil {
		return devForeign
	}
	args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	if slices.Equal(args[1:], []string{"agentd", "--config", h.config()}) {
		return devDaemon
	}
	if slices.Equal(args[1:], []string{"shim"}) {
		if cwd, err := os.Readlink(filepath.Join(at, "cwd")); err == nil &&
			strings.HasPrefix(cwd, filepath.Join(h.data(), "lives")+"/") {
			return devShim
		}
		return devForeign
	}
	key, err := os.ReadFile(filepath.Join(h.data(), "host_key"))
	if err != nil || len(key) < 32 { // half a key could be that of others
		return devForeign
	}
	env, err := os.ReadFile(filepath.Join(at, "environ"))
	if err != nil {
		return devForeign
	}
	mark := proc.EnvMark + "=" + proc.HostMark(strings.TrimSpace(string(key))) + "-"
	if slices.ContainsFunc(strings.Split(string(env), "\x00"),
		func(kv string) bool { return strings.HasPrefix(kv, mark) }) {
		return devAgentProcess
	}
	return devForeign
}

// findDevHost finds a host of the demo that is meant.
func findDevHost(a *cli.App, dir, name string) (devHost, error) {
	if dir == "" {
		dir = a.DemoFolder()
	}
	if dir == "" {
		return devHost{},
			cli.Usagef("which demo? The chosen context is of none: `vigil context use %s` selects one that runs, "+
				"or give its folder with --data-dir", devContext)
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return devHost{}, cli.ExitWith(cli.ExitNotFound, fmt.Errorf("find the demo: %w: has it ended?", err))
	}
	var there []string
	for _, known := range devHostNames {
		h := devHost{name: known, dir: filepath.Join(dir, known)}
		if _, err := os.Stat(h.config()); err != nil {
			continue
		}
		if known == name {
			return h, nil
		}
		there = append(there, known)
	}
	if len(there) == 0 {
		return devHost{},
			cli.ExitWith(cli.ExitNotFound, fmt.Errorf("%s is not the folder of a demo: there is no host in it", dir))
	}
	return devHost{}, cli.ExitWith(cli.ExitNotFound, fmt.Errorf("the demo in %s has no host %q: it has %s",
		dir, name, strings.Join(there, ", ")))
}

// newDevHostCmd makes a command about one host of a running demo.
func newDevHostCmd(a *cli.App, cmd *cobra.Command, do func(context.Context, devHost) error) *cobra.Command {
	var dir string
	cmd.Args, cmd.ValidArgs = cobra.ExactArgs(1), devHostNames[:]
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := findDevHost(a, dir, args[0])
		if err != nil {
			return err
		}
		return do(cmd.Context(), h)
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "folder of the demo (default: that of the chosen context)")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	return cmd
}

func newDevKillHostCmd(a *cli.App) *cobra.Command {
	return newDevHostCmd(a, &cobra.Command{
		Use:   "kill-host HOST",
		Short: "Kill a host of the demo with all that runs on it, as when the power fails",
		Long: `Kill a host of the demo: its daemon and every process that was started there. It stays
off until vigil dev start-host.`,
		Example: "  vigil dev kill-host west",
	}, func(ctx context.Context, h devHost) error {
		toll, err := h.switchOff(ctx)
		if err != nil {
			return err
		}
		return a.Done(map[string]any{"host": h.name, "off": true, "daemons": toll[devDaemon],
			"shims": toll[devShim], "processes": toll[devAgentProcess]},
			"host %s is off until `vigil dev start-host %s`: %s", h.name, h.name, toll)
	})
}

func newDevStartHostCmd(a *cli.App) *cobra.Command {
	return newDevHostCmd(a, &cobra.Command{
		Use:     "start-host HOST",
		Short:   "Switch a host of the demo on again",
		Example: "  vigil dev start-host west",
	}, func(ctx context.Context, h devHost) error {
		if h.whyOff() == "" {
			return cli.ExitWith(cli.ExitConflict, fmt.Errorf("host %s is not off", h.name))
		}
		if err := h.switchOn(); err != nil {
			return err
		}
		pid, err := h.awaitDaemon(ctx)
		if err != nil {
			return err
		}
		return a.Done(map[string]any{"host": h.name, "off": false, "pid": pid},
			"host %s is on again: agentd has pid %d", h.name, pid)
	})
}

// awaitDaemon waits until the running demo has started the host's daemon.
func (h devHost) awaitDaemon(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, devStartLimit)
	defer cancel()
	for {
		found, err := h.processes()
		if err != nil {
			return 0, err
		}
		for pid, part := range found {
			if part == devDaemon {
				return pid, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("host %s is switched on, but nothing starts its agentd: does `vigil dev` still run?", h.name)
		case <-time.After(devLook):
		}
	}
}
