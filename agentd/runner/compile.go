package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"vigil/agentd/proc"
	"vigil/agentd/tmux"
)

// Set is the runners of a host, checked.
type Set struct {
	byName   map[string]*compiled
	tools    string
	warnings []string
}

// Host is what Compile must know of the host.
type Host struct {
	// Tools is the folder where agents find the program vigil: it is on their PATH after everything
	// else; empty: none.
	Tools string
	// DataDir is where agents that run as accounts of their own have their homes.
	DataDir string
	// Probe is an account that nobody has, like those which agents get that have one of their own: those
	// of runners that name no User. 0: there are none on this host, and NoAccounts may say why.
	Probe      uint32
	NoAccounts error
}

type compiled struct {
	Runner
	path          string
	args          []template
	resume, fresh []template // what follows args
	resumed       *regexp.Regexp
	params        map[string]*regexp.Regexp
	prompts       Prompts
	account       *account // nil: the daemon's own
	warnings      []string
}

var (
	runnerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	paramName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Compile checks the runners against this host. The error is of type Faults and holds everything
// that was found.
func Compile(runners []Runner, host Host) (*Set, error) {
	tools := host.Tools
	set := &Set{byName: map[string]*compiled{}, tools: tools}
	var faults Faults
	first := map[string]int{}
	_, noTmux := tmux.Find()
	for i, r := range runners {
		c := &checker{index: i, host: host, runner: &compiled{Runner: r}}
		c.check()
		if other, twice := first[r.Name]; twice {
			c.fault(fmt.Sprintf("%q is declared twice, first in %s", r.Name, from(runners, other)),
				"give each runner a name of its own", "name")
		} else {
			first[r.Name] = i
		}
		faults = append(faults, c.faults...)
		if c.missing != "" {
			set.warnings = append(set.warnings, fmt.Sprintf("runner %s is not offered: %s; install it",
				r.Name, c.missing))
			continue
		}
		if r.Kind == KindTmux && noTmux != nil {
			c.runner.warnings = append(c.runner.warnings,
				fmt.Sprintf("runner %s starts its agents without a terminal: %v", r.Name, noTmux))
		}
		if problem := c.runner.lacksVigil(tools); problem != "" {
			c.runner.warnings = append(c.runner.warnings,
				fmt.Sprintf("agents of runner %s do not find vigil: %s", r.Name, problem))
		}
		set.warnings = append(set.warnings, c.runner.warnings...)
		set.byName[r.Name] = c.runner
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return set, nil
}

// from says where a runner is declared.
func from(runners []Runner, i int) string {
	if runners[i].From != "" {
		return runners[i].From
	}
	return fmt.Sprintf("runners[%d]", i)
}

// Warnings are sentences about what this host cannot do as declared, in the order of
// the runners.
func (s *Set) Warnings() []string { return slices.Clone(s.warnings) }

// OwnAccounts stands in Accounts for those of which each agent has one to itself. No account has such a name.
const OwnAccounts = "accounts of their own"

// Accounts gives whom the agents run as, by name; nil: this process's own account, "". One stands for
// all of OwnAccounts.
func (s *Set) Accounts() map[string]*syscall.Credential {
	all := map[string]*syscall.Credential{}
	for _, c := range s.byName {
		if c.account == nil || c.account.credential == nil {
			all[""] = nil
			continue
		}
		all[c.account.name] = c.account.credential
	}
	return all
}

// Names gives the names of the runners, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Declared gives the runners as they were declared, by name.
func (s *Set) Declared() (all []Runner) {
	for _, name := range s.Names() {
		all = append(all, s.byName[name].Runner)
	}
	return all
}

// Keep takes over a runner of an earlier set as it was checked then. It reports false, and changes
// nothing, when there is none or this set has one of that name. Not while others use this set.
func (s *Set) Keep(earlier *Set, name string) bool {
	r := earlier.byName[name]
	if r == nil || s.byName[name] != nil {
		return false
	}
	s.byName[name] = r
	s.warnings = append(s.warnings, r.warnings...)
	return true
}

// Since compares the set with an earlier one; all names are sorted. A runner has changed when its
// declaration has, or what it was found to mean on this host.
func (s *Set) Since(earlier *Set) (added, gone, changed []string) {
	for _, name := range s.Names() {
		switch was := earlier.byName[name]; {
		case was == nil:
			added = append(added, name)
		case !s.byName[name].same(was):
			changed = append(changed, name)
		}
	}
	for _, name := range earlier.Names() {
		if s.byName[name] == nil {
			gone = append(gone, name)
		}
	}
	return added, gone, changed
}

// same leaves out where the runners are declared.
func (c *compiled) same(other *compiled) bool {
	a, b := c.Runner, other.Runner
	a.From, a.File, b.From, b.File = "", "", "", ""
	return reflect.DeepEqual(a, b) && c.path == other.path && reflect.DeepEqual(c.account, other.account)
}

type checker struct {
	index  int
	host   Host
	runner *compiled
	faults Faults
	// missing is what an optional runner lacks.
	missing string
}

func (c *checker) fault(problem, remedy string, path ...any) {
	c.faults = append(c.faults, &Fault{Runner: c.index, Path: path, Problem: problem, Remedy: remedy})
}

func (c *checker) check() {
	r := c.runner
	if !runnerName.MatchString(r.Name) {
		c.fault(fmt.Sprintf("%q is not a name", r.Name),
			"use at most 64 lower-case letters, digits, - and _, beginning with a letter or digit", "name")
	}
	if r.StopGrace < 0 {
		c.fault(fmt.Sprintf("%s is negative", r.StopGrace), "give a duration such as 5s, or leave it out", "stop_grace")
	}
	c.checkUser()
	c.checkProgram()
	c.checkDirectory()
	c.checkEnv()
	c.checkCredentials()
	c.checkParams()
	r.args = c.checkArgs("args", r.Args)
	r.resume = c.checkArgs("resume_args", r.ResumeArgs)
	r.fresh = c.checkArgs("fresh_args", r.FreshArgs)
	c.checkResume()
	c.checkLife()
	c.checkUsageLimits()
	c.checkPrompts()
	if r.Limits != (proc.Limits{}) && !limitsWork {
		c.fault("limits work on Linux only", "leave them out", "limits")
	}
}

func (c *checker) checkUser() {
	if c.runner.User == "" {
		c.checkOwnAccounts()
		return
	}
	a, problem, remedy := lookUp(c.runner.User)
	if problem != "" {
		c.fault(problem, remedy, "user")
		return
	}
	c.runner.account = a
}

// checkOwnAccounts has each agent run as an account of its own where this process may start such.
func (c *checker) checkOwnAccounts() {
	switch {
	case os.Geteuid() != 0:
		return
	case c.host.NoAccounts != nil:
		c.fault("its agents get no accounts of their own: "+c.host.NoAccounts.Error(), "or name an account (user)")
		return
	case c.host.Probe == 0:
		c.fault("its agents would run as root, as agentd does", "name an account, or say user: root", "user")
		return
	}
	a := ownAccount(c.host.Probe)
	c.runner.account = a
	if closed := a.shutOut(c.host.DataDir); closed != "" {
		c.fault(fmt.Sprintf("its agents cannot enter their homes, because %s is closed to other accounts", closed),
			"chmod o+x it, or give agentd another data_dir")
	}
}

func (c *checker) checkProgram() {
	if c.runner.Program == "" {
		c.fault("no program is named", "give an absolute path, or a name to look for in "+SearchPath, "program")
		return
	}
	c.runner.path = c.locate(c.runner.Program, "program")
	for i, program := range c.runner.Requires {
		c.locate(program, "requires", i)
	}
}

// locate finds a program that is named at a place, and checks that it can be run.
func (c *checker) locate(program string, place ...any) (path string) {
	switch {
	case filepath.IsAbs(program):
		path = filepath.Clean(program)
		if _, err := os.Stat(path); c.runner.Optional && errors.Is(err, fs.ErrNotExist) {
			c.missing = path + " does not exist"
			return ""
		}
	case strings.ContainsRune(program, '/'):
		c.fault(fmt.Sprintf("%q depends on the current folder", program), "give an absolute path", place...)
		return ""
	default:
		if path = find(program); path == "" {
			problem := fmt.Sprintf("%q was not found in %s", program, SearchPath)
			if c.missing = problem; !c.runner.Optional {
				c.fault(problem, "install it, give its absolute path, or say optional: true", place...)
			}
			return ""
		}
	}
	if problem, remedy := checkExecutable(path, c.runner.account); problem != "" {
		c.fault(problem, remedy, place...)
	}
	return path
}

func (c *checker) checkDirectory() {
	dir := c.runner.Directory
	if dir == "" {
		return
	}
	if !filepath.IsAbs(dir) {
		c.fault(fmt.Sprintf("%q depends on the current folder", dir), "give an absolute path", "directory")
		return
	}
	if problem, remedy := checkFolder(dir); problem != "" {
		c.fault(problem, remedy, "directory")
	}
}

func (c *checker) checkEnv() {
	for _, name := range slices.Sorted(maps.Keys(c.runner.Env)) {
		if problem, remedy := checkEnvName(name); problem != "" {
			c.fault(problem, remedy, "env", name)
		}
		if strings.ContainsRune(c.runner.Env[name], 0) {
			c.fault("the value holds a zero byte", "remove it", "env", name)
		}
	}
	for i, name := range c.runner.EnvAllow {
		if problem, remedy := checkEnvName(name); problem != "" {
			c.fault(problem, remedy, "env_allow", i)
		}
	}
}

func checkEnvName(name string) (problem, remedy string) {
	if !envName.MatchString(name) {
		return fmt.Sprintf("%q is not the name of a variable", name), "use letters, digits and _"
	}
	if strings.HasPrefix(name, "VIGIL_") {
		return fmt.Sprintf("%s belongs to vigil, which sets it itself", name), "use another name"
	}
	return "", ""
}

func (c *checker) checkParams() {
	r := c.runner
	r.params = map[string]*regexp.Regexp{}
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		p := r.Params[name]
		if !paramName.MatchString(name) {
			c.fault(fmt.Sprintf("%q is not the name of a parameter", name),
				"use at most 64 letters, digits, - and _", "params", name)
		}
		pattern := p.Pattern
		if pattern == "" {
			pattern = DefaultPattern
		}
		re, err := whole(pattern)
		if err != nil {
			c.fault(err.Error(), "write a regular expression as in https://golang.org/s/re2syntax",
				"params", name, "pattern")
			continue
		}
		r.params[name] = re
		if p.Default != nil && !re.MatchString(*p.Default) {
			c.fault(fmt.Sprintf("%q does not match the pattern %s", *p.Default, pattern),
				"change one of the two", "params", name, "default")
		}
	}
}

// own tells whether each agent has an account of its own.
func (c *compiled) own() bool { return c.account != nil && c.account.own }

// credential gives what the kernel needs to know; nil: as the daemon, or as own says.
func (c *compiled) credential() *syscall.Credential {
	if c.account == nil || c.account.own {
		return nil
	}
	return c.account.credential
}

// whole compiles a pattern that must match all of a value. It is compiled by itself
// first, so that a mistake is told in the words of whoever wrote it.
func whole(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}
