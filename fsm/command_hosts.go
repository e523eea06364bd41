package fsm

import (
	"time"

	"vigil/fsm/noun"
)

// What hosts say and what is said about them, and what duties plan; see Command.

// --- hosts

// Running is one line of a host's inventory.
type Running struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	PID   uint32
}

// RegisterHost introduces a host or brings it back. What the state believes to
// run there under the same boot and Inventory does not list is gone.
type RegisterHost struct {
	Key, Name, Boot, Version string
	Runners                  []string
	Labels                   []noun.KV
	Capacity                 uint32
	Inventory                []Running
	// Taken is when the inventory was taken, in nanoseconds of the host's own clock
	// since Boot; 0: unknown. What arrives late must not bury what was started since.
	Taken      uint64
	Warnings   []string // for people, at most MaxWarnings of MaxReason bytes
	GossipAddr string
	Servers    []string // API addresses that it knows, at most MaxHostServers
	// Containment is what holds an agent's processes together there: sealed, group or weak; empty: unknown.
	Containment string
}

// LeaveHost is a host's good-bye; what it ran must have been reported before.
type LeaveHost struct{ Key, Boot string }

// SuspectHost is the leader's doubt, or the end of it (planned).
type SuspectHost struct {
	Host    noun.HostID
	Suspect bool
	Reason  string
}

// ReportViews is what a server hears of hosts, of which something has changed. All
// says that it is everything: hosts that are not in it are heard in no way.
type ReportViews struct {
	Server string
	Views  []noun.HostView
	All    bool
}

// SurrenderHost gives up the lives of fast roles on a host of which gossip and
// stream agree that it is gone (planned).
type SurrenderHost struct {
	Host   noun.HostID
	Reason string
}

// DrainBySelf is who drains a host whose agentd was told to hand its agents over
// and leave: not a human's wish, so it ends with the host's good-bye.
const DrainBySelf = "its agentd, which is shutting down"

// DrainHost is a human's wish that nothing runs on a host; Off ends it. After
// Deadline (0: never) what still holds a task is stopped too.
type DrainHost struct {
	Host     noun.HostID
	Off      bool
	Deadline time.Duration
	By       string
}

// ConfirmDead is a human's word that nothing of a host runs any more: its lives
// are over at once. Refused for a host that is heard, unless Force.
type ConfirmDead struct {
	Host  noun.HostID
	Force bool
	By    string
}

// ForgetHost removes a lost or left host on which no life is left.
type ForgetHost struct {
	Host noun.HostID
	By   string
}

// ReportPressure says why a host takes no starts at the moment; empty: it does.
type ReportPressure struct {
	Host   noun.HostID
	Boot   string
	Reason string
}

// NoteNudge notes that something is typed into the terminal of an agent's present life
// (which the cluster does not see): an event, and nothing else.
type NoteNudge struct {
	Agent  string // room/role or room/role.2
	By     string
	Reason string
}

// ReportStuck says that something of an incarnation outlives SIGKILL; empty: no more.
type ReportStuck struct {
	Host   noun.HostID
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

// AcceptOrder is what a host commits before it forks: from here on the fence
// holds, and only an exit report or the end of the fence ends it.
type AcceptOrder struct {
	Host      noun.HostID
	Boot      string
	Agent     noun.AgentID
	Inc       noun.Incarnation
	TokenHash []byte
}

// ReportStarted gives the pid of an accepted incarnation.
type ReportStarted struct {
	Host  noun.HostID
	Agent noun.AgentID
	Inc   noun.Incarnation
	PID   uint32
}

// ReportExit says that nothing of the incarnation runs any more. It is
// idempotent by incarnation.
type ReportExit struct {
	Host   noun.HostID
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Kind   noun.ExitKind // ExitStartFailed, ExitOrdered, ExitTimedOut, ExitUsageLimit, or ExitNone: judged from code and order
	Code   int32
	Signal string
	Reason string
	Tail   string
	// RetryAfter is how long the usage limit lasts (ExitUsageLimit); 0: unknown.
	RetryAfter time.Duration
}

// --- planned by duties

// OrderStart opens the start order of incarnation Inc, which must be the next one.
type OrderStart struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	Host  noun.HostID
}

// OrderStop opens a stop order for the running incarnation.
type OrderStop struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

// CancelOrder withdraws a start order that no host has accepted.
type CancelOrder struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

// HostBeats are the renewals of one host (Host 0: of an agent started by hand).
// They are packed by PackBeats; a beat is answered by an exception or by silence.
type HostBeats struct {
	Host   noun.HostID
	Boot   string
	Packed []byte
}
