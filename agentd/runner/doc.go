// Package runner turns declared runners into commands to start.
//
// A runner is a file of the host's owner: program, arguments, user, folder,
// environment. An order only names one and brings values; each value is checked
// against the pattern that the runner declares for it and becomes (part of) one
// argument, never two, and never text for a shell. So nobody who may talk to the
// cluster can run anything that the host's owner has not written down.
//
// The resume value of an agent is chosen by the agent itself, so it is checked like a
// value of an order before it becomes part of an argument.
//
// Compile checks everything that can be known before the first order, and names
// each fault by its place. A Set is immutable and safe for concurrent use.
package runner
