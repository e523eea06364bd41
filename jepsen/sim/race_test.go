//go:build race

package sim

import "runtime"

// In a synctest bubble of Go 1.26 all timers share one context of the race detector, and
// goroutines on two processors that receive from expired timers use it at the same time
// (runtime.(*timer).unlockAndRun); whole clusters do that often enough to crash. On one
// processor they cannot.
func init() { runtime.GOMAXPROCS(1) }

const raceEnabled = true
