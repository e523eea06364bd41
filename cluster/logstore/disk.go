package logstore

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// Fatal errors of the disk: the process has to end without waiting for raft, whose
// shutdown would wait for the disk.
var (
	// ErrDiskStuck says that a write or read of the log took longer than Disk.Limit.
	ErrDiskStuck = errors.New("disk does not answer")
	// ErrDiskFailed says that a write or read of the log failed, for instance
	// because the disk is full.
	ErrDiskFailed = errors.New("disk failed")
)

// reading is how fast any disk reads, in bytes a millisecond: a step that reads much
// at once may take that long beyond the limit.
const reading = 16 << 10

// Disk is the deadline of a disk: raft by itself goes on leading while its disk hangs.
type Disk struct {
	Limit time.Duration // of one read or write
	Fatal func(error)   // called once an operation is stuck, or failed for good; it must not block

	after func(verb string) // tests look at the files after each operation; nil: nobody does
}

// Do runs one operation that reads so many bytes at once, and calls Fatal when it takes
// longer than the limit. The operation's own error is returned, also when the memory that
// the file is mapped to cannot be read.
func (d Disk) Do(verb string, bytes int64, op func() error) error {
	limit := d.Limit + time.Duration(bytes/reading)*time.Millisecond
	var ended atomic.Bool
	timer := time.AfterFunc(limit, func() {
		// A process that was paused finds its timer due although the disk is well:
		// give the operation another moment.
		time.AfterFunc(limit/10, func() {
			if !ended.Load() {
				d.Fatal(fmt.Errorf("%s: %w for %v: replace the disk, then start the server again", verb,
					ErrDiskStuck, limit))
			}
		})
	})
	err := unfaulted(op)
	ended.Store(true)
	timer.Stop()
	d.step(verb)
	return err
}

// step tells tests that the files have changed.
func (d Disk) step(verb string) {
	if d.after != nil {
		d.after(verb)
	}
}

// guard is Do for an operation of a log that is open. After a hang or a failure nothing more is done with
// this disk: the calling goroutine stays here for ever, since going on would make raft
// panic or lead without a disk. The process is about to end.
func (d Disk) guard(verb string, op func() error) error {
	err := d.Do(verb, 0, op)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) || noKey(err) {
		return err
	}
	d.Fatal(Failed(verb, err))
	select {}
}

// noKey tells whether a stable store says that it has no such value: raft, too, asks by the text.
func noKey(err error) bool { return err != nil && err.Error() == "not found" }

// unfaulted turns panics of the store into errors: a page of the file that cannot
// be read is a fault of memory here, and one that makes no sense makes bolt panic.
func unfaulted(op func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if e, ok := p.(interface{ Addr() uintptr }); ok {
			err = fmt.Errorf("a page of the file cannot be read: %v: %w", e, syscall.EIO)
		} else {
			err = fmt.Errorf("%w: %v: %s", ErrDamaged, p, remedy)
		}
	}()
	return op()
}

// Damaged says what to do about data that this server cannot go on with; err says why.
func Damaged(verb string, err error) error {
	return fmt.Errorf("%s: %w: %w: %s", verb, ErrDamaged, err, remedy)
}

// Failed says what to do about a failure of the store.
func Failed(verb string, err error) error {
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrDiskFailed) {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return fmt.Errorf("%s: %w: %w: free some space or replace the disk, then start the server again",
		verb, ErrDiskFailed, err)
}
