// Package output keeps what agents print: one log file per agent, rotated by
// size, with its last lines at hand for exit reports, and readers that follow it
// across rotations.
//
// The current file is agent.log; agent.log.1 is the one before it, and so on up
// to Keep. Files are 0600, folders 0700. Agents never wait for a reader. A disk
// that refuses bytes costs output, not agents: what could not be written is
// counted and noted in the log when the disk takes bytes again.
//
// A Log has one writer at a time by convention (the current life of its agent)
// and is safe for concurrent use.
package output
