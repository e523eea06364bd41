package noun

// Code is the coordinator's only list of answers. It is append-only: the numbers
// are written to disk and cross the wire.
type Code uint16

// Codes. Only OK means that the command changed anything.
const (
	OK             Code = iota
	Invalid             // the command breaks a rule that the caller could have known
	NotFound            // what it names does not exist
	Conflict            // somebody else was first, or the revision has moved on
	Superseded          // said by an older incarnation or attempt; stop
	Rejoin              // the lease has ended; join again
	Denied              // wrong token
	NoTask              // nothing to claim
	UnknownSession      // the session has ended; nothing was executed
	Stopped             // a human has stopped, deleted or retired it
	HostInUse           // another boot of this host id still holds fences, or is heard
	StaleStint          // planned in a stint that is over
	Late                // the result came too late and was kept for inspection
	TooOld              // the session no longer knows the answer to so old a number
	NoAddressee         // there is no such agent to send mail to
	AgentOff            // the agent is off, and the mail was not to be kept for it
	MailboxFull         // a mailbox holds as much mail as is allowed
	Full                // a budget is used up; nothing that exists is refused anything
)

var codeNames = [...]string{"ok", "invalid", "not_found", "conflict", "superseded", "rejoin",
	"denied", "no_task", "unknown_session", "stopped", "host_in_use", "stale_stint", "late", "too_old",
	"agent_not_found", "agent_offline", "mailbox_full", "full"}

// String gives the stable name of the code.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown"
}

// Outcome is the answer to one command. Fields that do not apply are zero. Detail
// is a sentence for people that names the place and the remedy; it is the same on
// every server.
type Outcome struct {
	Code    Code
	Detail  string
	Index   uint64 // log index of the entry; for a repeated write, of the first
	Clock   Time
	Rev     uint64 // revision after the command; with Conflict, the current one. See also Number
	Session SessionID
	Room    RoomID
	Role    RoleID
	Host    HostID
	Agent   AgentID
	Inc     Incarnation
	Task    TaskID
	Attempt uint32
	TTL     int64 // of the lease or fence that was granted, in nanoseconds
	Count   uint32
	Mail    MailID // the first of Count mails that were sent; they have successive numbers

	repeated bool // of this answer alone: not kept with the session

	// Why no task follows, of a word that has ended one and asked for the next; Detail says it to people. Task,
	// Attempt and TTL are those of the next.
	Why Code
}

// Number is the number of the token that a command has made, or the generation that it has given to an
// identity: what there is instead of a revision of either.
func (o *Outcome) Number() uint64 { return o.Rev }

// AsRepeated marks the answer as that of a repetition.
func (o Outcome) AsRepeated() Outcome {
	o.repeated = true
	return o
}

// Repeated tells that nothing was executed: it is the answer that the first write under
// its number got.
func (o *Outcome) Repeated() bool { return o.repeated }

// Verdict answers one beat.
type Verdict uint8

// Verdicts on beats. Current is never reported: silence means it.
const (
	VerdictCurrent    Verdict = iota
	VerdictRejoin             // the participant's lease has ended; the process may live on
	VerdictSuperseded         // the incarnation is over; stop
	VerdictUnknown            // no such agent
	VerdictAdopt              // the fence had ended, nothing newer was ordered: go on
	VerdictDenied             // the token is another life's: whoever beats is somebody else
	VerdictHeld               // a backup was restored just now: the fence is kept, and not confirmed yet
)

var verdictNames = [...]string{"current", "rejoin", "superseded", "unknown", "adopt", "denied", "held"}

func (v Verdict) String() string { return verdictNames[v] }

// BeatException is the answer to a beat that is not simply current.
type BeatException struct {
	Agent   AgentID
	Inc     Incarnation
	Verdict Verdict
}

// BeatAnswer answers one HostBeats. HostGone asks the host to register again.
type BeatAnswer struct {
	Renewed    uint32
	HostGone   bool
	Exceptions []BeatException
}

// Result is what Apply returns: one outcome for each request, one answer for each
// HostBeats, and what to do outside. All slices are valid until the next Apply.
type Result struct {
	Outcomes []Outcome
	Beats    []BeatAnswer
	Effects  Effects
}

// Effects tell the shell what has changed; the state machine never calls out.
type Effects struct {
	Claimable []RoleID  // roles that got a task to claim
	Hosts     []HostID  // hosts that got an order
	Mail      []AgentID // agents that got something to read
	Plan      bool      // a duty has something to look at
	Notice    bool      // a notice about an escalation is to be delivered
	More      bool      // timers are due beyond this entry: propose the next one
	LastEvent uint64    // newest event
	// Reset says that the whole state was replaced, by a snapshot or a backup: whoever waits
	// for anything looks again. Apply never sets it.
	Reset bool
}

func (a *Agent) Outcome() Outcome {
	return Outcome{Room: a.Room, Role: a.Role, Host: a.Host, Agent: a.ID, Inc: a.Inc, Task: a.Task}
}
