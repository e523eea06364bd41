package noun

import (
	"fmt"
	"time"
)

// How long something that a human sets may last when it is to end by itself.
const (
	MinFor = time.Second
	MaxFor = 365 * 24 * time.Hour
)

// CheckFor tells what is wrong with how long something lasts that a human sets; 0: until somebody
// ends it.
func CheckFor(d time.Duration) error {
	if d != 0 && (d < MinFor || d > MaxFor) {
		return fmt.Errorf("for: %s is out of range, %s to %d days is allowed", d, MinFor, MaxFor/(24*time.Hour))
	}
	return nil
}

// End is when something that a human has set ends by itself. The zero End is never.
type End struct {
	At  Time          // in cluster time; 0: never
	For time.Duration // how long it lasts in all
}

// EndIn is the end of what begins now and lasts for d; 0: it has none.
func EndIn(now Time, d time.Duration) End {
	if d == 0 {
		return End{}
	}
	return End{now.Add(d), d}
}

// Over tells that there is an end and that its time has come.
func (e End) Over(now Time) bool { return e.At != 0 && e.At <= now }
