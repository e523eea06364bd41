package fsm

import (
	"time"

	"vigil/fsm/noun"
)

// Command is one change that is asked of the state. The set is closed: every
// implementation is in this file, command_hosts.go or command_mail.go and has one arm in
// State.execute.
type Command interface{ command() }

// Request is a command with what makes it safe to repeat. Session 0 means that
// the command is idempotent by itself or that the caller does not retry.
type Request struct {
	Session noun.SessionID
	Seq     uint64 // from 1, grows by one a write; 0 with Session 0
	Planned bool   // by a duty of the leader; refused when the stint is over
	Cmd     Command
	// Word is what the command proves as a word of an incarnation. It is no part of the
	// record: whoever seals the entry puts what is still fresh into Entry.Words.
	Word Word
}

// Entry is one log entry: what Apply reads besides the state. Order inside:
// clock, renewals, due timers, commands.
type Entry struct {
	Index uint64
	Term  uint64 // of the log entry
	// Stint is the term in which the leader sealed it. When it is not Term, the
	// stamp is ignored and planned commands are refused.
	Stint    uint64
	Stamp    noun.Time
	Wall     noun.Wall
	Beats    []HostBeats
	Requests []Request
	Words    []byte // renewals by the words among Requests, packed by PackWords
}

// --- stints, sessions, settings, servers

// LeaderEstablished opens a stint; its answer carries the clock to start from.
type LeaderEstablished struct{ Server, APIAddr string }

// PutServer records what a server says of itself.
type PutServer noun.Server

// DropServer forgets a server that was removed from the cluster.
type DropServer struct{ ID string }

// OpenSession gives out a session id.
type OpenSession struct{ Client string }

// CloseSession forgets a session and its answers.
type CloseSession struct{}

// PutSettings changes settings by name; all or none.
type PutSettings struct {
	Values []noun.KV
	By     string
}

// Mark asks all servers to hash the state at this entry; Voters say how many
// reports there can be.
type Mark struct{ Voters []string }

// ReportHash is a server's answer to the Mark at Index.
type ReportHash struct {
	Server string
	Index  uint64
	Hash   []byte
}

// RaiseEpoch follows the restore of a backup: incarnations of the new epoch are
// greater than any that the backup does not know of, and nothing is started
// before cluster time has moved on by Hold.
type RaiseEpoch struct{ Hold time.Duration }

// LeaderUnreached says that a leader gives its office to another server, since nobody
// reaches its API.
type LeaderUnreached struct {
	Server, To string
	Silent     time.Duration // since somebody last reached it
}

// --- rooms and tasks

// ApplyRoom creates or changes a room so that it has exactly these roles.
type ApplyRoom struct {
	Room  string
	Roles []noun.RoleSpec
	By    string
	IfRev uint64 // 0: whatever it is now
	// Watch is what the room sets for the watchdog; none: it stays as it is. At most one.
	Watch []noun.RoomWatch
	// Now ends agents beyond the replicas although they are at work; else they finish first.
	Now bool
	// Gentle refuses what would end agents at work.
	Gentle bool
}

// DeleteRoom stops the room's agents, cancels its tasks, and removes it when
// nothing of it runs any more.
type DeleteRoom struct {
	Room  string
	By    string
	IfRev uint64
	// Gentle refuses what would end agents at work or cancel tasks.
	Gentle bool
}

// CreateTask adds a task to a role's queue.
type CreateTask struct {
	Room, Role, Title, Text, By string
	Priority                    int32
	// Expect is how long each attempt may take, MinExpect to MaxExpect; 0: what its role
	// says.
	Expect time.Duration
}

// CancelTask ends a task by a human's word (law L9).
type CancelTask struct {
	Task       noun.TaskID
	IfRev      uint64
	By, Reason string
}

// RetryTask puts a FAILED, CANCELED or QUARANTINED task back into the queue.
type RetryTask struct {
	Task  noun.TaskID
	IfRev uint64
	By    string
}

// --- words of an incarnation

// Speaker identifies the incarnation that says something. TokenHash is compared
// when the incarnation was given a token.
type Speaker struct {
	Agent     string // room/role or room/role.2
	Inc       noun.Incarnation
	TokenHash []byte
}

// Join makes the incarnation WAITING. With Inc 0 it is a start by hand: the agent
// named, or the first free one of the role when Agent ends in "/role.*".
type Join struct{ Speaker }

// Leave makes it DISCONNECTED at once and recovers what it held (law L5).
type Leave struct {
	Speaker
	Reason string
}

// Claim takes the named task, or with 0 the first PENDING one of its role. An
// incarnation that already holds a task gets the same one again.
type Claim struct {
	Speaker
	Task noun.TaskID
}

// Work names the attempt that a word about a task belongs to.
type Work struct {
	Speaker
	Task    noun.TaskID
	Attempt uint32
}

// StartTask says that work has begun.
type StartTask struct{ Work }

// ProgressTask notes progress.
type ProgressTask struct {
	Work
	Note    string
	Percent noun.Percent // 0: not said
	// Expect is how long the rest takes, MinExpect to MaxExpect; 0: not said.
	Expect time.Duration
}

// CompleteTask ends a task with a result.
type CompleteTask struct {
	Work
	Result string
}

// FailTask ends a task with a reason; Retryable puts it back while attempts are left.
type FailTask struct {
	Work
	Reason    string
	Retryable bool
}

// Handoff completes a task and creates the next role's task, both or neither.
type Handoff struct {
	Work
	Result   string
	ToRole   string // of the same room
	Title    string
	Text     string
	Priority int32
}

// SetResume registers what the next incarnation gets as VIGIL_RESUME.
type SetResume struct {
	Speaker
	Resume string
}

// Declare is what an incarnation says of its own condition; each one is also a health
// report.
type Declare struct {
	Speaker
	Status  noun.DeclaredStatus
	Waiting noun.Waiting
	// For is how long it holds: 0 exactly for what has no end of its own (healthy,
	// degraded, busy without an end), at most what DeclareLimit of State allows.
	For  time.Duration
	Text string // for people, at most MaxReason bytes; never in a server's log
	// Seq numbers the declarations of a life: one that is not above the last is
	// answered and changes nothing. 0: not numbered.
	Seq uint64
}

// --- agents, by a human

// SetAgent is a durable stop or start of one agent. Fresh forgets its resume value.
type SetAgent struct {
	Agent string
	Stop  bool
	By    string
	IfRev uint64
	Fresh bool
	// Reason is why, for people: it becomes the agent's IntentWhy.
	Reason string
}

// RestartAgent stops the running incarnation; the next start is not charged.
type RestartAgent struct {
	Agent string
	By    string
	Fresh bool // without the resume value
	// Reason is why, for people.
	Reason string
}

// SetPause pauses or resumes everything (Scope ""), a room ("room") or an agent
// ("room/role.2"): while paused nothing is started and no new task is claimed;
// what runs goes on.
type SetPause struct {
	Scope      string
	Pause      bool
	By, Reason string
}

// UnparkAgent ends a back-off, an open breaker or a usage-limit pause.
type UnparkAgent struct{ Agent, By string }

// UnquarantineTask puts a QUARANTINED task back into the queue, its deaths forgiven.
type UnquarantineTask struct {
	Task  noun.TaskID
	IfRev uint64
	By    string
}

// ReleaseBrake ends the mass-failure brake by a human's word.
type ReleaseBrake struct{ By string }

func (LeaderEstablished) command() {}
func (PutServer) command()         {}
func (DropServer) command()        {}
func (OpenSession) command()       {}
func (CloseSession) command()      {}
func (PutSettings) command()       {}
func (Mark) command()              {}
func (ReportHash) command()        {}
func (RaiseEpoch) command()        {}
func (LeaderUnreached) command()   {}
func (ApplyRoom) command()         {}
func (DeleteRoom) command()        {}
func (CreateTask) command()        {}
func (CancelTask) command()        {}
func (RetryTask) command()         {}
func (Join) command()              {}
func (Leave) command()             {}
func (Claim) command()             {}
func (StartTask) command()         {}
func (ProgressTask) command()      {}
func (CompleteTask) command()      {}
func (FailTask) command()          {}
func (Handoff) command()           {}
func (SetResume) command()         {}
func (Declare) command()           {}
func (SendMail) command()          {}
func (ReadMail) command()          {}
func (AckMail) command()           {}
func (SetAgent) command()          {}
func (RestartAgent) command()      {}
func (SetPause) command()          {}
func (UnparkAgent) command()       {}
func (UnquarantineTask) command()  {}
func (ReleaseBrake) command()      {}
func (ReportViews) command()       {}
func (SurrenderHost) command()     {}
func (DrainHost) command()         {}
func (ConfirmDead) command()       {}
func (ForgetHost) command()        {}
func (ReportPressure) command()    {}
func (ReportStuck) command()       {}
func (NoteNudge) command()         {}
func (RegisterHost) command()      {}
func (LeaveHost) command()         {}
func (SuspectHost) command()       {}
func (AcceptOrder) command()       {}
func (ReportStarted) command()     {}
func (ReportExit) command()        {}
func (OrderStart) command()        {}
func (OrderStop) command()         {}
func (CancelOrder) command()       {}
