package runner

import (
	"fmt"
	"strings"
	"time"

	"vigil/agentd/proc"
)

// SearchPath is where a program without a folder is looked for. It is fixed, so
// that the environment of the daemon does not decide what runs.
const SearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// DefaultEnvAllow are the variables that every agent gets from the daemon's own
// environment when its runner names none.
func DefaultEnvAllow() []string { return []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"} }

// Runner is one way to start agents, as its owner wrote it down.
type Runner struct {
	// Name is what roles name: [a-z0-9][a-z0-9_-]*, at most 64 bytes.
	Name string
	// Program is absolute, or looked for once in SearchPath.
	Program string
	// Args may hold ${VIGIL_ROOM} and its kin, and ${param.NAME}. $${ is a literal ${.
	Args []string
	// User is the account to run as; empty: the daemon's own.
	User string
	// Directory is absolute; empty: a folder of the agent's own, below the data
	// directory.
	Directory string
	// Env are fixed variables.
	Env map[string]string
	// EnvAllow names what is passed through from the daemon's environment; nil:
	// DefaultEnvAllow. With User, HOME, USER and LOGNAME come from the account.
	EnvAllow []string
	// Params are the values that an order may bring.
	Params map[string]Param
	// StopGrace is the longest time between SIGTERM and SIGKILL; 0: as ordered.
	StopGrace time.Duration
	// Limits bound each process of the agent.
	Limits proc.Limits
}

// Param declares a value that an order may bring.
type Param struct {
	// Pattern is a regular expression (RE2) that the whole value must match; empty:
	// DefaultPattern.
	Pattern string
	// Default is used when the order brings no value; nil: the order must.
	Default *string
}

// DefaultPattern keeps a value from looking like an option or a folder above.
const DefaultPattern = `[A-Za-z0-9_][A-Za-z0-9_.:@+=-]*`

// MaxValue is the longest value of a parameter, in bytes.
const MaxValue = 4 << 10

// Fault is one thing that is wrong with the declared runners.
type Fault struct {
	Runner  int   // index in the list
	Path    []any // keys and indexes below the runner; empty: the runner itself
	Problem string
	Remedy  string
}

// Place writes the path down: runners[0].args[2].
func (f *Fault) Place() string {
	where := fmt.Sprintf("runners[%d]", f.Runner)
	for _, step := range f.Path {
		if i, ok := step.(int); ok {
			where += fmt.Sprintf("[%d]", i)
		} else {
			where += fmt.Sprintf(".%v", step)
		}
	}
	return where
}

// Error says where, what, and what to do.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %s; %s", f.Place(), f.Problem, f.Remedy) }

// Faults are all that is wrong.
type Faults []*Fault

// Error lists the faults, one a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}
