package judge

import (
	"strings"
	"time"

	"vigil/fsm/noun"
)

// Kind is what all signals of an agent together say of it.
type Kind uint8

// Kinds of verdicts. Only unresponsive and offline say that it may be dead; stalled and
// deaf say that it lives and does not work.
const (
	AgentHealthy      Kind = iota
	AgentBusy              // it says so, and silence means nothing until then
	AgentIdle              // it waits for a task
	AgentDegraded          // it says that it has difficulties
	AgentNeedsInput        // it says that it waits for a human
	AgentSleeping          // it says that it waits for a time
	AgentSuspect           // one signal is bad, or what would tell is not to be trusted
	AgentDeaf              // its lease goes on, and it does not take what waits for it
	AgentStalled           // its task shows no progress, or it does not patrol, and it has not said why
	AgentUnresponsive      // no reports and no progress, while its lease goes on
	AgentOffline           // neither process nor participant
	AgentNotFound          // there is no such agent
)

var verdictKindNames = [...]string{"healthy", "busy", "idle", "degraded", "needs_input", "sleeping", "suspect", "deaf",
	"stalled", "unresponsive", "offline", "not_found"}

func (k Kind) String() string { return verdictKindNames[k] }

// Kinds lists what an agent that exists can be, in order.
func Kinds() []Kind {
	all := make([]Kind, AgentNotFound)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Grave tells whether the verdict says that the agent may be dead. It is never given
// on one signal.
func (k Kind) Grave() bool { return k == AgentUnresponsive || k == AgentOffline }

// Reason is one signal behind a verdict. It never holds what an agent or a task says.
type Reason struct {
	Text string // a sentence without its full stop
	// which signal: process, participant, lease, fence, health, progress, expectation, task, host,
	// leader, declaration, order, intent, mail, screen, tools, patrol
	Evidence string
	Age      time.Duration // since when it is so, or how long ago it was; 0: unknown
	Bad      bool          // it speaks against the agent
}

// Verdict is a verdict with everything that it rests on, what decided first.
type Verdict struct {
	Kind    Kind
	Reasons []Reason
	// Fine tells that nobody has to look: it does what it should, or is off on purpose.
	Fine bool
}

// Signals are everything that a verdict goes by. Times are spans of cluster time.
type Signals struct {
	Found bool

	Proc    noun.ProcState
	ProcAge time.Duration // of the process, or since its end
	Managed bool
	Exit    string // how its last life ended, a sentence; empty: none did
	Part    noun.PartState
	PartAge time.Duration
	// LeaseLeft and FenceLeft are meant while there is a participant or a process; 0 or
	// less: over.
	LeaseLeft  time.Duration
	FenceLeft  time.Duration
	Beatless   time.Duration // for how long its lease goes on by words alone; 0: its beats arrive
	StartLimit time.Duration
	Order      noun.OrderKind
	OrderAge   time.Duration
	Off        string // why it is not to run, a sentence; empty: it should
	Paused     string // why it gets no task, a sentence; empty: it does

	Host      noun.HostState // of the host that runs it, or ran it last
	HostName  string         // empty: none
	Unheard   time.Duration  // for how long nothing has been heard of that host; 0: it is heard
	LeaderOff bool           // nobody leads: nothing here is certain to be new
	// Away is for how long of ProgressAge or Waiting its host was not heard. It is left out
	// of both, and of MailAge and Missed.
	Away time.Duration

	// HealthEvery and HealthMissed are what its role asks for; 0: no reports.
	HealthEvery  time.Duration
	HealthMissed uint32
	Missed       uint32
	Declared     *noun.Declaration // nil: it never reported
	DeclaredLeft time.Duration     // of one that holds; 0 or less: none does
	DeclaredAge  time.Duration     // of the last report

	Task          noun.TaskID // 0: none
	TaskState     noun.TaskState
	ProgressAge   time.Duration // since progress, the claim or the end of what excused it
	ProgressLimit time.Duration // 0: none
	Expected      bool          // there is an expected completion of its task
	ExpectLeft    time.Duration // until that; negative: it has passed
	Percent       noun.Percent  // how far its task is, as it said last

	// Waiting is how long a task that it could have taken has waited for it while it was
	// there and held none; 0: none.
	Waiting      time.Duration
	PendingLimit time.Duration

	Mailed  bool          // this life has sent or acknowledged mail
	MailAge time.Duration // since it did so last

	Prompt      noun.PromptKind // on its terminal; PromptUnknown: nobody looks
	PromptAge   time.Duration   // since when
	Exhausted   bool            // a usage limit that stands there may not be over yet
	Halted      bool            // an error that stands there counts as the idle prompt
	Quiet       bool            // nothing new is printed
	QuietAge    time.Duration   // since when Quiet is as it is
	Tooled      bool            // it has used a tool, as its own telemetry tells
	ToolAge     time.Duration   // when last
	IdleLimit   time.Duration   // at the idle prompt; 0: none
	Overseer    bool
	PatrolAge   time.Duration // of the last patrol, or of the life
	PatrolLimit time.Duration // after which it is very stale
	Unwakened   bool          // it was woken for that, and nothing was heard of it since
}

// StalledAfter is the silence after which a task is called stalled;
// a longer progress limit of its role counts instead.
const StalledAfter = 30 * time.Minute

// alive tells that a process may run or a participant is there.
func (g *Signals) alive() bool { return g.Proc.Fenced() || g.Part != noun.PartDisconnected }

// Leased tells that the leases of what is there go on.
func (g *Signals) Leased() bool {
	return (g.Part == noun.PartDisconnected || g.LeaseLeft > 0) && (!g.Proc.Fenced() || g.FenceLeft > 0)
}

// doubt tells that what the state says of the agent may be old: nobody leads, or its
// host is suspect, or lost while its fence still holds.
func (g *Signals) doubt() bool { return g.LeaderOff || g.hostDoubt() }

func (g *Signals) hostDoubt() bool {
	switch {
	case !g.Proc.Fenced() && !g.Proc.GivenUp():
		return false
	case g.Host == noun.HostSuspect:
		return true
	}
	return g.Host == noun.HostLost && g.Proc.Fenced()
}

// holds tells that it has declared something that still holds.
func (g *Signals) holds() bool { return g.DeclaredLeft > 0 && g.Declared != nil }

// reportSpan is how long its role lets it be silent before more reports are missing than are allowed to.
func (g *Signals) reportSpan() time.Duration {
	return g.HealthEvery * time.Duration(max(g.HealthMissed, 1))
}

// Unreported tells that more reports are missing than its role allows.
func (g *Signals) Unreported() bool {
	return g.HealthEvery > 0 && g.Declared != nil && g.Missed >= max(g.HealthMissed, 1)
}

// mute tells that it has shown nothing at all in this life: it has never reported its health, long
// after it should have, and its task makes no progress. Perhaps nothing in it reports at all, so
// that is no proof that it hangs (incident I33), but somebody has to look.
func (g *Signals) mute() bool {
	span := g.reportSpan()
	return g.HealthEvery > 0 && g.Declared == nil && g.ProcAge > span && g.silent(span) && !g.wrote(span)
}

// silent tells that its task has shown no progress for so long.
func (g *Signals) silent(limit time.Duration) bool {
	return g.Task != 0 && g.Part == noun.PartActive && g.ProgressAge > limit
}

// wrote tells that it has sent or acknowledged mail within so long: whoever does that is
// neither dead nor stalled.
func (g *Signals) wrote(limit time.Duration) bool { return g.Mailed && g.MailAge <= limit }

// Unheeding tells that it has let a task wait for longer than the pending limit.
func (g *Signals) Unheeding() bool {
	return g.Part != noun.PartDisconnected && g.Task == 0 && g.PendingLimit > 0 && g.Waiting > g.PendingLimit &&
		g.Paused == "" && g.Order != noun.StopOrder
}

// Judge makes one verdict of all signals. It reads nothing else: the same signals get
// the same verdict everywhere.
func Judge(g *Signals) Verdict {
	if !g.Found {
		return Verdict{Kind: AgentNotFound,
			Reasons: []Reason{{Text: "there is no agent of this name", Evidence: "participant", Bad: true}}}
	}
	v := Verdict{Kind: g.Kind()}
	g.reasons(&v)
	switch v.Kind {
	case AgentHealthy, AgentBusy, AgentIdle, AgentNeedsInput, AgentSleeping:
		v.Fine = !v.bad()
	case AgentOffline, AgentSuspect:
		v.Fine = g.Off != "" && !g.alive()
	}
	return v
}

func (v *Verdict) bad() bool {
	for i := range v.Reasons {
		if v.Reasons[i].Bad {
			return true
		}
	}
	return false
}

func (g *Signals) Kind() Kind {
	switch {
	case !g.alive() && g.doubt():
		return AgentSuspect
	case !g.alive():
		return AgentOffline
	case g.doubt() || !g.Leased():
		return AgentSuspect
	case g.Prompt == noun.PromptPermission: // also of one that is busy by its own word: that was before
		return AgentNeedsInput
	case g.holds():
		return declaredKind(g.Declared)
	case g.Prompt == noun.PromptUsageLimit && g.Exhausted:
		return AgentSleeping
	case g.Unreported() && (g.silent(g.reportSpan()) || g.Unheeding()) && !g.wrote(g.reportSpan()):
		return AgentUnresponsive
	case g.stalled(), g.unpatrolled():
		return AgentStalled
	case g.Unheeding():
		return AgentDeaf
	case g.Unreported(), g.mute(), g.Part == noun.PartDisconnected && g.overdueStart():
		return AgentSuspect
	case g.Declared != nil && g.Declared.Status == noun.StatusDegraded, g.Prompt == noun.PromptError,
		g.Prompt == noun.PromptUsageLimit:
		return AgentDegraded
	case g.Part == noun.PartActive && g.Declared != nil && g.Declared.Status == noun.StatusBusy &&
		g.Declared.Until == 0:
		return AgentBusy
	case g.Part == noun.PartWaiting:
		return AgentIdle
	}
	return AgentHealthy
}

// stalled tells that its task shows no progress, that the expected completion has passed
// where there is one, and that it has not written since.
func (g *Signals) stalled() bool {
	limit := max(g.ProgressLimit, StalledAfter)
	if g.idling() { // it is seen not to work, whatever was expected
		return g.TaskState == noun.TaskInProgress && g.silent(g.IdleLimit) && !g.wrote(g.IdleLimit)
	}
	return g.TaskState == noun.TaskInProgress && g.silent(limit) && !g.expected() && !g.wrote(limit)
}

// unpatrolled tells that an overseer does not patrol although it was woken.
func (g *Signals) unpatrolled() bool {
	return g.Overseer && g.PatrolAge > g.PatrolLimit && g.Unwakened
}

// expected tells that the expected completion of its task is still to come.
func (g *Signals) expected() bool { return g.Expected && g.ExpectLeft >= 0 }

// idling tells that its terminal shows that it does not work: it has stood at the idle prompt, at
// an error, which hides the prompt below it, or at a usage limit that may be over, for longer than
// the limit, and nothing is printed.
func (g *Signals) idling() bool {
	waits := g.Prompt == noun.PromptIdle || g.Prompt == noun.PromptError && g.Halted ||
		g.Prompt == noun.PromptUsageLimit && !g.Exhausted
	return waits && g.Quiet && g.IdleLimit > 0 && g.PromptAge > g.IdleLimit
}

// Flows tells that its terminal is looked at, shows no prompt, and does show new text.
// Alone that says little: a spinner that hangs prints for ever, too.
func (g *Signals) Flows() bool { return g.Prompt == noun.PromptNone && !g.Quiet }

func (g *Signals) overdueStart() bool { return g.StartLimit > 0 && g.PartAge > g.StartLimit }

// declaredKind is the verdict on an agent whose declaration holds.
func declaredKind(d *noun.Declaration) Kind {
	switch d.Waiting {
	case noun.WaitingInput:
		return AgentNeedsInput
	case noun.WaitingUntil:
		return AgentSleeping
	}
	return AgentBusy
}

// ToolFresh is how long a use of a tool is a sign that an agent works.
const ToolFresh = 5 * time.Minute

// UsesTools tells that it has used a tool not long ago: no word of the agent, like output.
func (g *Signals) UsesTools() bool { return g.Tooled && g.ToolAge < ToolFresh }

// Because lists what speaks against the agent.
func (v *Verdict) Because() string {
	texts := []string{v.Kind.String()}
	for i := range v.Reasons {
		if v.Reasons[i].Bad {
			texts = append(texts, v.Reasons[i].Text)
		}
	}
	return strings.Join(texts, ", ")
}
