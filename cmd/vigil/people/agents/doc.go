// Package agents is `vigil agent`: lists and words about agents, why one runs or does not, its output, and
// what people want of it: start, stop, restart, pause. Its terminal is in package terminal.
package agents
