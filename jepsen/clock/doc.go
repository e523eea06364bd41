// Package clock makes the wall clock of a process go wrong: stepped forward or
// backward by any time, or to and fro. Its monotonic clock stays right, as the kernel
// promises, so that what a program measures and waits for does not change.
//
// Go programs read the clock without a system call and without the C library, so that
// nothing outside of a process can change what it sees of it. Therefore the program
// under test is built with one package more: Build adds a file that imports package
// stepped, by an overlay (go build -overlay), so that the product's source knows nothing
// of it. Before main begins, stepped puts a function of its own between the runtime
// and the kernel's clock, which adds an offset to what that one says of the wall clock. The
// offset is a word in a file that the process maps into memory, named by its
// environment (Clock.Env) or, when a program starts others with an empty one, by that of
// its parent process: one load for each reading, no system call. A process for which no
// file is named, or none is there, sees the right time, and so does everything in a
// bubble of testing/synctest.
//
// The offset is not seen by what asks the kernel itself (clock_gettime), by times of
// files, by what other packages read before stepped is initialized, and by processes that
// were not built so. Where the kernel offers no clock that is read without a system call,
// a process for which a file is named panics.
package clock
