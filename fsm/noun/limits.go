package noun

import "unicode/utf8"

// Limits of what a command may carry; Apply refuses more, and so should every door.
const (
	MaxTaskText   = 256 << 10
	MaxResult     = 256 << 10
	MaxNote       = 4 << 10
	MaxTitle      = 512
	MaxTail       = 8 << 10
	MaxName       = 64
	MaxReplicas   = 10_000
	MaxTries      = 1000 // of attempts at a task, or of lives that may end with it
	MaxRoles      = 256
	MaxRoomAgents = 100_000
	MaxResume     = 4 << 10
	MaxReason     = 1 << 10
	MaxWarnings   = 32
	MaxTombstones = 1000
	FirePerEntry  = 16_384 // weight of the timers that one entry fires, see fsm/core/timers.go
	StepsPerEntry = 512    // steps that one entry takes in working off what was ordered for many
)

func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Limits of what overseers say.
const (
	MaxPatrolAction = 64  // of a name
	MaxTriageWhy    = 512 // of a triage agent's reason; the rest is cut
)
