package disk

import (
	"syscall"
	"time"
)

// Forever as Faults.Stall holds every fsync until the faults change.
const Forever time.Duration = -1

// Faults are what is wrong with a disk. The zero value is a good disk.
type Faults struct {
	// Refuse is the error of writes, of growing a file, and of making files and
	// directories: ENOSPC, EIO. What exists can be read, shortened and removed.
	Refuse syscall.Errno
	// RefuseSync is the error of every fsync; nothing becomes durable.
	RefuseSync syscall.Errno
	// Stall is how much later every fsync is done; Forever: not before the faults
	// change. Calls that wait when they change go by the new ones. A call of a process
	// that is being killed is given up.
	Stall time.Duration
	// Slow is how much later every read, write and fsync is done.
	Slow time.Duration
}

// Ways to lose power.
const (
	// All: what was not fsynced is gone.
	All = "all"
	// Some: of the changes of names a part from the beginning is kept, of the writes
	// any sectors of 512 bytes, whatever their order.
	Some = "some"
	// Torn: everything is kept but the last write, of which only a part from its
	// beginning is.
	Torn = "torn"
)

// Loss says what is lost when the power fails. The same seed loses the same.
type Loss struct {
	How  string
	Seed uint64
}

// Lost is what a loss did.
type Lost struct {
	Writes int // writes and changes of size that were not durable
	Names  int // changes of names that were not durable
}

// Spot is one bit of a file, whose path is relative to the root of the disk.
type Spot struct {
	Path string
	At   int64 // byte
	Bit  uint  // 0 to 7
}

// Stats tells what a disk has done since it was opened, and what it holds.
type Stats struct {
	Writes, Syncs int64
	Refused       int64 // calls that ended with an error of Faults
	Waiting       int64 // calls that wait now because of Faults
	Unsynced      Lost  // what a loss of power would take now
}

// ask is what the driver wants: one of the fields. words is the answer, and the first
// thing that a serving process says.
type ask struct {
	Set   *Faults `json:",omitempty"`
	Lose  *Loss   `json:",omitempty"`
	Flip  *Spot   `json:",omitempty"`
	Empty bool    `json:",omitempty"`
	Stats bool    `json:",omitempty"`
}

type words struct {
	Error string `json:",omitempty"`
	Lost  Lost
	Stats Stats
}
