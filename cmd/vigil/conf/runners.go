//go:build unix

package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"vigil/agentd"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
	"vigil/cmd/vigil/cli"
)

// runnersFolder is looked for beside the configuration when none is named.
const runnersFolder = "runners.d"

// runnerFile is one runner: an item of runners in the configuration, or a file of
// its own. configs/agentd-runners.yaml explains every key.
type runnerFile struct {
	Name          string               `yaml:"name"`
	Kind          string               `yaml:"kind"`
	Program       string               `yaml:"program"`
	Requires      []string             `yaml:"requires"`
	Optional      bool                 `yaml:"optional"`
	Args          []string             `yaml:"args"`
	ResumeArgs    []string             `yaml:"resume_args"`
	ResumePattern string               `yaml:"resume_pattern"`
	FreshArgs     []string             `yaml:"fresh_args"`
	PTY           bool                 `yaml:"pty"`
	User          string               `yaml:"user"`
	Sudo          bool                 `yaml:"sudo"`
	Telemetry     bool                 `yaml:"telemetry"`
	Directory     string               `yaml:"directory"`
	Env           map[string]string    `yaml:"env"`
	EnvAllow      []string             `yaml:"env_allow"`
	Credentials   map[string]string    `yaml:"credentials"`
	Params        map[string]paramFile `yaml:"params"`
	StopGrace     spanValue            `yaml:"stop_grace"`
	RunLimit      spanValue            `yaml:"run_limit"`
	Limits        limitsFile           `yaml:"limits"`
	UsageLimit    []usageFile          `yaml:"usage_limit"`
	Prompts       []promptFile         `yaml:"prompts"`
}

type paramFile struct {
	Pattern string  `yaml:"pattern"`
	Default *string `yaml:"default"`
}

type limitsFile struct {
	OpenFiles    countValue `yaml:"open_files"`
	AddressSpace sizeValue  `yaml:"address_space"`
	CoreSize     sizeValue  `yaml:"core_size"`
	MemoryMax    sizeValue  `yaml:"memory_max"`
	PIDsMax      countValue `yaml:"pids_max"`
}

type usageFile struct {
	ExitCode countValue `yaml:"exit_code"`
	Pattern  string     `yaml:"pattern"`
	After    spanValue  `yaml:"after"`
}

type promptFile struct {
	Kind    string     `yaml:"kind"`
	Pattern string     `yaml:"pattern"`
	Lines   countValue `yaml:"lines"`
}

// runnerPlace is where a runner stands: a document and the path in it.
type runnerPlace struct {
	document *document
	path     []any
}

// String gives file and line, for messages about another place.
func (p runnerPlace) String() string {
	if p.document == nil {
		return ""
	}
	at := p.find(nil)
	if at == nil || at.Position == nil {
		return p.document.file
	}
	return fmt.Sprintf("%s:%d", p.document.file, at.Position.Line)
}

// runner is the declaration as package runner wants it.
func (r *runnerFile) runner(from string) runner.Runner {
	one := runner.Runner{
		Name: r.Name, Kind: r.Kind, Program: r.Program, Requires: r.Requires, Optional: r.Optional, Args: r.Args,
		ResumeArgs: r.ResumeArgs, ResumePattern: r.ResumePattern, FreshArgs: r.FreshArgs, PTY: r.PTY,
		User: r.User, Sudo: r.Sudo, Telemetry: r.Telemetry, Directory: r.Directory, Env: r.Env, EnvAllow: r.EnvAllow,
		Credentials: r.Credentials,
		StopGrace:   r.StopGrace.Span, RunLimit: r.RunLimit.Span, Params: map[string]runner.Param{}, From: from,
		Limits: proc.Limits{OpenFiles: uint64(r.Limits.OpenFiles.n), AddressSpace: uint64(r.Limits.AddressSpace.N),
			CoreSize: uint64(r.Limits.CoreSize.N), Memory: uint64(r.Limits.MemoryMax.N),
			Pids: uint64(r.Limits.PIDsMax.n)},
	}
	for name, p := range r.Params {
		one.Params[name] = runner.Param{Pattern: p.Pattern, Default: p.Default}
	}
	for _, u := range r.UsageLimit {
		one.UsageLimits = append(one.UsageLimits, runner.UsageLimit{Code: int(u.ExitCode.n), Pattern: u.Pattern,
			After: u.After.Span})
	}
	for _, p := range r.Prompts {
		one.Prompts = append(one.Prompts, runner.Prompt{Kind: p.Kind, Pattern: p.Pattern, Lines: int(p.Lines.n)})
	}
	return one
}

// runners gives all declared runners, those of the configuration first.
func (f *Agentd) runners() []runner.Runner {
	var all []runner.Runner
	for i := range f.Runners {
		place := f.runnerPlace(i)
		one := f.Runners[i].runner(place.String())
		if place.document != nil {
			one.File = place.document.file
		}
		all = append(all, one)
	}
	return all
}

// runnerPlace is where runner i of f.Runners stands.
func (f *Agentd) runnerPlace(i int) runnerPlace {
	if inline := len(f.Runners) - len(f.places); i >= inline {
		return f.places[i-inline]
	}
	return runnerPlace{f.document, []any{"runners", i}}
}

// ReadRunners adds the runners of the folder, one a file, in the order of their
// names. They name programs that will run, so nobody but their owner may be able to
// change them. A file that cannot be read is kept in mind as broken.
func (f *Agentd) ReadRunners() error {
	dir := f.runnersFolder()
	if dir == "" {
		return nil
	}
	if err := guarded(dir, fs.ModeDir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return unreadable("read runners: %w", err)
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".yaml" && ext != ".yml" || e.Name()[0] == '.' {
			continue
		}
		one, doc, err := readRunnerFile(filepath.Join(dir, e.Name()))
		if err != nil { // the others do not depend on it
			f.broken = append(f.broken, finding{strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())),
				filepath.Join(dir, e.Name()), err})
			continue
		}
		f.Runners = append(f.Runners, *one)
		f.places = append(f.places, runnerPlace{document: doc})
	}
	return nil
}

// runnersFolder is where runners have files of their own; empty: nowhere.
func (f *Agentd) runnersFolder() string {
	dir := f.RunnersDir
	switch {
	case dir != "" && !filepath.IsAbs(dir) && f.file != "" && !f.dirByFlag:
		return filepath.Join(filepath.Dir(f.file), dir)
	case dir != "" || f.file == "":
		return dir
	}
	dir = filepath.Join(filepath.Dir(f.file), runnersFolder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return dir
}

// Reread gives what the files offer by now. What cannot be read is broken in the offer, so that
// what it declared before stays. f itself does not change, nor does anything but runners, labels and capacity.
func (f *Agentd) Reread() agentd.Offer {
	next, lost := *f, []agentd.Broken(nil)
	next.Runners, next.places, next.broken = nil, nil, nil
	if f.file != "" {
		again, err := ReadAgentd(f.file)
		if err != nil {
			lost = append(lost, agentd.Broken{File: f.file, Why: InOneLine(err)})
		} else {
			next.Runners, next.document = again.Runners, again.document
			next.Labels, next.Capacity = again.Labels, again.Capacity
			if !f.dirByFlag {
				next.RunnersDir = again.RunnersDir
			}
		}
	}
	if err := next.ReadRunners(); err != nil {
		lost = append(lost, agentd.Broken{File: next.runnersFolder(), Why: InOneLine(err)})
	}
	offer := next.Offer()
	offer.Broken = append(lost, offer.Broken...)
	return offer
}

func readRunnerFile(name string) (*runnerFile, *document, error) {
	if err := guarded(name, 0); err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, cli.Usagef("read runner: %w; make it readable for agentd, or remove it", err)
	}
	return parseRunnerFile(name, string(text))
}

// unreadable says that a file or folder of the configuration cannot be read. It is wrong usage, and the last word of
// who was started by systemd, unless a disk fails or the machine is short of something: that may be over at the next
// start.
func unreadable(format string, err error) error {
	for _, passing := range []error{syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ESTALE,
		syscall.ETIMEDOUT, syscall.EINTR, syscall.EAGAIN} {
		if errors.Is(err, passing) {
			return cli.ExitWith(cli.ExitFailed, fmt.Errorf(format, err))
		}
	}
	return cli.Usagef(format, err)
}

// guarded refuses what anybody on this host could change.
func guarded(name string, want fs.FileMode) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			return cli.Usagef("read runners: there is no %s: correct runners_dir, or make the folder", name)
		}
		return unreadable("read runners: %w; correct runners_dir, or remove what is broken", err)
	case info.Mode().Type() != want && want == fs.ModeDir:
		return cli.Usagef("read runners: %s is not a folder; name one with a file for each runner", name)
	case info.Mode().Type() != want:
		return cli.Usagef("read runners: %s is not a file; remove it", name)
	case exposed(name, info) != "":
		return cli.Usagef("read runners: %s says what runs on this host and %s", name, exposed(name, info))
	}
	return nil
}

// parseRunnerFile reads a file with one runner.
func parseRunnerFile(name, text string) (*runnerFile, *document, error) {
	parsed, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, nil, mistakes(syntax(name, text, err, func() any { return &runnerFile{} }))
	}
	var doc *document
	one := &runnerFile{}
	for _, d := range parsed.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentGroupType {
			continue
		}
		if doc != nil {
			return nil, nil, placed(name, text, d.Body.GetToken(), "a second document: a file holds one runner")
		}
		doc = &document{file: name, text: text, body: d.Body}
		if d.Body.Type() == ast.SequenceType {
			return nil, nil,
				placed(name, text, d.Body.GetToken(), "a list: a file holds one runner, without a dash before its keys")
		}
		if all := doc.decodeAll(one); len(all) > 0 {
			return nil, nil, mistakes(all)
		}
	}
	if doc == nil {
		return nil, nil, placed(name, text, nil, "the file is empty: declare a runner in it, or remove it")
	}
	return one, doc, nil
}

// find gives the value below the runner that path names, or the nearest thing around
// it that is there.
func (p runnerPlace) find(path []any) *token.Token {
	node := p.document.body
	for _, step := range slices.Concat(p.path, path) {
		inner := below(node, step)
		if inner == nil {
			break
		}
		node = inner
	}
	// A mapping's own token is the colon of its first pair.
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

// below gives the value below a key or at an index, nil when there is none.
func below(node ast.Node, step any) ast.Node {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			if pair.Key.GetToken().Value == step {
				return pair.Value
			}
		}
	case *ast.MappingValueNode:
		if n.Key.GetToken().Value == step {
			return n.Value
		}
	case *ast.SequenceNode:
		if i, ok := step.(int); ok && i < len(n.Values) {
			return n.Values[i]
		}
	}
	return nil
}

// exposed tells who else could change a file, with the remedy; "" when nobody can but
// root and agentd's own account. A group of the owner's own (same number) is the owner.
func exposed(name string, info os.FileInfo) string {
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		return fmt.Sprintf("has mode %#o: anybody on this host could change it; chmod o-w %s", mode, name)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return ""
	case owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return fmt.Sprintf("belongs to account %d, which could change it; "+
			"chown it to root or to the account of agentd", owner.Uid)
	case mode&0o020 != 0 && owner.Gid != owner.Uid:
		return fmt.Sprintf("has mode %#o: group %d could change it; chmod g-w %s", mode, owner.Gid, name)
	}
	return ""
}
