package noun

import (
	"strconv"
	"time"
)

// EscalationID numbers escalations from 1; it is what users see. Zero means none.
type EscalationID uint64

// EscalationKind is what an escalation is about. The numbers are written to disk.
type EscalationKind uint8

// Kinds of escalations. All of them are decided when a record is applied; what is only
// computed when somebody asks (a host that is suspect) opens none.
const (
	EscStuckProcess    EscalationKind = iota + 1 // agent: its process outlives SIGKILL
	EscBreaker                                   // agent: it failed so often that its restarts are paused
	EscBrokenStart                               // agent: nothing of it could be started, several times in a row
	EscTaskQuarantined                           // task: several lives died or had to be ended while they held it
	EscMailUnanswered                            // agent: urgent or high mail is without an acknowledgement
	EscMassFailure                               // cluster: the brake is set
	EscRoomCanceled                              // room: the conversation watchdog has canceled it
	EscServerDiverged                            // server: its state differs from the majority's
	EscAgentStuck                                // agent: it lives and does not get on, and the ladder is at its end
	EscPrompt                                    // agent: a permission prompt stands on its terminal
	EscOverseerDown                              // agent: an overseer that was dead at several looks in a row
	// cluster: states of servers differ, and no majority says which is right
	EscStatesDiffer
	EscRoleFailing      // role: most of its tasks fail, and it is half-open
	EscUntaken          // room: its tasks wait, and nobody serves it
	EscUnproven         // agent: its host fell silent, and its policy wants a proof that it is over
	EscIdentityCloned   // identity: two machines present themselves by certificates of one name
	EscBudget           // room, role or agent: its budget is used up, or soon will be
	EscTaskFailed       // role: tasks of it FAILED
	EscNeedsInput       // agent: it says that it waits for a human
	EscLimitLasts       // role: lives of its agents end at a limit of their tool, again and again, in vain
	EscalationKindsPlus // one more than the last
)

// EscalationState is how far a human has come with an escalation.
type EscalationState uint8

// States of escalations; see the chart in the package comment. The numbers are written
// to disk.
const (
	EscalationOpen EscalationState = iota + 1
	EscalationAcknowledged
	EscalationClosed
)

var escalationStateNames = [...]string{"none", "open", "acknowledged", "closed"}

func (e EscalationState) String() string { return escalationStateNames[e] }

// Limits of escalations.
const (
	// MaxOpenEscalations are not closed at the same time. Beyond that one gives way that is over or
	// less urgent; where there is none, what comes on top is counted and opens nothing.
	MaxOpenEscalations = 10_000
	MaxEscalationNote  = 1 << 10
	MaxNotifiers       = 16 // of one notice
	MaxNotifierName    = 64
	MaxFailure         = 128 // bytes that say why a notice was not delivered
	// BrokenStarts in a row are an escalation: one is tried on another host at once.
	BrokenStarts = 3
	NoticeRest   = time.Hour // between two tries of one notice, at most
)

// TaskSubject is the subject of an escalation about a task.
func TaskSubject(id TaskID) string { return "task " + strconv.FormatUint(uint64(id), 10) }

// EscalationSettings are those of escalations.
type EscalationSettings struct {
	Cooldown time.Duration // before the same thing is announced again
	Retry    time.Duration // between the first tries of a notice; it doubles up to an hour
	Tries    uint32        // then a notice is given up
	Kept     uint64        // closed escalations
	// Remind is when one is announced again that still lasts and that nobody looks after;
	// 0: never.
	Remind time.Duration
}

// Escalation is one thing that a human has to decide. It is about one subject, holds
// names and figures, never the content of a task or a mail, and outlives what it names.
type Escalation struct {
	ID       EscalationID
	Kind     EscalationKind
	Subject  string // the agent, "task 7", the room, the server or "cluster"; the key together with Kind
	Priority MailPriority
	State    EscalationState

	Room  string // where known
	Agent string
	Inc   Incarnation
	Task  TaskID
	Host  string
	Facts []KV // of the last time; replaced, never changed

	Count               uint64 // how often it has happened
	First, Last         Time
	FirstWall, LastWall Wall
	Reopened            uint32 // how often it came back within the cool-down after it was closed

	AckBy   string
	AckAt   Wall
	CloseBy string
	CloseAt Wall
	Note    string // of who closed it
	Closed  Time   // 0: it is not

	Notice Notice
	Armed  Time // when its timer is set; 0: none

	// Of EscTaskFailed: how many of the tasks that it is about are FAILED still, which are those with at least this
	// FinishSeq, and the newest of them; replaced, never changed.
	FailedLeft  uint64
	FailedFrom  uint64
	FailedNamed []TaskID

	Acked Time // when it was acknowledged, in cluster time; 0: it is not
}

// Notice is the announcement of an escalation: pending until every notifier has delivered
// it or has given up, or until a human says a word about the escalation.
type Notice struct {
	Number     uint64 // 0: nothing was announced yet; unique in the cluster
	At         Time
	Pending    bool
	Deliveries []Delivery // by notifier, in the order of their first try; replaced, never changed
}

// Delivery is how far one notifier has come with a notice.
type Delivery struct {
	Notifier string
	Tries    uint32
	Done     bool // delivered, as far as the one who was told has said so
	GaveUp   bool
	At       Time // of the last try
	Wall     Wall
	Next     Time   // not tried again before this
	Failure  string // of the last try, in fixed words; empty: it worked
}

// Over tells that the notifier has nothing to do any more.
func (d *Delivery) Over() bool { return d.Done || d.GaveUp }

// Escalations is the replicated part of escalations of which there is one.
type Escalations struct {
	Last       EscalationID // handed out
	LastNotice uint64
	Opened     uint64 // ever
	Dropped    uint64 // not opened, or closed for a more urgent one, since too many were open
}
