package noun

import "time"

// Rung is one step of the ladder. The numbers are written to disk.
type Rung uint8

// Rungs, in their order.
const (
	NoRung        Rung = iota
	RungNudge          // a question: by mail, and typed where there is a terminal
	RungWake           // an inquiry of high priority, and the Enter key
	RungInterrupt      // the interrupt key; without a terminal only its time passes
	RungRestart        // the life ends and the next one is started
	RungEscalate       // a human is told; nothing follows
)

var rungNames = [...]string{"none", "nudge", "wake", "interrupt", "restart", "escalate"}

func (r Rung) String() string {
	if int(r) < len(rungNames) {
		return rungNames[r]
	}
	return "unknown"
}

// Ladder is how far the ladder has gone with an agent. It is kept after a recovery, for the
// cool-down; whether it still counts is a matter of comparing times.
type Ladder struct {
	Inc      Incarnation // the life that was stuck
	Rung     Rung        // the last one that was taken
	At       Time        // when
	Began    Time        // when the first one of the episode was taken
	Steps    uint32      // rungs of the episode
	Restarts uint32      // by the ladder, in a row without work in between
	Done     uint32      // tasks that the life had completed then
	Failed   uint8       // bit n: rung n could not be used
	Nudge    MailID      // mail of the episode; 0: none
	Inquiry  MailID
	// Episodes are those in a row that a word of this life has ended and no work, the present one included.
	Episodes uint32
	// Held: a human was told in place of a restart, since the agent was paused. Once it is not, the ladder begins anew.
	Held bool
}

// LadderWindow bounds the rungs that are taken in the cluster within ladder_interval (law L11).
type LadderWindow struct {
	At Time // when the present window began
	In uint32
}

// Deadline is how long a rung waits for an effect.
func (l *LadderSettings) Deadline(r Rung) time.Duration {
	switch r {
	case RungNudge:
		return l.Nudge
	case RungWake:
		return l.Wake
	case RungInterrupt:
		return l.Interrupt
	}
	return l.Restart
}

// MaxLadderEpisodes is how many episodes in a row a life may end with words alone; the last of them is a
// human's from its beginning.
const MaxLadderEpisodes = 3

// MaxLadderRestarts is how often in a row the ladder restarts an agent that shows no
// progress and ends no task in between; then a human is asked instead.
const MaxLadderRestarts = 3
