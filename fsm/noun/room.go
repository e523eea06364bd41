package noun

import (
	"slices"
	"time"
)

// Room is one conversation or project: its roles, tasks and events. Checked by Checker.room of
// package core: PauseEnd is set only while it is paused and not being deleted, its timer is set for
// that, and it is not over, unless timers are due that the next entry fires.
type Room struct {
	ID        RoomID
	Name      string
	Roles     []RoleID // in the order of the file that declared them
	Deleting  bool     // a delete is durable: no new task, start or join; gone once nothing runs
	CreatedAt Wall
	ChangedBy string // who applied or deleted it last
	Rev       uint64 // log index of the last change

	// Pause (law L9): its agents are not started and get no new tasks.
	Paused   bool
	PauseBy  string
	PauseAt  Wall
	PauseWhy string

	// The conversation watchdog, see watchdog.go. Times are zero while
	// it has not begun.
	Watch    RoomWatch
	Active   Time // of the last thing done or said in it
	ActiveAt Wall
	Quiet    Time          // its silence begins here at the earliest: Active, or the end of an excuse
	Opened   Time          // since when it has open tasks
	Warned   Time          // of its last silence; void once the silence has ended
	Canceled *Cancellation // the last one, until it is reopened; replaced, never changed

	Asked []MailID // inquiries of the watchdog that wait for an answer; replaced, never changed

	Clearing bool // it is being deleted, and later entries go on with that; see fsm/core/clear.go
	Lived    bool // an agent has joined it since it was created

	PauseEnd End // of Paused

	Spend SpendLimit // the room's budget
	Spent *Spent     // nil: nothing was used; replaced, never changed

	Sweep *Sweep // what later entries go on with, see package silence; nil: nothing; replaced, never changed

	Unserved bool // the last warning went to a human, since nobody was there who could have been silent
}

// ResumedWork tells that the room has got new work since the watchdog canceled it: it is not
// called canceled any more, although its canceled tasks may still be brought back.
func (r *Room) ResumedWork() bool { return r.Canceled != nil && r.Opened > r.Canceled.At }

// Desired is what a human wants of an agent (law L9).
type Desired uint8

// Desired states.
const (
	DesiredRunning Desired = iota
	DesiredStopped
	DesiredPaused // nothing new is started or claimed; what runs goes on
)

// StartMode tells when a wanted agent is started.
type StartMode uint8

// Start modes: always, or only while a task of the role waits for somebody.
const (
	StartAlways StartMode = iota
	StartOnDemand
)

// Proof tells who proves the life of an agent while it works on a task.
type Proof uint8

// Proofs: the supervising process vouches for it, or the agent beats by itself.
const (
	ProofProcess Proof = iota
	ProofAgent
)

// Policy tells when another host may start an agent whose host is silent.
type Policy uint8

// Policies: after the end of the fence, as soon as stream and gossip agree that the host is
// gone, or never by time: only after an exit report or a human's word. The numbers are written
// to disk.
const (
	PolicyFenced Policy = iota
	PolicyFast
	PolicyConfirm
)

var policyNames = [...]string{"fenced", "fast", "confirm"}

func (p Policy) String() string { return policyNames[p] }

// PolicyNames are the words for policies, by number.
func PolicyNames() []string { return policyNames[:] }

// LadderMode tells how far the ladder goes with a stuck agent.
type LadderMode uint8

// Ladder modes: careful is restart for agents that have spoken before they fell silent and
// whose own beats do not go on, and escalate for the others. restart is all rungs; with escalate a
// human is told instead of an
// interrupt and a restart; with off nothing is done. The numbers are written to disk.
const (
	LadderCareful LadderMode = iota
	LadderEscalate
	LadderOff
	LadderRestart
)

var ladderModeNames = [...]string{"careful", "escalate", "off", "restart"}

func (m LadderMode) String() string { return ladderModeNames[m] }

// LadderModeNames are the words for ladder modes, by number.
func LadderModeNames() []string { return ladderModeNames[:] }

// KV is a name and a value. Slices of them are sorted by key, since maps have no
// order that all servers share.
type KV struct{ Key, Value string }

// RoleSpec is the declared part of a role, as `vigil apply` sends it. Durations
// are cluster time; the zero value of any of them means the default in settings.
type RoleSpec struct {
	Name     string
	Runner   string // name of a runner file on the host; empty: started by hand only
	Replicas uint32 // 1..MaxReplicas; agents are room/role, room/role.2, ...
	Desired  Desired
	Start    StartMode
	Proof    Proof
	Policy   Policy
	Labels   []KV // the host must carry all of them
	Params   []KV // values that the runner may use; validated by the host

	TTL           time.Duration // lease and fence
	AckLimit      time.Duration // claimed but not started
	PendingLimit  time.Duration // claimable but claimed by nobody: reported
	StartLimit    time.Duration // a live process without a participant
	ProgressLimit time.Duration // started but silent; 0: none
	StopGrace     time.Duration // between TERM and KILL
	AttemptLimit  uint32        // attempts of a task before it is FAILED
	// incarnations a task may kill, or hang until the ladder ends them, before it is QUARANTINED
	KillLimit uint32

	// TurnLimit bounds the time with one task, RunLimit one life (kept by the host).
	// 0, the default: none. A limit that kills long turns of healthy agents does more
	// harm than a hung one, which the progress limit finds.
	TurnLimit time.Duration
	RunLimit  time.Duration

	// HealthEvery is how often agents report their health (see Declare), HealthMissed
	// how many reports in a row may be missing. 0, the default: none are expected.
	HealthEvery  time.Duration
	HealthMissed uint32

	Ladder LadderMode // how far the ladder goes with its agents when they are stuck

	// Expect is how long an attempt at a task may take from its claim, where who created
	// the task says nothing. 0, the default: nothing is expected.
	Expect time.Duration

	Overseer []OverseerSpec // at most one: its agents are overseers

	// RetryFirst lies between a failed attempt at a task and the next one, and doubles with each
	// further failure up to RetryMost. 0: the settings retry_first and retry_most.
	RetryFirst time.Duration
	RetryMost  time.Duration

	// Grants are what its agents may do beyond their own work, see CheckGrants. Replaced, never changed.
	Grants []Binding
	// AnyContainment: agents with Grants or under PolicyConfirm also run where their host does not keep
	// processes of one account apart from each other (Host.Containment), so that others may act as they do.
	AnyContainment bool

	// The budget of the role, and that of each of its agents; see SpendLimit.
	SpendTokens, SpendMicroUSD         uint64
	SpendEachTokens, SpendEachMicroUSD uint64
}

// Spend is the budget of the role, SpendEach that of each of its agents.
func (r *RoleSpec) Spend() SpendLimit     { return SpendLimit{r.SpendTokens, r.SpendMicroUSD} }
func (r *RoleSpec) SpendEach() SpendLimit { return SpendLimit{r.SpendEachTokens, r.SpendEachMicroUSD} }

// Role is a named job in a room; tasks are addressed to it.
type Role struct {
	ID      RoleID
	Room    RoomID
	Spec    RoleSpec // with every default filled in
	Agents  []AgentID
	Retired bool // no longer declared; gone once its agents and tasks are
	Rev     uint64
	// Below is set while later entries carry out on its agents what was declared last, from the
	// last agent to the first: those before it, see Before, are as they were. How that is done
	// stands in its upper bits: BelowNow and BelowMended.
	Below AgentID

	Endings []Ending  // of the last attempts at its tasks, oldest first, at most EndingsKept; appended to
	Half    *HalfOpen // most of its tasks have failed; nil: no; replaced, never changed

	// LifeRev is the revision at which what a life is started with changed last, see StartsAs; 0:
	// it never has.
	LifeRev uint64

	// Awaits: since a backup was restored its starts wait until every host has said what runs on it.
	Awaits bool

	Spent *Spent // nil: nothing was used; replaced, never changed

	// Vain is set while a human is called since lives of its agents end at a limit of their tool in vain: until when
	// one of these will have shown whether it works. 0: nobody is called.
	Vain Time
}

// StartsAs tells that a life which is started by either is started with the same.
func (r *RoleSpec) StartsAs(o *RoleSpec) bool {
	return r.Runner == o.Runner && slices.Equal(r.Params, o.Params) && r.Proof == o.Proof &&
		r.StopGrace == o.StopGrace && r.TTL == o.TTL && r.RunLimit == o.RunLimit
}

// What Role.Below says of how agents are changed.
const (
	// BelowNow: agents beyond the replicas do not finish what they are at work on.
	BelowNow AgentID = 1 << 31
	// BelowMended: what could not be started may start the way it is declared now.
	BelowMended AgentID = 1 << 30
	// AgentsEver is how many agents a cluster can create in its life: the numbers below those bits.
	AgentsEver = uint64(BelowMended) - 1
)

// Before is the agent before which, by id, none was changed yet; 0: all were.
func (r *Role) Before() AgentID { return r.Below &^ (BelowNow | BelowMended) }
