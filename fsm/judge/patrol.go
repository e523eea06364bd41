package judge

import (
	"time"

	"vigil/fsm/noun"
)

// OverseerFacts are all that the mechanical rule goes by.
type OverseerFacts struct {
	Dead      bool          // no process, no start that is ordered, not in its room
	Patrolled bool          // in this life
	Age       time.Duration // of the last patrol; without one, of the life
	Mail      int           // that it has not read
	Fresh     time.Duration
	Stale     time.Duration
}

// Decide is the mechanical rule. It reads nothing but these facts.
func Decide(f *OverseerFacts) noun.Decision {
	switch {
	case f.Dead:
		return noun.DecideStart
	case f.Age > f.Stale:
		return noun.DecideWake
	case f.Age >= f.Fresh && f.Mail > 0:
		return noun.DecideNudge
	}
	return noun.DecideNothing
}

// Freshness is how old the last patrol is in words.
func (f *OverseerFacts) Freshness() string {
	switch {
	case f.Age > f.Stale:
		return "very_stale"
	case f.Age >= f.Fresh:
		return "stale"
	}
	return "fresh"
}

// Words are the facts for people.
func (f *OverseerFacts) Words() string {
	if f.Dead {
		return "its session is dead, " + noun.Plural(f.Mail, "mail waits", "mails wait")
	}
	patrol := "its last patrol was " + f.Age.Round(time.Second).String() + " ago"
	if !f.Patrolled {
		patrol = "its life began " + f.Age.Round(time.Second).String() + " ago and has reported no patrol"
	}
	return "its session lives, " + patrol + ", " + noun.Plural(f.Mail, "mail waits", "mails wait")
}
