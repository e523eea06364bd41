// Package logstore is what a server keeps on its disk: a locked directory with an identity, the
// term and the vote in a bolt file, the log there too or in segments (Kind), and snapshots. It stands between
// raft and the disk.
//
//	dir, err := logstore.OpenDir(path, disk) // locked, made if need be
//	cluster, server, err := dir.Identity()   // does it belong here?
//	data, err := dir.Open(old, "", logger)   // checked as a whole
//
// # What it guards against
//
//   - A disk that hangs (ErrDiskStuck) or fails, for instance full (ErrDiskFailed), is told to
//     Disk.Fatal at once, and raft's goroutine stays in that operation for ever: raft alone
//     would go on leading, or panic.
//   - A disk that changes what it holds: every entry, the term and the vote carry a checksum
//     (sum.go), and the whole log is read once before it is used (check.go, boltfile.go, wal.go). What is
//     damaged (ErrDamaged) is neither applied nor sent.
//   - A snapshot that is damaged: the one before is used if the log goes on from there and
//     reaches as far, else the data is refused with a remedy.
//   - Another process in the same directory (ErrInUse).
//
// Log and Snapshots are safe for concurrent use; Dir is not.
package logstore
