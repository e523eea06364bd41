package proc

import (
	"io"
	"strconv"
	"syscall"
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

// Limits bound each process of a tree; zero leaves the value that this process
// has. They are set right after the start, so a program that forks in its first
// microseconds may have a child without them.
type Limits struct {
	OpenFiles    uint64 // RLIMIT_NOFILE
	AddressSpace uint64 // RLIMIT_AS, bytes
	CoreSize     uint64 // RLIMIT_CORE, bytes
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
}

// Exit says how a leader ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // "killed", "terminated", ...; empty when it exited by itself
}
