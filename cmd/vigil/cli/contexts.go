package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// Context is one cluster that a person works with.
type Context struct {
	Servers []string `yaml:"servers"` // API addresses, host:port
	// Identity is the folder with what the person is in that cluster; "": it has no identities.
	Identity string `yaml:"identity,omitempty"`
	Demo     string `yaml:"demo,omitempty"`   // folder of the `vigil dev` that runs it
	Before   string `yaml:"before,omitempty"` // what was selected before the demo
}

// Contexts is what a person's file of contexts holds.
type Contexts struct {
	Selected string             `yaml:"selected,omitempty"` // "": none
	Contexts map[string]Context `yaml:"contexts"`
}

var contextName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// CheckContextName refuses what cannot name a context.
func CheckContextName(name string) error {
	if contextName.MatchString(name) {
		return nil
	}
	return Usagef("%q cannot name a context: use 1 to 64 letters, digits, dots, _ and -", name)
}

// Need gives an error when there is no context of that name.
func (all *Contexts) Need(name string) error {
	if _, ok := all.Contexts[name]; ok {
		return nil
	}
	names := "there are none yet: `vigil context set NAME HOST:PORT` makes one"
	if len(all.Contexts) > 0 {
		names = "there is " + strings.Join(slices.Sorted(maps.Keys(all.Contexts)), ", ")
	}
	return ExitWith(ExitNotFound, fmt.Errorf("there is no context %q: %s", name, names))
}

// Remove forgets a context. When it was selected, what was selected before it is again.
func (all *Contexts) Remove(name string) {
	before := all.Contexts[name].Before
	delete(all.Contexts, name)
	if _, ok := all.Contexts[before]; !ok {
		before = ""
	}
	if all.Selected == name {
		all.Selected = before
	}
	for other, one := range all.Contexts {
		if one.Before == name {
			one.Before = before
			all.Contexts[other] = one
		}
	}
}

// ContextsFile is the file of contexts, vigil/contexts.yaml below $XDG_CONFIG_HOME or
// ~/.config; "" for an account without a home.
func (a *App) ContextsFile() string {
	folder := a.Getenv("XDG_CONFIG_HOME")
	if folder == "" && a.Getenv("HOME") != "" {
		folder = filepath.Join(a.Getenv("HOME"), ".config")
	}
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "vigil", "contexts.yaml")
}

// Contexts reads the contexts; one that is not there holds none.
func (a *App) Contexts() (*Contexts, error) { return readContexts(a.ContextsFile()) }

func readContexts(file string) (*Contexts, error) {
	all := &Contexts{Contexts: map[string]Context{}}
	if file == "" {
		return all, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = yaml.UnmarshalWithOptions(text, all, yaml.Strict())
	}
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
			at := y.GetToken().Position
			err = fmt.Errorf("%s:%d:%d: %s", file, at.Line, at.Column, y.GetMessage())
		} else {
			err = fmt.Errorf("read contexts: %w", err)
		}
		return nil, Usagef("%w; mend the file or remove it", err)
	}
	if all.Contexts == nil {
		all.Contexts = map[string]Context{}
	}
	return all, nil
}

// ChangeContexts reads the contexts, has fn change them, and writes them if it gives no error.
// One change follows another, whichever process makes it.
func (a *App) ChangeContexts(fn func(*Contexts) error) error {
	file := a.ContextsFile()
	if file == "" {
		return Usagef("there is no place for contexts: set HOME or XDG_CONFIG_HOME, or give --addr")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write contexts: %w", err)
	}
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("write contexts: %w", err)
	}
	defer lock.Close() // and with it the lock
	if err := lockFile(lock); err != nil {
		return fmt.Errorf("write contexts: lock %s: %w", lock.Name(), err)
	}
	all, err := readContexts(file)
	if err != nil {
		return err
	}
	if err := fn(all); err != nil {
		return err
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return fmt.Errorf("write contexts: %w", err)
	}
	next := file + ".next" // a reader finds the old file or the new one, never half of it
	if err = os.WriteFile(next, text, 0o600); err == nil {
		err = os.Rename(next, file)
	}
	if err != nil {
		return fmt.Errorf("write contexts: %w", err)
	}
	return nil
}

// chosenContext is the context that the command line, the environment or the file chooses; name is
// "" when there is none.
func (a *App) chosenContext() (name string, chosen Context, err error) {
	all, err := a.Contexts()
	if err != nil {
		return "", Context{}, err
	}
	said := "selected in " + a.ContextsFile()
	for _, one := range [...]struct{ name, said string }{
		{a.Context, "flag --context"}, {a.Getenv("VIGIL_CONTEXT"), "VIGIL_CONTEXT"}, {all.Selected, said},
	} {
		if one.name == "" {
			continue
		}
		chosen, ok := all.Contexts[one.name]
		if !ok {
			return "", Context{}, Usagef("%s: there is no context %q: `vigil context list` shows them, "+
				"`vigil context set %s HOST:PORT` makes one", one.said, one.name, one.name)
		}
		return one.name, chosen, nil
	}
	return "", Context{}, nil
}

// ContextNames are the names of all contexts, none when they cannot be read.
func (a *App) ContextNames() []string {
	all, err := a.Contexts()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(all.Contexts))
}

// FirstContext offers contexts for the first argument.
func (a *App) FirstContext(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.ContextNames(), cobra.ShellCompDirectiveNoFileComp
}

// DemoFolder is the folder of the `vigil dev` that the chosen context belongs to; "": of none.
func (a *App) DemoFolder() string {
	_, chosen, err := a.chosenContext()
	if err != nil {
		return ""
	}
	return chosen.Demo
}
