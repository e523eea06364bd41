package runner

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"vigil/agentd/proc"
)

// Set is the runners of a host, checked.
type Set struct {
	byName map[string]*compiled
}

type compiled struct {
	Runner
	path    string
	args    []template
	params  map[string]*regexp.Regexp
	account *account // nil: the daemon's own
}

var (
	runnerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	paramName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Compile checks the runners against this host. The error is of type Faults and
// holds everything that was found.
func Compile(runners []Runner) (*Set, error) {
	set := &Set{byName: map[string]*compiled{}}
	var faults Faults
	for i, r := range runners {
		c := &checker{index: i, runner: &compiled{Runner: r}}
		c.check()
		if _, twice := set.byName[r.Name]; twice {
			c.fault(fmt.Sprintf("%q is declared twice", r.Name), "give each runner a name of its own", "name")
		}
		set.byName[r.Name] = c.runner
		faults = append(faults, c.faults...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return set, nil
}

// Names gives the names of the runners, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

type checker struct {
	index  int
	runner *compiled
	faults Faults
}

func (c *checker) fault(problem, remedy string, path ...any) {
	c.faults = append(c.faults, &Fault{Runner: c.index, Path: path, Problem: problem, Remedy: remedy})
}

func (c *checker) check() {
	r := c.runner
	if !runnerName.MatchString(r.Name) {
		c.fault(fmt.Sprintf("%q is not a name", r.Name), "use at most 64 lower-case letters, digits, - and _, beginning with a letter or digit", "name")
	}
	if r.StopGrace < 0 {
		c.fault(fmt.Sprintf("%s is negative", r.StopGrace), "give a duration such as 5s, or leave it out", "stop_grace")
	}
	c.checkUser()
	c.checkProgram()
	c.checkDirectory()
	c.checkEnv()
	c.checkParams()
	c.checkArgs()
	if r.Limits != (proc.Limits{}) && !limitsWork {
		c.fault("limits work on Linux only", "leave them out", "limits")
	}
}

func (c *checker) checkUser() {
	if c.runner.User == "" {
		return
	}
	a, problem, remedy := lookUp(c.runner.User)
	if problem != "" {
		c.fault(problem, remedy, "user")
		return
	}
	c.runner.account = a
}

func (c *checker) checkProgram() {
	program := c.runner.Program
	switch {
	case program == "":
		c.fault("no program is named", "give an absolute path, or a name to look for in "+SearchPath, "program")
		return
	case filepath.IsAbs(program):
		c.runner.path = filepath.Clean(program)
	case strings.ContainsRune(program, '/'):
		c.fault(fmt.Sprintf("%q depends on the current folder", program), "give an absolute path", "program")
		return
	default:
		c.runner.path = find(program)
		if c.runner.path == "" {
			c.fault(fmt.Sprintf("%q was not found in %s", program, SearchPath), "install it, or give its absolute path", "program")
			return
		}
	}
	if problem, remedy := checkExecutable(c.runner.path, c.runner.account); problem != "" {
		c.fault(problem, remedy, "program")
	}
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
			c.fault(fmt.Sprintf("%q is not the name of a parameter", name), "use at most 64 letters, digits, - and _", "params", name)
		}
		pattern := p.Pattern
		if pattern == "" {
			pattern = DefaultPattern
		}
		re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			c.fault(err.Error(), "write a regular expression as in https://golang.org/s/re2syntax", "params", name, "pattern")
			continue
		}
		r.params[name] = re
		if p.Default != nil && !re.MatchString(*p.Default) {
			c.fault(fmt.Sprintf("%q does not match the pattern %s", *p.Default, pattern), "change one of the two", "params", name, "default")
		}
	}
}

func (c *checker) checkArgs() {
	r := c.runner
	for i, arg := range r.Args {
		if strings.ContainsRune(arg, 0) {
			c.fault("the argument holds a zero byte", "remove it", "args", i)
		}
		t, err := parse(arg)
		if err != nil {
			c.fault(err.Error(), "close it with }, or write $${ for a literal ${", "args", i)
			continue
		}
		r.args = append(r.args, t)
		for _, name := range t.names() {
			c.checkPlaceholder(i, name)
		}
	}
}

func (c *checker) checkPlaceholder(i int, name string) {
	param, isParam := strings.CutPrefix(name, "param.")
	_, declared := c.runner.Params[param]
	switch {
	case isParam && declared || slices.Contains(variables(), name):
	case isParam:
		c.fault(fmt.Sprintf("parameter %q is not declared", param), "declare it under params", "args", i)
	case name == "VIGIL_TOKEN":
		c.fault("the token would be shown to everybody in the list of processes", "read VIGIL_TOKEN from the environment", "args", i)
	default:
		c.fault(fmt.Sprintf("${%s} is unknown", name), "use ${param.NAME}, ${"+strings.Join(variables(), "}, ${")+"}, or write $${ for a literal ${", "args", i)
	}
}

// credential gives what the kernel needs to know; nil: as the daemon.
func (c *compiled) credential() *syscall.Credential {
	if c.account == nil {
		return nil
	}
	return c.account.credential
}
