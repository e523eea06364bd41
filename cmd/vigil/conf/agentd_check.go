//go:build unix

package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vigil/agentd"
	"vigil/agentd/accounts"
	"vigil/agentd/runner"
	"vigil/cluster/gossip"
	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
)

// finding is one thing that is wrong with the declaration of a runner.
type finding struct {
	runner string // its name or, where it cannot be read, that of its file
	file   string // that holds nothing else, or cannot be read at all; empty: only the runner is wrong
	err    error
}

// sift gives the runners that this host can offer, and what is wrong with the others:
// one that is broken takes no other with it.
func (f *Agentd) sift() (good []runner.Runner, broken []finding) {
	all := f.runners()
	broken = append(broken, f.broken...)
	bad := map[int]bool{}
	var faults runner.Faults
	if _, err := runner.Compile(all, f.host()); errors.As(err, &faults) {
		for _, one := range faults {
			bad[one.Runner] = true
			broken = append(broken, finding{all[one.Runner].Name, f.ownFile(one.Runner), f.explain(one)})
		}
	}
	for i, r := range all {
		if !bad[i] {
			good = append(good, r)
		}
	}
	return good, broken
}

// host is what runners are checked against.
func (f *Agentd) host() runner.Host {
	ids, err := accounts.Parse(f.Accounts)
	if err != nil { // mistakes has told
		ids = accounts.Default()
	}
	dir, err := filepath.Abs(f.DataDir)
	if err != nil {
		dir = f.DataDir // there is no current folder, and agentd will tell
	}
	return agentd.Config{DataDir: dir, Accounts: ids, Tools: toolFolder()}.RunnerHost()
}

// ownFile is the file that declares runner i and nothing else; empty: it stands in the configuration.
func (f *Agentd) ownFile(i int) string {
	if i < len(f.Runners)-len(f.places) {
		return ""
	}
	return f.runnerPlace(i).document.file
}

// explain gives what is wrong with a runner its place in a file.
func (f *Agentd) explain(fault *runner.Fault) error {
	place := f.runnerPlace(fault.Runner)
	if place.document == nil {
		return cli.WrongUsage(fault)
	}
	return placed(place.document.file, place.document.text, place.find(fault.Path), fault.Problem+": "+fault.Remedy)
}

// InOneLine is an error without the line of the file that it shows.
func InOneLine(err error) string {
	var at *cli.PlaceError
	if errors.As(err, &at) {
		return at.Where()
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// Inspect finds everything that is wrong with a configuration, without opening or
// making anything; notes are about what is left out on purpose.
func (f *Agentd) Inspect() (wrong []error, notes []string) {
	if err := f.ReadRunners(); err != nil {
		wrong = append(wrong, err)
	}
	wrong = append(wrong, f.mistakes()...)
	if f.Gossip.KeyFile != "" {
		if _, err := gossip.ReadKey(f.Gossip.KeyFile); err != nil {
			wrong = append(wrong, err)
		}
	}
	if err := f.noServers(); err != nil {
		wrong = append(wrong, err)
	}
	if err := folderOrNothing("data_dir", f.DataDir); err != nil {
		wrong = append(wrong, err)
	}
	good, broken := f.sift()
	for _, b := range broken {
		wrong = append(wrong, Each(b.err)...)
	}
	if set, err := runner.Compile(good, f.host()); err == nil {
		notes = set.Warnings()
	}
	for _, r := range good {
		if len(r.Prompts) > 0 {
			notes = append(notes, fmt.Sprintf("runner %s recognizes prompts: %s", r.Name, kindsOf(r.Prompts)))
		}
	}
	return wrong, notes
}

// noServers tells why the servers cannot be asked; what is wrong with an address is among the mistakes.
func (f *Agentd) noServers() error {
	if len(f.Servers) == 0 {
		return cli.Usagef("servers is empty: name at least one server as host:port, for instance %s", cli.DefaultAddr)
	}
	if _, err := cli.CleanAddresses(f.Servers); err != nil {
		return nil
	}
	conn, err := client.Open(client.Config{Addrs: f.Servers, Name: "agentd " + f.Name})
	if err != nil {
		return err
	}
	conn.Close() // it has asked nothing yet
	return nil
}

// kindsOf counts the patterns of each kind: 2 permission, 1 idle.
func kindsOf(prompts []runner.Prompt) string {
	var parts []string
	for _, kind := range runner.PromptKinds() {
		n := 0
		for _, p := range prompts {
			if p.Kind == kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// folderOrNothing refuses a name that is taken by something else.
func folderOrNothing(key, path string) error {
	info, err := os.Stat(path)
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cli.Usagef("%s: %w: correct the path, or make it accessible", key, err)
	case !info.IsDir():
		return cli.Usagef("%s: %s is not a folder: name another path", key, path)
	}
	return nil
}

// toolFolder is where this program is: agents that agentd starts find vigil there, though
// its own PATH may lack it. Empty when nobody knows.
func toolFolder() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Dir(self)
}
