package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// machine carries log entries to the state machine. It is the only holder of the
// state and its lock; raft calls Apply, Snapshot and Restore from one goroutine.
type machine struct {
	mu    sync.RWMutex // guards state: written by raft's goroutine, read by anybody
	state *fsm.State
	self  string // this server's id
	reads uint32 // feature level that this server reads

	entry fsm.Entry // reused; its owner is raft's goroutine
	subs  []func(noun.Effects)
	after func(*applied) // called after each entry, outside the lock
	fatal func(error)
	met   *metrics

	broken    atomic.Bool  // an entry could not be read: nothing is applied any more
	answering atomic.Int32 // proposals of this server whose answers are waited for
	logBytes  atomic.Int64 // applied since the last snapshot
	trail     trail
	defect    func(*fsm.View, *fsm.Entry) // see Config.Defect
	persisted func()                      // called when a snapshot is written, before the log is cut
	// replaced is called when the state was replaced by a snapshot that ends with that entry
	replaced func(index, term uint64)
	stint    atomic.Pointer[noun.Stint]
}

// applied is what the shell learns of an entry.
type applied struct {
	index     uint64
	next      noun.Time  // next timer; 0: none
	marked    *fsm.Image // the state behind a Mark
	markEvery uint64     // see fsm.View.MarkEvery
	diverged  bool       // this server is among the diverged ones
}

// answer goes to whoever proposed the entry.
type answer struct {
	term     uint64
	outcomes []noun.Outcome
	beats    []noun.BeatAnswer
	more     bool
}

func newMachine(cfg *Config, state *fsm.State, met *metrics, fatal func(error)) *machine {
	m := &machine{self: cfg.ID, reads: cfg.Features, state: state, met: met, fatal: fatal, defect: cfg.Defect,
		persisted: func() {}, replaced: func(uint64, uint64) {}}
	m.trail.mark(state.LastIndex())
	m.noteStint()
	return m
}

// Apply is raft.FSM. It returns an *answer when this server waits for one.
func (m *machine) Apply(l *raft.Log) any {
	if m.broken.Load() {
		return nil
	}
	begun := time.Now()
	e := &m.entry
	if err := record.Decode(l.Data, e); err != nil {
		m.broken.Store(true)
		m.fatal(fmt.Errorf("apply log entry %d: %w", l.Index, err))
		return nil
	}
	e.Index, e.Term = l.Index, l.Term
	if level := highest(e); level > m.reads {
		m.broken.Store(true)
		m.fatal(fmt.Errorf("apply log entry %d: %w", l.Index, unreadLevel(level, m.reads)))
		return nil
	}
	a := applied{index: l.Index}

	m.mu.Lock()
	err := m.refusesAsLeader(e)
	var res noun.Result
	if err == nil {
		res, err = m.apply(e, l)
	}
	if err != nil {
		m.broken.Store(true) // before others may look
		m.mu.Unlock()
		m.fatal(err)
		return nil
	}
	if next, ok := m.state.NextTimer(); ok {
		a.next = max(next, 1)
	}
	for i := range e.Requests {
		if _, ok := e.Requests[i].Cmd.(fsm.Mark); ok {
			a.marked = m.state.Copy()
		}
	}
	a.markEvery = m.state.MarkEvery()
	a.diverged = slices.Contains(m.state.Diverged(), m.self)
	m.noteStint()
	clock := m.state.Clock()
	m.mu.Unlock()

	m.logBytes.Add(int64(len(l.Data)))
	m.trail.add(len(l.Data))
	m.met.applied(e, len(l.Data), clock, time.Since(begun))
	var ans *answer
	if m.answering.Load() > 0 {
		ans = copyAnswer(l.Term, &res)
	}
	if m.after != nil {
		m.after(&a)
	}
	for _, sub := range m.subs {
		sub(res.Effects)
	}
	if ans == nil {
		return nil
	}
	return ans
}

// apply turns a broken invariant of the state machine into an error. The entry is in the log
// of every server, so each of them stops at it, and again whenever it is started: the error
// says where, and which command it was, and nothing is written any more. What the state holds
// then is not known; it is never dumped, see broken.
func (m *machine) apply(e *fsm.Entry, l *raft.Log) (res noun.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BrokenInvariant{Index: l.Index, Term: l.Term, Sum: logstore.Sum(l), What: kinds(e),
				Panic: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
	}()
	if m.defect != nil {
		m.defect(&m.state.View, e)
	}
	return m.state.Apply(e), nil
}

// kinds names the commands of an entry, without what they say.
func kinds(e *fsm.Entry) string {
	var list []string
	for i := range e.Requests {
		name := reflect.TypeOf(e.Requests[i].Cmd).Name()
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return "no command"
	}
	return strings.Join(list, ", ")
}

// highest is the highest feature level that the entry needs.
func highest(e *fsm.Entry) (level uint32) {
	for i := range e.Requests {
		level = max(level, fsm.LevelOf(&e.Requests[i]))
	}
	return level
}

func unreadLevel(level, reads uint32) error {
	return fmt.Errorf("%w: the cluster is at feature level %d, this program reads %d", record.ErrUnknown, level, reads)
}

// copyAnswer takes out of the result what outlives the next Apply.
func copyAnswer(term uint64, res *noun.Result) *answer {
	ans := &answer{term: term, more: res.Effects.More}
	if len(res.Outcomes) > 0 {
		ans.outcomes = append(ans.outcomes, res.Outcomes...)
	}
	if len(res.Beats) > 0 {
		ans.beats = append(ans.beats, res.Beats...)
		for i := range ans.beats {
			ans.beats[i].Exceptions = append([]noun.BeatException(nil), ans.beats[i].Exceptions...)
		}
	}
	return ans
}

// noteStint publishes who leads according to the state; m.mu is held or the
// machine not yet shared.
func (m *machine) noteStint() {
	s := m.state.Stint()
	if old := m.stint.Load(); old == nil || *old != s {
		m.stint.Store(&s)
	}
}

// StoreConfiguration is raft.ConfigurationStore. There is nothing to do, but with
// it raft counts configuration entries as applied, and so takes snapshots although
// a membership change was the last thing that happened.
func (m *machine) StoreConfiguration(uint64, raft.Configuration) {}

// Snapshot is raft.FSM. It holds the lock only for the copy-on-write copy.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.broken.Load() {
		return nil, fmt.Errorf("take snapshot: %w", record.ErrUnknown)
	}
	img := m.copy()
	m.logBytes.Store(0)
	m.trail.mark(img.Index())
	return &snapshot{img: img, met: m.met, persisted: m.persisted}, nil
}

func (m *machine) copy() *fsm.Image {
	m.mu.Lock()
	begun := time.Now()
	img := m.state.Copy()
	pause := time.Since(begun)
	m.mu.Unlock()
	m.met.snapshotPause.Observe(pause.Seconds())
	return img
}

// Restore is raft.FSM. The old state stays when the stream is damaged, and when this program does not read it: it ends
// then, or the leader would send it the snapshot for ever.
func (m *machine) Restore(r io.ReadCloser) error {
	if m.broken.Load() {
		return fmt.Errorf("restore snapshot: %w", record.ErrUnknown)
	}
	state, err := fsm.Load(bufio.NewReaderSize(r, 1<<20))
	if errors.Is(err, fsm.ErrNewer) {
		err = fmt.Errorf("%w: %w", record.ErrUnknown, err)
	} else if err == nil && state.Level() > m.reads {
		err = unreadLevel(state.Level(), m.reads)
	}
	if err != nil {
		err = fmt.Errorf("restore snapshot: %w", err)
		if errors.Is(err, record.ErrUnknown) {
			m.broken.Store(true)
			m.fatal(err)
		}
		return err
	}
	m.mu.Lock()
	m.state = state
	m.noteStint()
	reset := noun.Effects{Reset: true, Plan: true, Notice: true, LastEvent: state.LastEvent()}
	m.mu.Unlock()
	m.logBytes.Store(0)
	m.trail.restart(state.LastIndex())
	if index, term, ok := logstore.Reaches(r); ok {
		m.replaced(index, term)
	}
	for _, sub := range m.subs {
		sub(reset)
	}
	return nil
}

// snapshot writes an image in the background.
type snapshot struct {
	img       *fsm.Image
	met       *metrics
	persisted func()
}

// Persist is raft.FSMSnapshot.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	begun := time.Now()
	w := bufio.NewWriterSize(sink, 1<<20)
	err := s.img.Dump(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return fmt.Errorf("write snapshot: %w", errors.Join(err, sink.Cancel()))
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("finish snapshot: %w", err)
	}
	s.met.snapshotTime.Observe(time.Since(begun).Seconds())
	s.persisted()
	return nil
}

// Release is raft.FSMSnapshot.
func (s *snapshot) Release() { s.img = nil }

// ErrBrokenInvariant says that applying an entry of the log broke a law of the state machine:
// a defect of this version, at the same entry on every server. The server stops with its data
// untouched; see machine.apply.
var ErrBrokenInvariant = errors.New("a law of the state machine is broken")

// BrokenInvariant is an ErrBrokenInvariant with its place.
type BrokenInvariant struct {
	Index, Term uint64 // of the log entry
	Sum         string // SHA-256 of what it holds, in hexadecimal digits
	What        string // its commands, without what they say
	Panic       string
	Stack       string
}

func (b *BrokenInvariant) Error() string {
	return fmt.Sprintf("%v: log entry %d with %s: %s\n%s", ErrBrokenInvariant, b.Index, b.What, b.Panic, b.Stack)
}

// Unwrap gives ErrBrokenInvariant.
func (b *BrokenInvariant) Unwrap() error { return ErrBrokenInvariant }
