package noun

import (
	"fmt"
	"slices"
	"time"
)

// Range of a room's own limits.
const (
	MinRoomLimit = time.Second
	MaxRoomLimit = 365 * 24 * time.Hour
)

// RoomWatch is what a room sets for itself; the zero value leaves all to the settings.
type RoomWatch struct {
	IdleLimit time.Duration // instead of watchdog_threshold; 0: as set there
	Deadline  time.Duration // the longest time that it may be active at a stretch; 0: none
	Disabled  bool          // the watchdog leaves it alone
	Untaken   Untaken       // instead of watchdog_untaken, and of what follows from its own limits
}

// Untaken tells what becomes of silent rooms that nobody serves: no agent has lived in them, or theirs wait for a host.
type Untaken uint8

// With UntakenWarn a human is told and the tasks wait; with UntakenCancel they are canceled like
// those of other rooms. The numbers are written to disk.
const (
	UntakenAsSet Untaken = iota // the setting, or cancel where nobody has lived and the room has limits of its own
	UntakenWarn
	UntakenCancel
)

var untakenNames = [...]string{"", "warn", "cancel"}

func (u Untaken) String() string { return untakenNames[u] }

// Set takes the value that a word names, for the setting.
func (u *Untaken) Set(word string) error {
	v, err := ParseUntaken(word)
	if err == nil && v == UntakenAsSet {
		err = fmt.Errorf("%q is neither warn nor cancel", word)
	}
	if err == nil {
		*u = v
	}
	return err
}

// ParseUntaken gives the value that a word names; the empty one is UntakenAsSet.
func ParseUntaken(word string) (Untaken, error) {
	if i := slices.Index(untakenNames[:], word); i >= 0 {
		return Untaken(i), nil
	}
	return 0, fmt.Errorf("%q is neither warn nor cancel", word)
}

// Watchdog is the replicated part of the conversation watchdog of which there is one.
type Watchdog struct {
	Since    Time // no silence begins before this
	WindowAt Time // when the present window of cancellations began
	InWindow uint32
	Warned   uint64 // warnings ever
	Canceled uint64 // cancellations ever
	// History holds the last cancellations, oldest first; replaced, never changed.
	History []Cancellation
}

// Cancellation is one room that the watchdog has canceled. It holds names, no content.
type Cancellation struct {
	Room     string
	At       Time
	Wall     Wall
	ActiveAt Wall          // of the last activity; 0: not known
	Silent   time.Duration // since the last activity
	Reason   string        // IdleTimeout or RoomDeadline
	Tasks    uint32        // that were canceled
	Roles    []string      // that had open tasks, at most maxNamed
	Hosts    []string      // of the agents that held tasks, at most maxNamed
	// First and Last are the FinishSeq of the tasks that were canceled.
	First, Last uint64
	// Swept: they were canceled by several entries, between which other tasks of the room may have ended too.
	// They are those of them that are Swept. Last is 0 until all of them are.
	Swept bool
}

// ActiveText is for people.
func (x *Cancellation) ActiveText() string {
	if x.ActiveAt == 0 {
		return "before the watchdog was switched on"
	}
	return x.ActiveAt.Text()
}

// TaskReason is why its tasks are canceled, for people.
func (x *Cancellation) TaskReason() string { return x.Reason + "; last activity " + x.ActiveText() }

// Sweep is what later entries go on with in a room: its open tasks are canceled, or those that were are brought back.
type Sweep struct {
	Index uint64 // log index of the word about it: what has changed since then stays as it is
	Back  bool   // they are brought back
	By    string // who brings them back
	// Next and Last are the FinishSeq of those that are still to be brought back; Swept as in Cancellation.
	Next, Last uint64
	Swept      bool
	Done       uint32 // tasks that are canceled, or back
	Untold     uint32 // of these, without an event of their own
}

// Cancels tells that open tasks are being canceled.
func (w *Sweep) Cancels() bool { return w != nil && !w.Back }

// Check tells what is wrong with a room's own limits.
func (w *RoomWatch) Check() error {
	for _, x := range []struct {
		name string
		v    time.Duration
	}{{"idle_limit", w.IdleLimit}, {"deadline", w.Deadline}} {
		if x.v != 0 && (x.v < MinRoomLimit || x.v > MaxRoomLimit) {
			return fmt.Errorf("watchdog: %s %s is out of range, %s to %s is allowed", x.name, x.v, MinRoomLimit,
				MaxRoomLimit)
		}
	}
	if int(w.Untaken) >= len(untakenNames) {
		return fmt.Errorf("watchdog: untaken %d is unknown", w.Untaken)
	}
	return nil
}

func (w *RoomWatch) Text() string {
	if w.Disabled {
		return "disabled"
	}
	text := "limit as set for all"
	if w.IdleLimit > 0 {
		text = "limit " + w.IdleLimit.String()
	}
	if w.Deadline > 0 {
		text += ", deadline " + w.Deadline.String()
	}
	if w.Untaken != UntakenAsSet {
		text += ", untaken: " + w.Untaken.String()
	}
	return text
}

// MaxCancellations is how many cancellations the history keeps.
const MaxCancellations = 500
