package starter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/sdk"
)

// name is what rooms, roles and runners may be called.
var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// NewCommand is `vigil new`.
func NewCommand(a *cli.App) *cobra.Command {
	checkout := ""
	cmd := &cobra.Command{
		Use:   "new python|typescript|go|shell NAME",
		Short: "Write a worker of your own, with its room and its runner",
		Long: `Write a worker into the folder NAME, which must not be there yet: the program, its room file, the
runner by which hosts start it, and a README of four lines. It is ready for vigil apply.

The SDK for Python or TypeScript comes along, so nothing has to be installed but the language: Python 3.9 or
newer, Node.js 20 or newer. A worker in Go needs the sources of vigil.`,
		Example: "  vigil new python hello\n  vigil new typescript hello\n  vigil new go hello --source ~/vigil\n" +
			"  vigil new shell hello",
		Args:      cobra.ExactArgs(2),
		ValidArgs: kindNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := projectOf(args[0], args[1], checkout)
			if err != nil {
				return err
			}
			if err := p.write(); err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]string{"folder": p.Folder, "room": p.Name, "role": p.Name + "/worker"})
			}
			return a.Printf("%s is a worker in %s. What to do with it:\n\n%s", p.Folder, p.Language, p.steps())
		},
	}
	cmd.Flags().StringVar(&checkout, "source", "",
		"with go: the folder of vigil's sources, which the worker is built with")
	return cmd
}

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kind is a language, and what a worker in it is.
type kind struct {
	name, language string
	worker         string   // its file
	program        string   // "": the worker itself
	args           []string // before the worker
	build, byHand  string   // for the README
	sdk            func() fs.FS
}

var kinds = []kind{
	{name: "python", language: "Python", worker: "worker.py", program: "python3", sdk: sdk.Python,
		byHand: "Without a host, and without `runner` in the room: `python3 worker.py`."},
	{name: "typescript", language: "TypeScript", worker: "worker.js", program: "node", sdk: sdk.TypeScript,
		byHand: "Without a host, and without `runner` in the room: `node worker.js`. Node.js 22.18 and newer, and Bun, " +
			"run it as `worker.ts`, too."},
	{name: "go", language: "Go", worker: "worker",
		build: "`go build -o worker .` builds the program; ",
		byHand: "Without a host, and without `runner` in the room, `./worker` wants to be told VIGIL_AGENT, " +
			"VIGIL_ADDR and VIGIL_IDENTITY."},
	{name: "shell", language: "shell", worker: "worker.sh", program: "sh",
		byHand: "Without a host, and without `runner` in the room: `VIGIL_AGENT={{.Name}}/worker sh worker.sh`."},
}

// project is what templates are filled with.
type project struct {
	kind
	Name, Kind, Language string
	Folder               string // absolute
	Worker, Program      string
	Args                 []string
	Build, ByHand        string
	User                 string // of who asks
	Source, Go           string // of a worker in Go
}

// projectOf checks what was asked for.
func projectOf(language, called, source string) (*project, error) {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == language })
	switch {
	case at < 0:
		return nil, cli.Usagef("%q is no kind of worker: give one of %s", language, strings.Join(kindNames(), ", "))
	case !name.MatchString(called):
		return nil, cli.Usagef("%q cannot name a room: use 1 to 63 of a-z, 0-9 and -, and no - at the ends", called)
	case source != "" && language != "go":
		return nil, cli.Usagef("flag --source is for workers in go")
	case source == "" && language == "go":
		return nil, cli.Usagef("a worker in go is built with vigil's sources: name their folder with --source")
	}
	k := kinds[at]
	folder, err := filepath.Abs(called)
	if err != nil {
		return nil, err
	}
	who, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("find out who you are: %w", err)
	}
	p := &project{kind: k, Name: called, Kind: k.name + " " + called, Language: k.language, Folder: folder,
		Worker: k.worker, Program: k.program, Build: k.build, User: who.Username,
		ByHand: strings.ReplaceAll(k.byHand, "{{.Name}}", called)}
	if p.Args = append(slices.Clone(k.args), filepath.Join(folder, k.worker)); p.Program == "" {
		p.Program, p.Args = p.Args[0], nil
	}
	if source != "" {
		err = p.sources(source)
	}
	return p, err
}

// sources checks the folder of vigil's sources and takes the version of Go from there.
func (p *project) sources(folder string) (err error) {
	if p.Source, err = filepath.Abs(folder); err != nil {
		return err
	}
	p.Kind += " --source " + folder
	text, err := os.ReadFile(filepath.Join(p.Source, "go.mod"))
	m := regexp.MustCompile(`(?m)\Amodule vigil\n[^$]*?^go ([0-9.]+)$`).FindSubmatch(text)
	if err != nil || m == nil {
		return cli.Usagef("%s does not hold vigil's sources: there is no go.mod of module vigil", p.Source)
	}
	p.Go = string(m[1])
	return nil
}

// write makes the folder. What it has begun it takes back when it fails.
func (p *project) write() (err error) {
	if err := os.Mkdir(p.Folder, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return cli.ExitWith(cli.ExitConflict,
				fmt.Errorf("%s is there already: give another name, or work in another folder", p.Folder))
		}
		return fmt.Errorf("make %s: %w", p.Folder, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", p.Folder, err), os.RemoveAll(p.Folder))
		}
	}()
	files, err := p.files()
	if err != nil {
		return err
	}
	for path, text := range files {
		to := filepath.Join(p.Folder, filepath.FromSlash(path))
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(path, ".sh") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, mode); err != nil {
			return err
		}
	}
	if p.name == "typescript" {
		return p.link()
	}
	return nil
}

// link does what npm does with a dependency that is a folder.
func (p *project) link() error {
	modules := filepath.Join(p.Folder, "node_modules")
	if err := os.Mkdir(modules, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join("..", "vigil"), filepath.Join(modules, "vigil")); err != nil {
		return fmt.Errorf("%w: `npm install` in that folder does it", err)
	}
	return nil
}
