package cluster

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// Fatal errors of the disk; Run returns them at once, without waiting for raft,
// whose shutdown would wait for the disk.
var (
	// ErrDiskStuck says that a write or read of the log took longer than Timing.Disk.
	ErrDiskStuck = errors.New("disk does not answer")
	// ErrDiskFailed says that a write or read of the log failed, for instance
	// because the disk is full.
	ErrDiskFailed = errors.New("disk failed")
)

const (
	cacheEntries = 512
	cacheBytes   = 32 << 20
	deleteChunk  = 256 // entries deleted in one transaction, so that appends get their turn
)

// guardedStore stands between raft and the log. It ends the server when the disk
// hangs or fails: raft by itself keeps leading while its disk is stuck and panics
// on some errors. It also keeps the newest entries in memory, for followers that
// are sent them and for applying them.
type guardedStore struct {
	log    raft.LogStore
	stable raft.StableStore
	limit  time.Duration
	fatal  func(error)

	mu    sync.Mutex // guards the cache
	cache map[uint64]*raft.Log
	low   uint64 // smallest index in the cache
	high  uint64 // greatest
	size  int
}

func newGuardedStore(log raft.LogStore, stable raft.StableStore, limit time.Duration, fatal func(error)) *guardedStore {
	return &guardedStore{log: log, stable: stable, limit: limit, fatal: fatal, cache: map[uint64]*raft.Log{}}
}

// guard runs one operation. After a hang or a failure nothing more is done with
// this disk: the calling goroutine of raft stays here for ever, since going on
// would make raft panic or lead without a disk. The process is about to end.
func (s *guardedStore) guard(verb string, op func() error) error {
	err := watchDisk(verb, s.limit, s.fatal, op)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) || err.Error() == "not found" {
		return err
	}
	s.fatal(diskError(verb, err))
	select {}
}

// watchDisk runs one operation and calls fatal when it takes longer than the limit.
// The operation's own error is returned, also when the memory that the file is
// mapped to cannot be read.
func watchDisk(verb string, limit time.Duration, fatal func(error), op func() error) error {
	var ended atomic.Bool
	timer := time.AfterFunc(limit, func() {
		// A process that was paused finds its timer due although the disk is well:
		// give the operation another moment.
		time.AfterFunc(limit/10, func() {
			if !ended.Load() {
				fatal(fmt.Errorf("%s: %w for %v: replace the disk, then start the server again", verb, ErrDiskStuck, limit))
			}
		})
	})
	err := unfaulted(op)
	ended.Store(true)
	timer.Stop()
	return err
}

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

// diskError says what to do about a failure of the store.
func diskError(verb string, err error) error {
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrDiskFailed) {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return fmt.Errorf("%s: %w: %w: free some space or replace the disk, then start the server again", verb, ErrDiskFailed, err)
}

func (s *guardedStore) FirstIndex() (i uint64, err error) {
	err = s.guard("read first log index", func() error { i, err = s.log.FirstIndex(); return err })
	return i, err
}

func (s *guardedStore) LastIndex() (i uint64, err error) {
	err = s.guard("read last log index", func() error { i, err = s.log.LastIndex(); return err })
	return i, err
}

func (s *guardedStore) GetLog(index uint64, log *raft.Log) error {
	s.mu.Lock()
	l, ok := s.cache[index]
	s.mu.Unlock()
	if ok {
		*log = *l
		return nil
	}
	return s.guard("read log entry", func() error { return s.log.GetLog(index, log) })
}

// read reads an entry from the disk, past the cache.
func (s *guardedStore) read(index uint64) (l raft.Log, err error) {
	err = s.guard("read log entry", func() error { return s.log.GetLog(index, &l) })
	return l, err
}

func (s *guardedStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s *guardedStore) StoreLogs(logs []*raft.Log) error {
	err := s.guard("write log", func() error { return s.log.StoreLogs(logs) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range logs {
		s.keep(l)
	}
	return nil
}

// keep puts an entry into the cache; s.mu is held.
func (s *guardedStore) keep(l *raft.Log) {
	if len(s.cache) > 0 && l.Index != s.high+1 {
		clear(s.cache)
		s.size = 0
	}
	if len(s.cache) == 0 {
		s.low = l.Index
	}
	s.cache[l.Index], s.high = l, l.Index
	s.size += len(l.Data)
	for len(s.cache) > 1 && (len(s.cache) > cacheEntries || s.size > cacheBytes) {
		s.size -= len(s.cache[s.low].Data)
		delete(s.cache, s.low)
		s.low++
	}
}

// DeleteRange deletes in chunks, so that appends need not wait for all of it, and
// from the end when the end of the log is cut off, so that a crash leaves no gap.
func (s *guardedStore) DeleteRange(low, high uint64) error {
	s.mu.Lock()
	clear(s.cache)
	s.size = 0
	s.mu.Unlock()
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	tail := high >= last
	for low <= high {
		a, b := low, min(high, low+deleteChunk-1)
		if tail {
			a, b = max(low, high-min(high, deleteChunk-1)), high
		}
		if err := s.guard("delete log entries", func() error { return s.log.DeleteRange(a, b) }); err != nil {
			return err
		}
		switch {
		case tail && a == low:
			return nil // low may be 0, of a log that was never written
		case tail:
			high = a - 1
		default:
			low = b + 1
		}
	}
	return nil
}

func (s *guardedStore) Set(k, v []byte) error {
	return s.guard("write term and vote", func() error { return s.stable.Set(k, v) })
}

func (s *guardedStore) Get(k []byte) (v []byte, err error) {
	err = s.guard("read term and vote", func() error { v, err = s.stable.Get(k); return err })
	return v, err
}

func (s *guardedStore) SetUint64(k []byte, v uint64) error {
	return s.guard("write term and vote", func() error { return s.stable.SetUint64(k, v) })
}

func (s *guardedStore) GetUint64(k []byte) (v uint64, err error) {
	err = s.guard("read term and vote", func() error { v, err = s.stable.GetUint64(k); return err })
	return v, err
}
