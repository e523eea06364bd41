//go:build race

package fsm

// One goroutine applies: the race detector finds nothing in more seeds, and each takes five times as long.
func init() { underRace = true }
