//go:build linux

package clock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Clock is what steps the wall clock of the processes that have Env in their
// environment and were built by Build. Its methods may be called from several
// goroutines.
type Clock struct {
	path string
	page []byte
	by   *int64
}

// New makes the file of a clock that is right, over one that is there.
func New(path string) (*Clock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make clock: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(int64(os.Getpagesize())); err != nil {
		return nil, fmt.Errorf("make clock: %w", err)
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map clock: %w", err)
	}
	return &Clock{path: path, page: page, by: (*int64)(unsafe.Pointer(unsafe.SliceData(page)))}, nil
}

// Env is the variable that a process needs in its environment.
func (c *Clock) Env() string { return variable + "=" + c.path }

// Set steps the clock: it shows the right time and so much more, from now on.
func (c *Clock) Set(by time.Duration) { atomic.StoreInt64(c.by, int64(by)) }

// Offset is how wrong the clock is.
func (c *Clock) Offset() time.Duration { return time.Duration(atomic.LoadInt64(c.by)) }

// Strobe steps the clock to and fro by that much, at random times between a half and
// the whole of every, until ctx ends; then it shows again what it did before. It gives
// how often it was stepped.
func (c *Clock) Strobe(ctx context.Context, every, by time.Duration, r *rand.Rand) (steps int) {
	own := c.Offset()
	defer c.Set(own)
	for {
		timer := time.NewTimer(every/2 + time.Duration(r.Int64N(int64(every/2)+1)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return steps
		}
		by = -by
		c.Set(own + by)
		steps++
	}
}

// Close lets go of the file. Processes that have it keep what was set last.
func (c *Clock) Close() error {
	if err := syscall.Munmap(c.page); err != nil {
		return fmt.Errorf("unmap clock: %w", err)
	}
	return nil
}
