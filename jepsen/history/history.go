package history

// Outcomes of an Op.
const (
	OK      = "ok"      // it was done and answered
	Failed  = "failed"  // the answer proves that nothing was done
	Unknown = "unknown" // no answer, or one that does not tell
)

// Client is the machine of whoever asks, in ledgers and effects: agents there were started by hand, without a host.
const Client = "client"

// Op is one call of a workload. Which of the fields below Error are filled depends on
// the workload; its doc says so.
type Op struct {
	Workload string `json:"workload"`
	Process  int    `json:"process"` // does one call at a time; unique within the workload
	Kind     string `json:"kind"`
	Via      string `json:"via,omitempty"` // the server that was asked; empty: the client chose
	Call     int64  `json:"call"`
	Return   int64  `json:"return"` // also of calls without an answer: when they were given up
	Outcome  string `json:"outcome"`
	Error    string `json:"error,omitempty"` // code of the error, as rpc/client names it

	Key         string   `json:"key,omitempty"`
	Value       string   `json:"value,omitempty"` // written, or read
	Old         string   `json:"old,omitempty"`   // expected by a conditional write
	Rev         uint64   `json:"rev,omitempty"`
	WriteID     string   `json:"write_id,omitempty"` // session/sequence: the same for repetitions
	Task        uint64   `json:"task,omitempty"`
	Attempt     uint32   `json:"attempt,omitempty"`
	State       string   `json:"state,omitempty"` // of the task or agent, as answered
	Agent       string   `json:"agent,omitempty"`
	Incarnation uint64   `json:"incarnation,omitempty"`
	Stale       bool     `json:"stale,omitempty"` // the read did not ask for the latest
	Index       uint64   `json:"index,omitempty"` // log index that the answer names
	List        []string `json:"list,omitempty"`

	// What a workload says of itself before it begins.
	Share    uint64 `json:"share,omitempty"`     // bytes that its room may use
	Floor    uint64 `json:"floor,omitempty"`     // of them that its texts may use in any case
	TextSize uint64 `json:"text_size,omitempty"` // bytes of each text
	Rules    *Rules `json:"rules,omitempty"`
}

// Rules are how often a task is tried.
type Rules struct {
	Attempts uint32 `json:"attempts"`           // that fail before it is FAILED; 0: no limit
	Kills    uint32 `json:"kills"`              // lives that die of it before it is QUARANTINED; 0: no limit
	First    int64  `json:"first_ns,omitempty"` // before the second attempt, then twice as much; 0: unknown
	Most     int64  `json:"most_ns,omitempty"`  // between two attempts
}

// Fault is one thing that a nemesis did and undid.
type Fault struct {
	Kind string `json:"kind"`
	Lane string `json:"lane"`
	From int64  `json:"from"`
	To   int64  `json:"to"` // when it was undone
	Note string `json:"note,omitempty"`
	// Broken says what the product did during the fault that it must not do, as far as
	// the nemesis itself has seen it; empty: nothing.
	Broken string `json:"broken,omitempty"`
	// Attempts are what somebody hostile tried, in the order of their names.
	Attempts []Attempts `json:"attempts,omitempty"`
	// Effects are what it touched, for checkers: they never look at Kind.
	Effects []Effect `json:"effects"`
}

// Attempts are those of one kind that were answered alike.
type Attempts struct {
	What  string `json:"what"`
	Code  string `json:"code"` // of the answer
	Count int    `json:"count"`
	Wrong string `json:"wrong,omitempty"` // why that answer must not be, for people; empty: it may
}

// Kinds of effects.
const (
	Killed  = "killed"  // its processes were killed, or the machine was off
	Stopped = "stopped" // its processes were not scheduled
	Cut     = "cut"     // packets of it were dropped, or held up
	Slow    = "slow"    // its packets or its disk were late
	Disk    = "disk"    // its disk refused, lost or damaged something
	Clock   = "clock"   // its wall clock was changed
	Away    = "away"    // it was no member, or was being replaced by another build
	Leading = "leading" // leadership was moved on purpose
	Unheard = "unheard" // agents and hosts could not reach it, other servers could
	Told    = "told"    // an agent was told to end, and ends in its own time; it harms nothing
)

// Effect is one machine that a fault touched. The times are within those of the
// fault.
type Effect struct {
	Machine string `json:"machine"` // s1, h2
	What    string `json:"what"`
	Agent   string `json:"agent,omitempty"` // only this agent on the machine
	From    int64  `json:"from"`
	To      int64  `json:"to"`
}

// Look is one agent as a linearizable read showed it.
type Look struct {
	Sent        int64  `json:"sent"`
	At          int64  `json:"at"`
	Agent       string `json:"agent"`
	Incarnation uint64 `json:"incarnation"`
	Process     string `json:"process"`
	Participant string `json:"participant"`
	Host        string `json:"host,omitempty"`
	Task        uint64 `json:"task,omitempty"`
	Desired     string `json:"desired,omitempty"` // running, stopped or paused
	Why         string `json:"why,omitempty"`
}

// Event is one entry of the product's event log, as a watcher got it.
type Event struct {
	Watcher     int    `json:"watcher"`
	Got         int64  `json:"got"`
	Seq         uint64 `json:"seq"`
	Index       uint64 `json:"index"`
	Kind        string `json:"kind"`
	Room        string `json:"room,omitempty"`
	Agent       string `json:"agent,omitempty"`
	Incarnation uint64 `json:"incarnation,omitempty"`
	Task        uint64 `json:"task,omitempty"`
	Attempt     uint32 `json:"attempt,omitempty"`
	Host        string `json:"host,omitempty"`
	Text        string `json:"text,omitempty"`
	// Resumed is true for the first event after the watcher had to open its stream
	// again; it then asked for what comes after the last event that it had.
	Resumed bool `json:"resumed,omitempty"`
}

// Run says what was run.
type Run struct {
	Command  string   `json:"command"` // repeats it
	Revision string   `json:"revision"`
	Older    string   `json:"older,omitempty"` // revision of the older build in an upgrade
	Seed     uint64   `json:"seed"`
	Servers  []string `json:"servers"`
	Hosts    []string `json:"hosts"`
	Lanes    []string `json:"lanes"`
	Kinds    []string `json:"kinds"`    // of faults that could be drawn
	TTL      int64    `json:"ttl_ns"`   // of leases and fences
	Fenced   []string `json:"fenced"`   // roles, as room/role, for which law L7 holds
	Began    int64    `json:"began"`    // the first fault may strike
	Calm     int64    `json:"calm"`     // everything is healed, for good
	Ended    int64    `json:"ended"`    // the workloads have ended
	BeganAt  string   `json:"began_at"` // wall clock, RFC 3339, for people
	// Rests are the times before Calm in which everything was healed too, so that all
	// agents could come back between two rounds of faults.
	Rests []Rest `json:"rests,omitempty"`
	// Upgraded is when the last server of the older build was gone; 0: never, or there
	// was none.
	Upgraded int64             `json:"upgraded,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
}

// Rest is a time without faults.
type Rest struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}
