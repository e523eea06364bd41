package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// EnvMark is the variable that marks the processes of a tree. It is nobody's to set or to read but this
// package's: what agents are told of themselves is in variables of its own, which they and their tools
// may change for what they start.
const EnvMark = "VIGIL_MARK"

// maxMarks is how many hosts inside each other are marked: an agent may run an agentd.
const maxMarks = 8

// Mark names one life of one agent on one host. It travels in the environment of
// every process of the tree.
type Mark struct {
	Host        string // from HostMark; without ":" and ","
	Agent       uint32
	Incarnation uint64
}

// HostMark gives the name of a host in marks: unique among all clusters, and without what it is made
// from, which is a secret that agents must not read in their environment.
func HostMark(key string) string {
	sum := sha256.Sum256([]byte("vigil mark\x00" + key))
	return hex.EncodeToString(sum[:16])
}

func (m Mark) String() string {
	return m.Host + ":" + strconv.FormatUint(uint64(m.Agent), 10) + ":" + strconv.FormatUint(m.Incarnation, 10)
}

// Env gives the variable that carries the mark, and behind it those that this process carries
// itself: an agentd that an agent runs must not take its agents out of that agent's tree.
func (m Mark) Env() string {
	marks := []string{m.String()}
	for _, outer := range marksIn(os.Getenv(EnvMark)) {
		if len(marks) < maxMarks {
			marks = append(marks, outer.String())
		}
	}
	return EnvMark + "=" + strings.Join(marks, ",")
}

// In gives env with the mark at its beginning, where a look at a large environment finds it soon,
// and nowhere else.
func (m Mark) In(env []string) []string {
	all := []string{m.Env()}
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); name != EnvMark {
			all = append(all, v)
		}
	}
	return all
}

// marksIn reads the value of EnvMark, innermost first.
func marksIn(text string) (marks []Mark) {
	for part := range strings.SplitSeq(text, ",") {
		f := strings.Split(part, ":")
		if len(f) != 3 || f[0] == "" || len(marks) == maxMarks {
			continue
		}
		agent, err := strconv.ParseUint(f[1], 10, 32)
		inc, err2 := strconv.ParseUint(f[2], 10, 64)
		if err == nil && err2 == nil {
			marks = append(marks, Mark{f[0], uint32(agent), inc})
		}
	}
	return marks
}

// Containment is what holds the processes of a tree together, as measured by Contain.
type Containment string

// What can hold them.
const (
	// Sealed: nothing can leave the control group of the tree. Hosts say so only where each agent has an
	// account of its own too.
	Sealed Containment = "sealed"
	// Grouped: what leaves its group is found by its mark. A process that clears its environment is not.
	Grouped Containment = "group"
	// Weak: what leaves its process group is neither frozen nor killed.
	Weak Containment = "weak"
)

// Below tells whether c holds less than other.
func (c Containment) Below(other Containment) bool {
	order := []Containment{Weak, Grouped, Sealed}
	return slices.Index(order, c) < slices.Index(order, other)
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
