package core

import "vigil/fsm/noun"

// Matcher appends requests of its own to the entries that the leader seals: when a command makes something
// that somebody waits for, both can be one entry. The log decides as always: an appended request is applied,
// or refused, like any other, so a matcher may be wrong. It is called by one goroutine, for each entry first
// See and then Extras; both must be quick and wait for nothing that waits for an entry.
type Matcher interface {
	// See is told of each command of an entry, in their order.
	See(cmd Command)
	// Extras gives what goes in behind them.
	Extras() []Extra
}

// Extra is a request that a Matcher appends.
type Extra struct {
	Request Request
	// Done is called once, from another goroutine: with the outcome, or with the errors of a submitted request.
	Done func(noun.Outcome, error)
}
