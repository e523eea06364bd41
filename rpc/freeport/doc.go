// Package freeport finds TCP ports on this machine for programs that are started next: the servers
// of a demo, of a benchmark, of a test.
package freeport
