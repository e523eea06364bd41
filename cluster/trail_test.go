package cluster

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// F12: a snapshot of this server may be written to its end while one that was sent to it is loaded: what is kept
// of the log is known at every moment.
func TestF12TrailIsNeverEmpty(t *testing.T) {
	var tr trail
	tr.mark(1)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range uint64(300_000) {
			tr.restart(i + 1)
		}
	})
	for range 300_000 {
		if from := tr.from(func(uint64) bool { return false }, 1<<20); from == 0 {
			t.Fatal("the log is kept from nowhere on")
		}
	}
	all.Wait()
}

// While a member lags the log goes back four snapshots, and only one where the disk has little room.
func TestLogIsKeptForMembersThatLagAsTheDiskHasRoom(t *testing.T) {
	const interval = 100
	var tr trail
	for i := range uint64(laggardIntervals + 1) {
		tr.mark(10 * (i + 1))
		tr.add(interval)
	}
	tr.mark(60) // the newest snapshot; the fourth before it is at 20
	free, unknown := uint64(0), error(nil)
	cfg := Config{Limits: Limits{SnapshotBytes: interval}}
	k := &trailing{node: &node{cfg: cfg, log: hclog.NewNullLogger()},
		free: func() (uint64, error) { return free, unknown }}
	for _, tt := range []struct {
		what  string
		free  uint64
		err   error
		lags  bool
		index uint64
	}{
		{"room for all", 2 * interval, nil, true, 20},
		{"no end of room", math.MaxUint64, nil, true, 20},
		{"nobody lags", 2 * interval, nil, false, 50},
		{"room for half of it", interval, nil, true, 40},
		{"hardly any room", 1, nil, true, 50},
		{"no room", 0, nil, false, 50},
		{"a disk that cannot be measured", 0, errors.New("it cannot"), true, 20},
	} {
		free, unknown = tt.free, tt.err
		if got := tr.from(func(uint64) bool { return tt.lags }, k.most()); got != tt.index {
			t.Errorf("%s: the log is kept from %d on, not %d", tt.what, got, tt.index)
		}
	}
	k.free = nil
	if got := k.most(); got != laggardIntervals*interval {
		t.Errorf("in memory: %d bytes", got)
	}
}
