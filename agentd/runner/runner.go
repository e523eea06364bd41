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
	// User is the account to run as; empty: where the daemon is root, an account for each agent, its
	// own in all its lives; elsewhere the daemon's.
	User string
	// Sudo lets the agents gain rights that their account does not have, by programs such as sudo, as
	// far as the host gives them any; else nothing that they run gets one.
	Sudo bool
	// Directory is absolute; empty: a folder of the agent's own, below the data
	// directory.
	Directory string
	// Env are fixed variables.
	Env map[string]string
	// Credentials are files of this host with secrets, absolute, by the variable in which an agent
	// finds the path of its copy. Each life gets what is in them when it starts.
	Credentials map[string]string
	// EnvAllow names what is passed through from the daemon's environment; nil:
	// DefaultEnvAllow. With another User, HOME, USER and LOGNAME come from the account.
	EnvAllow []string
	// Params are the values that an order may bring.
	Params map[string]Param
	// StopGrace is the longest time between SIGTERM and SIGKILL; 0: as ordered.
	StopGrace time.Duration
	// Limits bound the agent.
	Limits proc.Limits
	// Telemetry has the tools of the agents tell agentd by OpenTelemetry what they use.
	Telemetry bool

	// Kind is KindExec (or empty) or KindTmux.
	Kind string
	// PTY gives the program a terminal of its own; KindTmux always does.
	PTY bool
	// RunLimit is the longest life of an agent; 0: none. A shorter one of its role
	// wins.
	RunLimit time.Duration
	// ResumeArgs are appended to Args for an agent with a resume value, FreshArgs for
	// one without.
	ResumeArgs, FreshArgs []string
	// ResumePattern (RE2) must match a resume value that becomes (part of) an
	// argument; empty: DefaultPattern. The agent itself has chosen the value.
	ResumePattern string
	// UsageLimits recognize that the tool is out of quota, which is not a crash.
	UsageLimits []UsageLimit
	// Prompts recognize what an agent waits for by its terminal or output; the first that
	// fits counts. None: nobody looks.
	Prompts []Prompt
	// Requires are further programs that must be there, absolute or in SearchPath;
	// for runners whose program only calls another one.
	Requires []string
	// Optional: without its programs on this host the runner is left out, with a
	// warning, instead of being a fault.
	Optional bool

	// From is where the runner is declared, for messages; empty: its index.
	From string
	// File is the file that declares it; empty: there is none.
	File string
}

// Kinds of runners.
const (
	KindExec = "exec" // a process of its own
	KindTmux = "tmux" // a terminal that people can attach to; without tmux as KindExec
)

// MaxRunLimit and MaxRetryAfter bound what a runner may say.
const (
	MaxRunLimit   = 30 * 24 * time.Hour
	MaxRetryAfter = 24 * time.Hour
)

// UsageLimit recognizes by exit code and output that a tool is out of quota. At
// least one of Code and Pattern is set.
type UsageLimit struct {
	Code int // 1 to 255; 0: that of any error, which the end by a signal is not
	// Pattern (RE2) is looked for in the last lines of output; empty: any. A group
	// named seconds, minutes or hours says how long to wait, one named at until when: a time
	// of day such as 15:04 or 3pm in the agent's TZ, else of this host, after a date such as Sep 18
	// or a weekday where there is one, or seconds since 1970. One that passed less than two hours ago
	// is over: the wait is a minute.
	Pattern string
	// After counts where the pattern says nothing; 0: the cluster's usage_pause. At
	// most MaxRetryAfter.
	After time.Duration
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
