package logstore

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// faultyLog hangs or fails when told to.
type faultyLog struct {
	*raft.InmemStore
	hang    chan struct{}
	err     error
	deletes [][2]uint64
}

func (f *faultyLog) StoreLogs(logs []*raft.Log) error {
	if f.hang != nil {
		<-f.hang
	}
	if f.err != nil {
		return f.err
	}
	return f.InmemStore.StoreLogs(logs)
}

func (f *faultyLog) DeleteRange(low, high uint64) error {
	f.deletes = append(f.deletes, [2]uint64{low, high})
	return f.InmemStore.DeleteRange(low, high)
}

func entries(from, to uint64, size int) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: 1, Data: make([]byte, size)})
	}
	return logs
}

func TestDiskThatHangsIsFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faultyLog{InmemStore: raft.NewInmemStore(), hang: make(chan struct{})}
		fatal := make(chan error, 1)
		s := newLog(f, f, "raft.db", Disk{Limit: 5 * time.Second, Fatal: func(err error) { fatal <- err }})
		done := make(chan error)
		begun := time.Now()
		go func() { done <- s.StoreLogs(entries(1, 1, 8)) }()
		err := <-fatal
		if took := time.Since(begun); !errors.Is(err, ErrDiskStuck) || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		close(f.hang)
		<-done
	})
}

func TestSlowDiskIsNotFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faultyLog{InmemStore: raft.NewInmemStore(), hang: make(chan struct{})}
		s := newLog(f, f, "raft.db", Disk{Limit: 5 * time.Second, Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
		time.AfterFunc(4900*time.Millisecond, func() { close(f.hang) })
		if err := s.StoreLogs(entries(1, 1, 8)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}

func TestFullDiskIsFatalWithARemedy(t *testing.T) {
	f := &faultyLog{InmemStore: raft.NewInmemStore(), err: fmt.Errorf("write raft.db: %w", syscall.ENOSPC)}
	fatal := make(chan error, 1)
	s := newLog(f, f, "raft.db", Disk{Limit: time.Minute, Fatal: func(err error) { fatal <- err }})
	go s.StoreLogs(entries(1, 1, 8)) // stays there: this disk is not touched again
	err := <-fatal
	if !errors.Is(err, ErrDiskFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

func TestLogCacheIsBoundedAndHolds(t *testing.T) {
	f := &faultyLog{InmemStore: raft.NewInmemStore()}
	s := newLog(f, f, "raft.db", Disk{Limit: time.Minute, Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	for i := uint64(1); i <= 100; i++ {
		if err := s.StoreLogs(entries(i*10, i*10+9, 100<<10)); err != nil {
			t.Fatal(err)
		}
		if len(s.cache) > cacheEntries || s.size > cacheBytes {
			t.Fatalf("%d entries, %d bytes in the cache", len(s.cache), s.size)
		}
	}
	if len(s.cache) < 100 {
		t.Errorf("only %d entries in the cache", len(s.cache))
	}
	for _, i := range []uint64{10, 500, 1009} {
		var l raft.Log
		if err := s.GetLog(i, &l); err != nil || l.Index != i {
			t.Errorf("entry %d: got %d, %v", i, l.Index, err)
		}
	}
	// A suffix is rewritten by a new leader: the old entries are gone from the cache, too.
	if err := s.DeleteRange(1000, 1009); err != nil {
		t.Fatal(err)
	}
	if err := s.StoreLogs([]*raft.Log{{Index: 1000, Term: 2}}); err != nil {
		t.Fatal(err)
	}
	var l raft.Log
	if err := s.GetLog(1000, &l); err != nil || l.Term != 2 {
		t.Errorf("rewritten entry: term %d, %v", l.Term, err)
	}
	if err := s.GetLog(1001, &l); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("deleted entry: %v", err)
	}
}

// Deletes go in chunks, from the end when the end is cut off: a crash in between
// leaves no gap.
func TestDeletesLeaveNoGap(t *testing.T) {
	f := &faultyLog{InmemStore: raft.NewInmemStore()}
	s := newLog(f, f, "raft.db", Disk{Limit: time.Minute, Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	if err := s.StoreLogs(entries(1, 2000, 8)); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRange(1, 600); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRange(1500, 2000); err != nil {
		t.Fatal(err)
	}
	want := [][2]uint64{{1, 256}, {257, 512}, {513, 600}, {1745, 2000}, {1500, 1744}}
	if fmt.Sprint(f.deletes) != fmt.Sprint(want) {
		t.Errorf("deleted %v, want %v", f.deletes, want)
	}
	first, _ := s.FirstIndex()
	last, _ := s.LastIndex()
	if first != 601 || last != 1499 {
		t.Errorf("log goes from %d to %d", first, last)
	}
}
