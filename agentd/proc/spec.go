package proc

import (
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Names of the variables that mark the processes of a tree.
const (
	EnvHost        = "VIGIL_HOST"
	EnvAgent       = "VIGIL_AGENT_ID"
	EnvIncarnation = "VIGIL_INCARNATION"
)

// Mark names one life of one agent on one host. It travels in the environment of
// every process of the tree.
type Mark struct {
	Host        string // key of the host: unique among all clusters
	Agent       uint32
	Incarnation uint64
}

// Env gives the variables that carry the mark.
func (m Mark) Env() []string {
	return []string{
		EnvHost + "=" + m.Host,
		EnvAgent + "=" + strconv.FormatUint(uint64(m.Agent), 10),
		EnvIncarnation + "=" + strconv.FormatUint(m.Incarnation, 10),
	}
}

// In gives env with the variables that carry the mark at its beginning, where a look
// at a large environment finds them soon, and nowhere else: nobody else may set them.
func (m Mark) In(env []string) []string {
	all := m.Env()
	for _, v := range env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case EnvHost, EnvAgent, EnvIncarnation:
		default:
			all = append(all, v)
		}
	}
	return all
}

// Limits bound a tree; zero leaves the value that this process has.
//
// The first three hold for each process. They are set right after the start, so a
// program that forks in its first microseconds may have a child without them. The
// last two hold for the tree as a whole, from its first instruction on, and need a
// Cgroup that can enforce them.
type Limits struct {
	OpenFiles    uint64 // RLIMIT_NOFILE
	AddressSpace uint64 // RLIMIT_AS, bytes
	CoreSize     uint64 // RLIMIT_CORE, bytes
	Memory       uint64 // bytes of memory in use
	Pids         uint64 // processes and threads
}

// Spec says what to start. Env is the whole environment but for the mark.
type Spec struct {
	Mark       Mark
	Path       string   // absolute
	Args       []string // without the program's name
	Dir        string   // absolute
	Env        []string
	Credential *syscall.Credential // nil: as this process
	Limits     Limits
	Output     io.Writer // standard output and error; called by one goroutine

	PTY    bool    // the three streams are a terminal of the tree's own
	Cgroup *Cgroup // nil: the tree is held by its group and its mark only
	// Reap says that this process has no other children and is a subreaper: orphans
	// of the tree that come to it are reaped until the tree is done.
	Reap bool
	// FreezeLimit is how long a freeze may take before it has failed; 0: 5 s.
	FreezeLimit time.Duration
}

// Exit says how a leader ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // "killed", "terminated", ...; empty when it exited by itself
}
