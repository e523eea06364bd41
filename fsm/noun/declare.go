package noun

import "time"

// DeclaredStatus is how an agent says it is.
type DeclaredStatus uint8

// Declared statuses. The numbers are written to disk.
const (
	StatusHealthy  DeclaredStatus = iota
	StatusBusy                    // at work, and slow to answer
	StatusDegraded                // at work, with difficulties
)

var declaredNames = [...]string{"healthy", "busy", "degraded"}

func (d DeclaredStatus) String() string { return declaredNames[d] }

// Waiting is what an agent says it waits for.
type Waiting uint8

// What agents wait for. The numbers are written to disk.
const (
	WaitingNone  Waiting = iota
	WaitingInput         // a human's answer
	WaitingUntil         // a time: its tool is out of quota, a window is not open yet
	WaitingTool          // the end of a long call of a tool
)

var waitingNames = [...]string{"none", "needs_input", "sleeping", "in_tool"}

func (w Waiting) String() string { return waitingNames[w] }

// StatusNames are the words for how an agent says it is, by number.
func StatusNames() []string { return declaredNames[:] }

// WaitingNames are the words for what an agent waits for, by number.
func WaitingNames() []string { return waitingNames[:] }

// NeedsInputLimit is how long an agent may declare that it waits for a human:
// longer than for anything else, since humans have weekends.
const NeedsInputLimit = 7 * 24 * time.Hour

// Declaration is what an incarnation has said last of its own condition. It ends with
// the life or with the next one, or lapses at Until; nothing happens then, so it has no
// timer and is judged against the clock.
type Declaration struct {
	Status  DeclaredStatus
	Waiting Waiting
	Text    string
	Seq     uint64
	At      Time // of the last report
	Since   Time // of the first report that said the same
	Until   Time // when it lapses; 0: it has no end of its own
	// Excused is until when nobody expects progress or reports: the clocks of both run
	// from here at the earliest. It is Until, or when a later declaration ended that.
	Excused Time
	// Called is when a human was called for what it waits for; 0: not yet.
	Called Time
}

// Asks tells whether the agent says that it waits for a human.
func (d *Declaration) Asks(now Time) bool { return d.Holds(now) && d.Waiting == WaitingInput }

// Holds tells whether the agent has declared something with an end that is not over:
// it is busy, sleeping, in a tool or waits for a human, and silence means nothing.
func (d *Declaration) Holds(now Time) bool { return d != nil && d.Until > now }

// Kind is the declaration in one word, as it was said: what it waits for, else how it is.
func (d *Declaration) Kind() string {
	if d.Waiting != WaitingNone {
		return d.Waiting.String()
	}
	return d.Status.String()
}

// ExcusedUntil is until when nobody expects anything of an agent: by its own word, or because
// of the prompt that its host sees.
func (a *Agent) ExcusedUntil() Time {
	if a.Declared == nil {
		return a.ScreenExcuse()
	}
	return max(a.Declared.Excused, a.ScreenExcuse())
}
