// Package shim holds one agent: a process of its own between agentd and the agent
// that outlives agentd, so that a daemon that dies, restarts or is upgraded costs
// no agent its life.
//
// # Two sides
//
// Serve is the shim itself, run by the hidden command "vigil shim". Launcher,
// Adopt, Shim and Bury are agentd's side. They share the life folder (see the
// names of its files) and talk over a socket in it, line by line in JSON; several
// daemons may follow each other there.
//
// # One life
//
// A shim is started without a life and waits for one at its standard input: see
// takeOver. So agentd can have some in reserve, and a start does not wait for a
// program to be loaded.
//
// The lock file is locked before a shim gets it, together with all that is to be
// started: while the lock is held the life may run, and when it is free the shim is gone.
// Between those two facts nothing is forgotten: the exit record is on disk before
// the lock goes, and where there is no record, Bury kills what carries the mark of
// the life before anybody calls it ended.
//
// # The dead-man's switch (law L7)
//
// The shim, not agentd, holds it. It listens to nothing but acknowledged fence
// beats, which agentd passes on with the time at which they were sent. After 0.75
// TTL without one the tree is frozen; a later one thaws it, after days too: no time ends
// a frozen life (law L10). A freeze that does not succeed kills. The switch is
// judged at least every 250 ms, and first of all whenever the shim wakes up, so
// that a suspended machine does not run its agents before their fences are known.
// Time is CLOCK_BOOTTIME, which runs through suspend.
//
// Nothing that the switch depends on waits for a disk while the program runs: words for
// the log and the record of the start have goroutines of their own, and a tree is frozen
// or stopped before anything is said about it.
//
// # Ends
//
// The process that the shim forked is killed by the kernel when the shim dies: the
// agent, or the tmux server around it. The kernel does not reach further. Whatever else
// is left of the tree is killed by agentd, which sees the end of the shim at once and
// finds it by the control group and the mark. When agentd is gone too, those processes
// run on with no switch until the next agentd sweeps them at its start; so its service
// manager must restart it soon. The first reason for an end stays. Serve returns when
// nothing of the tree is left.
package shim
