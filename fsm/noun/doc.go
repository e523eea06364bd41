// Package noun holds the things that the state machine is about: agents, tasks, hosts, rooms,
// mail, escalations, settings, with their words, their limits, what is wrong with a value, and what
// a value costs in memory. It knows nothing of what becomes of them; nothing here reads a clock
// or another value.
package noun
