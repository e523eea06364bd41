package agentd

import "time"

const (
	// clockJump is by how much the wall clock may leave the boot clock between two looks.
	clockJump = time.Hour
	// doubtAges is for how long after that nothing goes by its age: long enough for people, or a time service, to see it.
	doubtAges = 24 * time.Hour
)

// ages tells whether times of files can be believed. They go by the wall clock, which may be weeks ahead for a moment,
// and what is removed does not come back.
type ages struct {
	begun time.Time     // of this boot, by the wall clock; zero: not looked yet
	until time.Duration // of the boot clock: doubted so long
}

// doubted compares the clocks. One that nobody has set since the boot, an hour ago or less, is doubted from the start.
func (a *ages) doubted(boot time.Duration, wall time.Time, synced func() bool) bool {
	begun := wall.Round(0).Add(-boot) // without the reading of the monotonic clock, by which nothing jumps
	if a.begun.IsZero() && boot < clockJump && !synced() || !a.begun.IsZero() && begun.Sub(a.begun).Abs() > clockJump {
		a.until = boot + doubtAges
	}
	a.begun = begun
	return boot < a.until
}
