package noun

import (
	"fmt"
	"time"
)

// ProcState is the state of an agent's process as its host has reported it.
type ProcState uint8

// Process states; see the chart in package core. The numbers are written
// to disk.
const (
	ProcNone     ProcState = iota // nothing runs under the newest incarnation
	ProcOrdered                   // a start order is open; nothing was forked
	ProcAccepted                  // the host may have forked; the fence holds
	ProcRunning                   // the host reported a pid
	ProcLost                      // the fence ended without an exit report
	// ProcUnproven: the same under the policy confirm; nobody has said yet that the life is over.
	ProcUnproven
)

var procNames = [...]string{"none", "ordered", "accepted", "running", "lost", "unproven"}

func (p ProcState) String() string { return procNames[p] }

// Fenced tells whether the incarnation may be running on its host.
func (p ProcState) Fenced() bool { return p == ProcAccepted || p == ProcRunning }

// GivenUp tells that the fence of the newest incarnation ended without an exit report.
func (p ProcState) GivenUp() bool { return p == ProcLost || p == ProcUnproven }

// PartState is the state of the session that an incarnation holds in its room.
type PartState uint8

// Participant states. The numbers are written to disk.
const (
	PartDisconnected PartState = iota
	PartWaiting
	PartActive
)

var partNames = [...]string{"DISCONNECTED", "WAITING", "ACTIVE"}

func (p PartState) String() string { return partNames[p] }

// OrderKind is an instruction that waits for a host.
type OrderKind uint8

// Order kinds. A start order is open while Proc is ProcOrdered or ProcAccepted.
const (
	NoOrder OrderKind = iota
	StartOrder
	StopOrder
)

var orderNames = [...]string{"none", "start", "stop"}

func (k OrderKind) String() string { return orderNames[k] }

// Agent is one slot of a role: the thing that must be kept alive. Its lease and
// fence live in the Lease table under the same id. Between entries, checked by Checker.agent of
// package core where nothing else is said:
//
//  1. One that is DISCONNECTED holds no task (law L2).
//  2. The task that it holds is held, and names it and its incarnation as the holder (law L8).
//  3. A start order is open only while Proc is ordered or accepted, a stop order only while it is
//     accepted or running, so there is at most one (law L4).
//  4. One that humans do not want to run and that may run has a stop order; no start of it is open
//     (law L9). Those that later entries are still to retire are left out.
//  5. Overdue goes with a stop order, Surplus with a task.
//  6. Its timer is not set later than its earliest row (Checker.Armed).
//  7. A start of it is due exactly when WhyNot gives no reason against it, unless timers are due
//     that the next entry fires (law L3).
//  8. Its stop has an end only while it is stopped, its pause only while it is paused, and neither is
//     over, unless timers are due that the next entry fires (law L9).
type Agent struct {
	ID      AgentID
	Room    RoomID
	Role    RoleID
	Index   uint32 // 1..replicas
	Name    string // room/role or room/role.2
	Retired bool   // no longer declared; gone once nothing runs

	// Intent of a human (law L9).
	Stopped  bool
	IntentBy string
	IntentAt Wall

	// The newest incarnation and its process.
	Inc       Incarnation
	Managed   bool // started by an order, not by hand
	Proc      ProcState
	Host      HostID
	PID       uint32
	TokenHash string // sha256 of the token of Inc; empty: none asked for
	StartedAt Time   // of the process (or join, by hand)
	Done      uint32 // tasks completed by Inc

	// The open order, at most one (law L4).
	Order       OrderKind
	OrderSince  Time
	OrderReason string

	// The participant.
	Part  PartState
	Task  TaskID // held
	Since Time   // of Part; for DISCONNECTED with a live process, the start limit runs from here

	// Restart budget (law L11), in cluster time.
	Failures  uint32 // in a row
	NotBefore Time   // back-off or breaker
	Parked    bool   // the breaker is open until NotBefore, then one trial
	Starts    []Time // of the last restarts after failures, at most BreakerStarts

	LastExit *Exit  // replaced, never changed
	Resume   string // given to the next incarnation
	Armed    Time   // when its timer is set; 0: none
	Rev      uint64

	Paused    bool   // by a human (law L9): no starts and no new tasks; what runs goes on
	Overdue   bool   // the open stop order comes from a limit: the end is charged
	Surplus   bool   // beyond the replicas of its role: it finishes the task that it holds, then it is retired
	TaskSince Time   // when Task was claimed; the turn limit runs from here. Without one: of the last loss
	Noted     *Notes // nil: nothing to note; replaced, never changed

	Declared *Declaration // the last one of this life, lapsed or not; nil: none; replaced, never changed

	RoleRev uint64 // LifeRev of its role when its newest life was ordered

	Resumed   Incarnation // the newest life that began with a resume value
	Unresumed uint32      // lives in a row that did and failed without progress
}

// Notes are what only few agents have at a time; they are kept apart so that the
// others cost no memory.
type Notes struct {
	PauseBy   string
	PauseAt   Wall
	PauseWhy  string
	IntentWhy string // reason that came with the last stop or start

	Stuck      string // why its process cannot be ended; empty: it can, or there is none
	ParkedWhy  string // empty: the breaker
	StartFault string // reason of the last start that failed, until an agent that was started joins

	Faults    uint32 // starts that failed since one joined
	Limits    uint32 // lives in a row that ended at a usage limit without work done
	RefusedAt Time   // no event about a wrong identity before this
	// FreshAfter is the newest life of which no resume value is kept.
	FreshAfter Incarnation

	MailAt Time // when this life sent or acknowledged mail last; 0: it has not

	Ladder *Ladder // nil: it was never stuck; replaced, never changed

	Screen *Screen // nil: nobody looks at its terminal; replaced, never changed
	Chain  *Chain  // nil: it is no overseer; replaced, never changed

	Ends *Ends // of Stopped and Paused; nil: neither has one; replaced, never changed

	Answered uint32 // mails that this life has acknowledged

	Used *LifeUsage // nil: it has told of no usage; replaced, never changed

	Typist *Typist // nil: nobody has taken its terminal; replaced, never changed

	// Taken says that the task of this life was taken out of its hands, and that it has not joined or claimed since.
	// It may run on with it, as nobody there hears of it; that it ends by itself then is no fault.
	Taken bool
	// Fruitless counts lives in a row that failed, or ended by themselves and had something to do.
	Fruitless uint32
	// Adopted says that this life was given up for the silence of its host, until which it was in its room or had yet to
	// join, and has not joined since: heard of again, it is expected there.
	Adopted bool

	// Late says that Taken is so since a limit of the task was over, and not since it was canceled.
	Late bool
	// Left is the task that this life had when it was given up for the silence of its host while its supervisor vouched
	// for it, until it joins, claims or is adopted; 0: none.
	Left TaskID
}

// Ends are when what a human has set of an agent ends by itself.
type Ends struct{ Stop, Pause End }

// Ends gives the ends of what humans have set of the agent.
func (a *Agent) Ends() Ends {
	if a.Noted == nil || a.Noted.Ends == nil {
		return Ends{}
	}
	return *a.Noted.Ends
}

// SetEnds replaces the ends of what humans have set of the agent.
func (a *Agent) SetEnds(e Ends) {
	switch was := a.Ends(); {
	case e == was:
	case e == Ends{}:
		a.Note(func(n *Notes) { n.Ends = nil })
	default:
		a.Note(func(n *Notes) { n.Ends = &e })
	}
}

// Waits tells that the breaker or a usage limit keeps the agent from running: not
// while its trial runs.
func (a *Agent) Waits() bool {
	return a.Parked && a.Proc != ProcOrdered && !a.Proc.Fenced() && a.Part == PartDisconnected
}

// Notes gives the agent's notes, zero when there are none.
func (a *Agent) Notes() Notes {
	if a.Noted == nil {
		return Notes{}
	}
	return *a.Noted
}

// Note changes the notes; a view that was taken before keeps the old ones.
func (a *Agent) Note(change func(*Notes)) {
	n := a.Notes()
	change(&n)
	switch {
	case n == a.Notes():
	case n == Notes{}:
		a.Noted = nil
	default:
		a.Noted = &n
	}
}

// Stuck tells why the agent's process cannot be ended; empty: it can, or none runs.
func (a *Agent) Stuck() string {
	if a.Noted == nil || !a.Proc.Fenced() {
		return ""
	}
	return a.Noted.Stuck
}

// OpenOrder gives the kind of the open order, NoOrder when there is none.
func (a *Agent) OpenOrder() OrderKind { return a.Order }

// Exit is the last death of an agent, with its evidence.
type Exit struct {
	Inc    Incarnation
	At     Time
	Wall   Wall
	Kind   ExitKind
	Code   int32
	Signal string // "killed", "terminated", ...; empty when it exited by itself
	Reason string // a sentence
	Tail   string // last lines of output, at most MaxTail bytes
	Task   TaskID // held at that moment
	Host   HostID
	// RetryAfter is what the host said of a usage limit; 0: unknown.
	RetryAfter time.Duration
}

// ExitKind classifies a death.
type ExitKind uint8

// Exit kinds. The numbers are written to disk.
const (
	ExitNone        ExitKind = iota
	ExitClean                // code 0 without a held task
	ExitCrash                // any other end that nobody ordered
	ExitOrdered              // a stop order ended it; never charged
	ExitStartFailed          // the host could not start it
	ExitFenceEnded           // silence until the end of the fence; never charged
	ExitHostGone             // the host came back without it; never charged
	ExitTimedOut             // a limit ended it: start, turn or run limit
	ExitUsageLimit           // its tool is out of quota until later: parked, never charged
	ExitGone                 // begun by hand, it left or fell silent with a task; never charged
)

var ExitNames = [...]string{"none", "clean", "crash", "ordered", "start_failed", "fence_ended", "host_gone",
	"timed_out", "usage_limit", "gone"}

func (k ExitKind) String() string { return ExitNames[k] }

// Lease is the proof of life of one agent: its participant's lease and its
// incarnation's fence. Beats change it and nothing else. Checked by Checker.agent of package core:
//
//  1. Until is set exactly while the participant is not DISCONNECTED (laws L1, L2).
//  2. Fence is set exactly while Proc is accepted or running (law L7).
//  3. Neither timer is set later than what it is for (Checker.Armed).
//  4. Inc is that of the agent, once it has lived (law L6).
type Lease struct {
	Inc    Incarnation
	Until  Time // end of the participant's lease; 0: no participant
	Fence  Time // end of the fence; 0: none
	TTL    int64
	ArmedL Time // timer of the lease; 0: none
	ArmedF Time // timer of the fence; 0: none
	Beat   Time // when the lease was granted or last renewed by a beat, not by a word
	Vouch  bool // the supervisor's beats renew the lease too
	// Beatless says that people were told that beats are missing.
	Beatless bool
	// Confirm says that this life began under the policy confirm, or was in doubt under it: time
	// alone never proves its end.
	Confirm bool
	// Own says that this life began with proof: agent, so nobody beats for it.
	Own bool
}

// TaskTaken tells that the task of the present life was taken out of its hands, and that it may not know.
func (a *Agent) TaskTaken() bool { return a.Noted != nil && a.Noted.Taken }

// Adopted tells that the present life, once it is back with its host, is expected in its room.
func (a *Agent) Adopted() bool { return a.Noted != nil && a.Noted.Adopted }

// TaskKnown notes that it does: it has said a word since, or has its task again.
func (a *Agent) TaskKnown() { a.Note(func(n *Notes) { n.Taken, n.Late, n.Left = false, false, 0 }) }

// Begun ends a series of starts that failed: the program of this life runs. That it was
// executed proves nothing, since a shell may look for it in vain.
func (a *Agent) Begun() {
	a.Note(func(n *Notes) { n.StartFault, n.Faults = "", 0 })
}

// Forgive clears the restart budget: a human asked for a start.
func (a *Agent) Forgive() {
	a.Failures, a.NotBefore, a.Parked, a.Starts = 0, 0, false, nil
	a.Note(func(n *Notes) { n.ParkedWhy, n.Faults, n.Limits, n.Fruitless = "", 0, 0, 0 })
}

// EndedByHand tells that the newest life was begun by hand and ended with a task in its
// hands, by nobody's wish.
func (a *Agent) EndedByHand() bool {
	return a.Part == PartDisconnected && !a.Stopped && a.LastExit != nil && a.LastExit.Kind == ExitGone &&
		a.LastExit.Inc == a.Inc
}

// ForgetResume forgets the resume value, and what the present life still says of it.
func (a *Agent) ForgetResume() {
	a.DropResume()
	a.Note(func(n *Notes) { n.FreshAfter = a.Inc })
}

// DropResume forgets the resume value. The next one that a life says is kept.
func (a *Agent) DropResume() { a.Resume, a.Resumed, a.Unresumed = "", 0, 0 }

func (x *Exit) Sentence() string {
	how := fmt.Sprintf("exited with code %d", x.Code)
	if x.Signal != "" {
		how = "ended by signal: " + x.Signal
	}
	switch {
	case x.Kind == ExitStartFailed:
		return "could not be started: " + x.Reason
	case x.Kind == ExitGone:
		return "ended with its task: " + x.Reason
	case x.Reason == "":
		return how
	case x.Kind == ExitCrash:
		return how + ", " + x.Reason
	case x.Signal != "":
		return x.Reason + ", " + how
	}
	return x.Reason
}

// Lives tells that a life of the agent runs, or is in its room.
func (a *Agent) Lives() bool { return a.Proc.Fenced() || a.Part != PartDisconnected }

// Fault adds why the last start failed, when nothing has started since.
func (a *Agent) Fault() string {
	if fault := a.Notes().StartFault; fault != "" {
		return "; its last start failed: " + fault
	}
	return ""
}

// SurplusText says of an agent that is to go that it finishes its task first.
func (a *Agent) SurplusText() string {
	if !a.Surplus {
		return ""
	}
	return "; it ends when its task is over, because its role has fewer replicas"
}
