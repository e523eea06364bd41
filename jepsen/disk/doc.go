// Package disk is a disk that can be made to fail. A directory is served through
// FUSE and passes everything on to another directory, the store; on the way it can
// refuse writes, hold up fsync, be slow, and forget, as a machine does that loses its
// power, what was written and not fsynced.
//
// # Two processes
//
// A process that serves a directory must not use files in it: bolt maps its file
// into memory, and a page fault of the serving process would wait for itself.
// Therefore Open starts a program whose main calls Serve, and steers it through a
// pipe. It unmounts and ends when that pipe closes, also when the driver was killed.
// A driver in a mount namespace of its own leaves no mount even when the serving
// process is killed too; machines that are started from that namespace see the mount.
//
// # What is durable
//
// The model is a file system that orders its journal, like ext4 and XFS:
//
//   - An fsync or fdatasync of a file makes its data and size durable.
//   - An fsync of anything, also of a directory, makes all earlier changes of names
//     durable: created, renamed and removed files and directories. (These systems
//     write one journal for all of them, so that a new file is there after its own
//     fsync although its directory was not fsynced. POSIX promises less; programs
//     that rely on POSIX alone are rare, and raft's snapshots are not among them.)
//   - Nothing else ever becomes durable by itself: there is no write-back by age.
//   - Modes and times of files are passed on and not lost.
//
// Lose forgets the rest, all of it or some: see Loss. It is for a disk that nobody
// uses at the moment. Data of open files is kept in the page cache of the kernel as
// usual (there is no direct I/O), and mapped memory and writes agree; after Lose, Flip
// and Empty every file counts as a new one, so that nothing stale is seen.
//
// Hard links, symbolic links, extended attributes and preallocation are not served.
package disk
