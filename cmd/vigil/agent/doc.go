// Package agent holds the commands that agents run, and those that run agents: waiting for tasks and
// the words about them, beats, declarations, hand-overs, the patrol of overseers and triage.
package agent
