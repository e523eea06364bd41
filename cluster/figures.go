package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"vigil/cluster/logstore"
)

const (
	figuresKept  = 2 * time.Second        // what servers have said is not asked again before
	diskPatience = 200 * time.Millisecond // for the sizes of files; then those of before are told
	commitWindow = time.Minute            // of the commit times
)

// Figures are what a server says of its own part in raft.
type Figures struct {
	State        string // as in Stats: Leader, Follower, Candidate, Shutdown
	Term         uint64
	LastIndex    uint64 // of the log on its disk
	CommitIndex  uint64
	AppliedIndex uint64
	LogEntries   uint64 // on its disk
	LogBytes     int64  // of the files of its log, as they are long; 0: not known
	// SnapshotIndex is the last entry that its newest snapshot holds; 0: it has none.
	SnapshotIndex uint64
	SnapshotBytes int64
	// CommitP50 and CommitP99 are quantiles of the last minute, from an entry's sealing to its answer, where the
	// server led; 0: it committed nothing.
	CommitP50, CommitP99 time.Duration
	// Hears tells, by server, how long ago its API answered this one. Those that were not tried are not in it.
	Hears map[string]time.Duration
	// Err is why the server was not heard: then nothing else is set.
	Err string `json:"-"`
}

// figures tells of this server, and asks the others. Safe for concurrent use.
type figures struct {
	*node
	reach func(id string) time.Time // when the API of that server answered last; zero: it was not tried

	mu   sync.Mutex // held while the others are asked
	at   time.Time
	said map[string]Figures

	sizing sync.Mutex // held while the disk is looked at
	sized  sizes
	last   sync.Mutex // guards sized
}

// sizes are what the files of a server take.
type sizes struct {
	log           int64
	snapshotIndex uint64
	snapshotBytes int64
}

// Figures tells of this server. It may be called at any time.
func (f *figures) Figures() Figures {
	out := Figures{State: raft.Shutdown.String(), Hears: map[string]time.Duration{}}
	if rf := f.raft.Load(); rf != nil {
		out.State, out.Term = rf.State().String(), rf.CurrentTerm()
		out.LastIndex, out.CommitIndex, out.AppliedIndex = rf.LastIndex(), rf.CommitIndex(), rf.AppliedIndex()
		for _, s := range f.configuration() {
			if at := f.reach(string(s.ID)); !at.IsZero() {
				out.Hears[string(s.ID)] = time.Since(at)
			}
		}
	}
	s := f.sizes()
	out.LogBytes, out.SnapshotIndex, out.SnapshotBytes = s.log, s.snapshotIndex, s.snapshotBytes
	if first, err := f.store.FirstIndex(); err == nil && first > 0 && out.LastIndex >= first {
		out.LogEntries = out.LastIndex - first + 1
	}
	out.CommitP50, out.CommitP99 = f.met.commitTimes()
	return out
}

// sizes looks at the disk, which may hang: then it gives what it found last.
func (f *figures) sizes() sizes {
	if f.sizing.TryLock() {
		done := make(chan struct{})
		go func() {
			defer f.sizing.Unlock()
			defer close(done)
			found := f.measure()
			f.last.Lock()
			defer f.last.Unlock()
			f.sized = found
		}()
		within(diskPatience, done)
	}
	f.last.Lock()
	defer f.last.Unlock()
	return f.sized
}

func (f *figures) measure() (s sizes) {
	if f.cfg.DataDir != "" {
		s.log = logstore.LogBytes(f.cfg.DataDir)
	}
	if list, err := f.snaps.List(); err == nil && len(list) > 0 {
		s.snapshotIndex, s.snapshotBytes = list[0].Index, list[0].Size
	}
	return s
}

// Survey gives what each member of the cluster says of itself, at most 2 s old; it waits for at most a second for
// those that are silent.
func (f *figures) Survey() map[string]Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.said != nil && time.Since(f.at) < figuresKept {
		return f.said
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	said := map[string]Figures{}
	for _, s := range f.configuration() {
		wg.Go(func() {
			got := f.ask(string(s.ID), string(s.Address))
			mu.Lock()
			defer mu.Unlock()
			said[string(s.ID)] = got
		})
	}
	wg.Wait()
	f.said, f.at = said, time.Now()
	return said
}

func (f *figures) ask(id, addr string) (said Figures) {
	if id == f.cfg.ID {
		return f.Figures()
	}
	if f.port == nil && f.cfg.Backend.Question == nil {
		return Figures{Err: "this server asks nobody"}
	}
	line, err := f.question(id, addr, figuresQuestion+" "+f.cfg.ID)
	if err == nil && line == "" {
		err = errors.New("no answer")
	}
	if err == nil {
		err = json.Unmarshal([]byte(line), &said)
	}
	if err != nil {
		return Figures{Err: fmt.Sprintf("server %s does not tell: %v", id, err)}
	}
	return said
}

// answer is the line for another server that asks.
func (f *figures) answer() string {
	line, err := json.Marshal(f.Figures())
	if err != nil {
		return ""
	}
	return string(line)
}

// newCommitTimes keeps quantiles of the last minute.
func newCommitTimes() prometheus.Summary {
	return prometheus.NewSummary(prometheus.SummaryOpts{Name: "commit", Help: "Commit times, in seconds.",
		Objectives: map[float64]float64{0.5: 0.05, 0.99: 0.001}, MaxAge: commitWindow, AgeBuckets: 6})
}

// commitTimes gives the quantiles of the last minute; 0: nothing was committed.
func (m *metrics) commitTimes() (p50, p99 time.Duration) {
	var out dto.Metric
	if err := m.recent.Write(&out); err != nil {
		return 0, 0
	}
	for _, q := range out.GetSummary().GetQuantile() {
		v := q.GetValue()
		if math.IsNaN(v) {
			continue
		}
		d := time.Duration(v * float64(time.Second))
		if q.GetQuantile() == 0.5 {
			p50 = d
		} else {
			p99 = d
		}
	}
	return p50, p99
}
