// Package clock makes the wall clock of a process go wrong: stepped forward or
// backward by any time, or to and fro. Its monotonic clock stays right, as the kernel
// promises, so that what a program measures and waits for does not change.
//
// Go programs read the clock without a system call and without the C library, so that
// nothing outside of a process can change what it sees of it. Therefore the program
// under test is built once more with another package time: Build compiles it with an
// overlay (go build -overlay) whose time.Now adds an offset. The overlay is made from
// the installed source of package time by one exact edit; when that source does not
// look as expected, Build fails. The offset is a word in a file that the process maps
// into memory, named by its environment (Clock.Env) or, when a program starts others
// with an empty one, by that of its parent process: one atomic load for each reading,
// no system call. A process for which no file is named, or none is there, sees the
// right time, and so does everything in a bubble of testing/synctest.
//
// The offset is not seen by what asks the kernel itself (clock_gettime), by times of
// files, and by processes that were not built so.
package clock
