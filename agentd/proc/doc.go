// Package proc starts process trees, freezes, thaws and stops them, and tells
// when nothing of one is left.
//
// # What a tree is
//
// The leader runs in a session and process group of its own. Its tree is that
// group and every process whose environment carries the tree's Mark, so a
// descendant that left the group and the session is still found. With a Cgroup the
// tree is also whatever the kernel holds in it, which no descendant can leave
// without rights that agents of another account do not have; such a tree is not
// even looked for. Without one, a descendant that left the session and also erased its
// environment is not found, and one that forks faster than the list of processes can
// be read makes a freeze fail: the caller kills then.
//
// # End of a tree
//
// When the leader exits, the rest of its group is killed while the leader is
// still a zombie: until it is reaped, no foreign group can carry its number. After a
// stop the rest has what is left of the grace before. What has left the group has none.
// Then marked strays are killed, each through a pidfd whose environment was read
// after it was opened, so that a recycled pid never gets a signal. Done is closed
// when the tree is seen empty, not earlier.
//
// Where this process is the subreaper (Spec.Reap) and there is a Cgroup, an empty group and no
// child mean that no descendant is left, marked or not, and no list of processes is read.
//
// # Ties to this process
//
// On Linux the leader gets SIGKILL when this process dies (PR_SET_PDEATHSIG).
// The kernel ties that signal to the thread that forked, so one goroutine locked
// to its thread does all forks and lives as long as Forker.Run. Strays that
// survive are found by their mark (Bury, FindHost).
//
// # Rights
//
// That thread can also give up for all that it forks whatever would let a program gain rights
// (Forker.Confine): both bounds are of a thread and inherited by a fork, so no program stands between
// this process and the leader.
//
// # Ownership
//
// A Tree is safe for concurrent use. Its goroutines end when it is done.
package proc
