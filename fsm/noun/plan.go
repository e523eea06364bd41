package noun

import (
	"fmt"
	"time"
)

// Plan is what is expected of a task, and how far its attempt is by its agent's own word.
type Plan struct {
	Expect time.Duration // of each attempt from its claim, by who created the task; 0: its role's
	// Due is the expected completion of the last attempt; 0: nothing is expected.
	Due      Time
	Percent  Percent
	Extended uint32 // how often Due was put off after it had passed, in the last attempt
}

// Percent is how far the work on a task is. 0: not said; else one more than the percentage.
type Percent uint8

// PercentOf makes a Percent of 0 to 100; more is none.
func PercentOf(p uint32) Percent {
	if p > 100 {
		return MaxPercent + 1
	}
	return Percent(p + 1)
}

// Said gives the percentage, and whether there is one.
func (p Percent) Said() (uint32, bool) { return uint32(max(p, 1) - 1), p != 0 }

// Bounds of what a plan says.
const (
	MinExpect  = time.Second
	MaxExpect  = 30 * 24 * time.Hour
	MaxPercent = Percent(101)
)

// CheckExpect tells what is wrong with how long a task is expected to take; 0 says nothing.
func CheckExpect(d time.Duration) error {
	if d != 0 && (d < MinExpect || d > MaxExpect) {
		return fmt.Errorf("expect: %s is out of range, %s to %s is allowed", d, MinExpect, MaxExpect)
	}
	return nil
}

// Planned gives the task's plan, zero when there is none.
func (t *Task) Planned() Plan {
	if t.Plan == nil {
		return Plan{}
	}
	return *t.Plan
}

// ChangePlan changes the task's plan; a view that was taken before keeps the old one.
func (t *Task) ChangePlan(change func(*Plan)) {
	p := t.Planned()
	change(&p)
	switch {
	case p == t.Planned():
	case p == Plan{}:
		t.Plan = nil
	default:
		t.Plan = &p
	}
}

// Passed tells that the expected completion is over.
func (p *Plan) Passed(now Time) bool { return p.Due != 0 && p.Due < now }
