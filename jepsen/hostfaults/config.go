package hostfaults

import "time"

// Config says how much is let loose.
type Config struct {
	Faults int
	Round  int // faults between two looks at whether everything runs
	Seed   uint64
	TTL    time.Duration // of the agents and hosts
	Fenced int           // agents with policy fenced
	Fast   int           // agents with policy fast
	// Bound is how long after the last fault of a round every agent must run.
	Bound time.Duration
	Say   func(format string, args ...any)
}
