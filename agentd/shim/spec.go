package shim

import (
	"os"
	"path/filepath"
	"time"

	"vigil/agentd/proc"
)

// Version is the version of Spec and of the words on the socket. A newer agentd
// speaks to older shims: fields are only added.
const Version = 1

// Files of a life folder.
const (
	LockFile    = "lock"         // held (flock) from before a shim has the life until the shim is gone
	IntentFile  = "intent.json"  // by agentd, fsynced before the fork
	StartedFile = "started.json" // by the shim, after the program was executed
	ExitFile    = "exit.json"    // by the shim, fsynced, after nothing of the tree is left
	SocketFile  = "sock"         // reached through the folder's descriptor: paths may be long
	NoteFile    = "shim.log"     // what a shim that fails has to say; empty otherwise
	AgentSocket = "api"          // the local door of the life, for its agent
	SpoolFolder = "spool"        // completions that could not be delivered; owned by the agent's user
	// SecretsFolder holds files that only the agent's user can read, until the life has ended: see Forget.
	SecretsFolder = "secrets"
)

// Forget removes the secrets of a life that has ended, or never began. Whatever cannot be removed goes with the
// life folder.
func Forget(folder string) { _ = os.RemoveAll(filepath.Join(folder, SecretsFolder)) }

// Spec is what a shim must know. agentd writes it to the shim's standard input as
// one JSON document; a shim that reads less than all of it starts nothing. Variables of the
// runner may be secrets of its owner: it is never written to disk.
type Spec struct {
	Version int
	Folder  string // the life folder, absolute
	Mark    proc.Mark
	Agent   string // room/role or room/role.2
	Runner  string
	Kind    string // "exec" or "tmux"

	Path       string
	Args       []string // without the program's name
	Dir        string
	Env        []string // complete but for the marks of package proc
	Credential *Credential
	Sudo       bool // it may gain rights that its account does not have, by programs such as sudo
	Limits     proc.Limits
	PTY        bool

	RunLimit  time.Duration // longest life; 0: none
	StopGrace time.Duration // between SIGTERM and SIGKILL when the shim itself ends the life; 0: 5 s
	Usage     []UsageRule

	TTL         time.Duration // of the fence
	OrphanLimit time.Duration // ended when no agentd is connected for longer; 0: never
	// Acknowledged is when the newest acknowledged fence beat (or the acceptance)
	// was sent, by CLOCK_BOOTTIME.
	Acknowledged time.Duration

	// Agentd is the socket on which agentd takes calls of agents, absolute; empty: the agent
	// gets no socket.
	Agentd string

	// Telemetry is the socket on which agentd takes telemetry of agents, absolute; empty: this life sends
	// none, and gets no port for it.
	Telemetry string

	LogFolder string // of output.Config
	LogBytes  int64
	LogKeep   int
}

// Credential is whom the agent runs as.
type Credential struct {
	UID, GID uint32
	Groups   []uint32
}

// owner is whom the agent runs as.
func (s *Spec) owner() int {
	if s.Credential != nil {
		return int(s.Credential.UID)
	}
	return os.Geteuid()
}

// UsageRule recognizes that a tool is out of quota: by the exit code (0: that of any error, which
// neither 0 nor the end by a signal is), and by a pattern (RE2) on the last lines of output (empty: any).
// The group named "seconds", "minutes" or "hours" says how long; "at" a clock time such as 15:04, 3pm
// or Sep 18 at 3am
// in the zone of the agent; else After counts.
type UsageRule struct {
	Code    int
	Pattern string
	After   time.Duration

	zone *time.Location // see inZone; nil: that of the host
}

// Started is the content of StartedFile.
type Started struct {
	Version   int    // of the shim
	PID       int    // of the agent's first process
	PIDStart  uint64 // its start time in clock ticks since boot, as in /proc/PID/stat
	Shim      int
	ShimStart uint64
	Boot      string // kernel's boot id
	Degraded  string // for people; empty: all is as asked for
	Mark      proc.Mark
	Groups    []string // folders of the life's control groups
	Socket    string   // of the agent, EnvSocket; empty: there is none
	// By the wall clock: when the shim took the life up, and when the program was executed.
	Ready, Executed time.Time
}

// Exit is the content of ExitFile: how a life ended, after its whole tree was seen
// empty.
type Exit struct {
	Code       int // -1: ended by Signal
	Signal     string
	Reason     string // a sentence, when the shim ended it or could not start it
	Tail       string // last output
	NotStarted bool   // no program was executed; Reason says why
	TimedOut   bool   // its run limit ended it
	Ordered    bool   // ended on purpose: a stop, or the dead-man's switch
	UsageLimit bool
	RetryAfter time.Duration // 0: unknown
	Vanished   bool          // the shim is gone and left no record (only from Shim.Wait)
	At         time.Time     // when the tree was seen empty, by the wall clock; zero: nobody has seen it
}
