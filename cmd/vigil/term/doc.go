// Package term is the terminal that a command writes to: tables that fit it, colours where they
// are wanted, JSON with stable field names, durations and sizes in few letters, a line that long
// work rewrites.
//
// Whatever comes from outside (names, titles, the output of agents) passes through Safe, OneLine
// or Drawing before it is printed, so that nothing that an agent says steers the terminal.
package term
