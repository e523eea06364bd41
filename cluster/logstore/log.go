package logstore

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

const (
	cacheEntries = 512
	cacheBytes   = 32 << 20
	deleteChunk  = 256 // entries deleted in one transaction, so that appends get their turn
)

// Log stands between raft and the log. It ends the server when the disk
// hangs or fails: raft by itself keeps leading while its disk is stuck and panics
// on some errors. It also keeps the newest entries in memory, for followers that
// are sent them and for applying them. It is raft's LogStore and StableStore.
type Log struct {
	in    *summedStore
	disk  Disk
	whole bool // a range is deleted at once

	refusals atomic.Pointer[[]Refusal] // by index, never changed in place; set before raft runs, others ask before that

	covered atomic.Uint64 // up to which the log is cut before it is written again; 0: not at all

	mu    sync.Mutex // guards the cache
	cache map[uint64]*raft.Log
	low   uint64 // smallest index in the cache
	high  uint64 // greatest
	size  int
}

func newLog(log raft.LogStore, stable raft.StableStore, path string, disk Disk) *Log {
	return &Log{in: &summedStore{LogStore: log, stable: stable, path: path}, disk: disk, cache: map[uint64]*raft.Log{}}
}

func (s *Log) guard(verb string, op func() error) error { return s.disk.guard(verb, op) }

func (s *Log) FirstIndex() (i uint64, err error) {
	err = s.guard("read first log index", func() error { i, err = s.in.FirstIndex(); return err })
	return i, err
}

func (s *Log) LastIndex() (i uint64, err error) {
	err = s.guard("read last log index", func() error { i, err = s.in.LastIndex(); return err })
	return i, err
}

func (s *Log) GetLog(index uint64, log *raft.Log) error {
	s.mu.Lock()
	l, ok := s.cache[index]
	s.mu.Unlock()
	if ok {
		*log = *l
	} else if err := s.guard("read log entry", func() error { return s.in.GetLog(index, log) }); err != nil {
		return err
	}
	if s.refusals.Load() == nil {
		return nil
	}
	return s.guard("read log entry", func() error { return s.refused(log) })
}

// read reads an entry from the disk, past the cache.
func (s *Log) read(index uint64) (l raft.Log, err error) {
	err = s.guard("read log entry", func() error { return s.in.GetLog(index, &l) })
	return l, err
}

func (s *Log) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s *Log) StoreLogs(logs []*raft.Log) error {
	if index := s.covered.Swap(0); index > 0 {
		if err := s.Covered(index); err != nil {
			return err
		}
	}
	err := s.guard("write log", func() error { return s.in.StoreLogs(logs) })
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
func (s *Log) keep(l *raft.Log) {
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

// DeleteRange deletes from bolt in chunks, so that appends need not wait for all of it, and
// from the end when the end of the log is cut off, so that a crash leaves no gap. Segments go at once.
func (s *Log) DeleteRange(low, high uint64) error {
	s.mu.Lock()
	clear(s.cache)
	s.size = 0
	s.mu.Unlock()
	last, err := s.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	if s.whole {
		return s.guard("delete log entries", func() error { return s.in.DeleteRange(low, high) })
	}
	tail := high >= last
	for low <= high {
		a, b := low, min(high, low+deleteChunk-1)
		if tail {
			a, b = max(low, high-min(high, deleteChunk-1)), high
		}
		if err := s.guard("delete log entries", func() error { return s.in.DeleteRange(a, b) }); err != nil {
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

// Covered takes away what a snapshot that another server sent holds: the entries up to the one given.
// What comes behind it stays, it may have been acknowledged. Without this, raft goes on behind what the log
// had before: with a gap, and with entries before it that may never have been agreed on.
// It is the reason why Log does not say IsMonotonic: raft v1.7.3 then deletes what comes behind as well, and
// goes on as if it were there.
func (s *Log) Covered(index uint64) error {
	first, err := s.FirstIndex()
	if err != nil || first == 0 || first > index {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	return s.DeleteRange(first, min(index, last))
}

// CoverNext is Covered for raft's own restore of a backup, before the next entries are written: raft panics when
// it is shut down, since the disk hangs, while it waits for a restore.
func (s *Log) CoverNext(index uint64) { s.covered.Store(index) }

// settle is what Covered was about to do when a crash came: a log that ends before the snapshot, or
// that has another entry where the snapshot ends, is of no use to the snapshot.
func (s *Log) settle(index, term uint64) error {
	last, err := s.LastIndex()
	if err != nil || last == 0 || index == 0 {
		return err
	}
	if last >= index {
		var l raft.Log
		err := s.GetLog(index, &l)
		if errors.Is(err, raft.ErrLogNotFound) || err == nil && l.Term == term {
			return nil // it goes on from there
		}
		if err != nil {
			return err
		}
	}
	return s.Covered(last)
}

func (s *Log) Set(k, v []byte) error {
	return s.guard("write term and vote", func() error { return s.in.Set(k, v) })
}

func (s *Log) Get(k []byte) (v []byte, err error) {
	err = s.guard("read term and vote", func() error { v, err = s.in.Get(k); return err })
	return v, err
}

func (s *Log) SetUint64(k []byte, v uint64) error {
	return s.guard("write term and vote", func() error { return s.in.SetUint64(k, v) })
}

func (s *Log) GetUint64(k []byte) (v uint64, err error) {
	err = s.guard("read term and vote", func() error { v, err = s.in.GetUint64(k); return err })
	return v, err
}
