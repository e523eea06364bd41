package cluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// script stands for raft: it keeps what is proposed and answers as told.
type script struct {
	mu      sync.Mutex
	entries []fsm.Entry
	reply   func(n int, e *fsm.Entry) error // after 1 ms; nil: commit; set it with answer
	flying  atomic.Int32
	most    atomic.Int32
}

type scripted struct {
	s   *script
	n   int
	e   *fsm.Entry
	ans *answer
}

func (s *script) answer(fn func(n int, e *fsm.Entry) error) {
	s.mu.Lock()
	s.reply = fn
	s.mu.Unlock()
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

func (s *script) propose(data []byte) proposal {
	e := fsm.Entry{}
	if err := record.Decode(data, &e); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
	s.most.Store(max(s.most.Load(), s.flying.Add(1)))
	return &scripted{s: s, n: len(s.entries) - 1, e: &e}
}

func (p *scripted) Error() error {
	defer p.s.flying.Add(-1)
	time.Sleep(time.Millisecond)
	synctest.Wait()
	p.s.mu.Lock()
	reply := p.s.reply
	p.s.mu.Unlock()
	if reply != nil {
		if err := reply(p.n, p.e); err != nil {
			return err
		}
	}
	p.ans = &answer{}
	for _, r := range p.e.Requests {
		p.ans.outcomes = append(p.ans.outcomes, noun.Outcome{Index: uint64(p.n + 1), Task: noun.TaskID(r.Seq)})
	}
	for _, b := range p.e.Beats {
		p.ans.beats = append(p.ans.beats, noun.BeatAnswer{Renewed: uint32(b.Host)})
	}
	return nil
}

func (p *scripted) Response() any { return p.ans }

// batching runs a batcher over a script for the length of one bubble.
func batching(t *testing.T, s *script, change func(*Config)) (*batcher, *stint, context.CancelCauseFunc) {
	t.Helper()
	cfg := Config{ID: "s1"}
	if change != nil {
		change(&cfg)
	}
	cfg.setDefaults()
	met, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBatcher(&cfg, met, new(atomic.Int32), s.propose,
		func(err error) { t.Errorf("the server ends: %v", err) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { b.run(ctx); close(done) }()
	sctx, end := context.WithCancelCause(ctx)
	st := &stint{ctx: sctx, term: 7, clock: newClock(0)}
	b.open(st)
	t.Cleanup(func() { end(nil); cancel(); <-done })
	return b, st, end
}

func task(n int) fsm.Request {
	return fsm.Request{Session: 1, Seq: uint64(n), Cmd: fsm.CreateTask{Room: "r", Title: "t"}}
}

func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, _, _ := batching(t, s, nil)
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				out, err := b.submit(t.Context(), task(i+1))
				if err != nil || out.Task != noun.TaskID(i+1) {
					t.Errorf("caller %d got %v, %v", i, out.Task, err)
				}
			})
		}
		wg.Wait()
		if len(s.entries) > 4 || s.most.Load() > outstandingEntries {
			t.Errorf("%d entries for 1000 callers, %d outstanding", len(s.entries), s.most.Load())
		}
		last := noun.Time(-1)
		for _, e := range s.entries {
			if e.Stint != 7 || e.Stamp < last {
				t.Errorf("entry of term %d stamped %v after %v", e.Stint, e.Stamp, last)
			}
			last = e.Stamp
		}
	})
}

func TestBatchesAreSplitAtTheSizeOfAnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, _, _ := batching(t, s, func(c *Config) { c.Limits.EntryBytes = 4096 })
		reqs, outs := make([]fsm.Request, 500), make([]noun.Outcome, 500)
		for i := range reqs {
			reqs[i] = task(i + 1)
		}
		if err := b.submitAll(t.Context(), reqs, outs); err != nil {
			t.Fatal(err)
		}
		for i, out := range outs {
			if out.Task != noun.TaskID(i+1) {
				t.Fatalf("outcome %d belongs to %d", i, out.Task)
			}
		}
		if len(s.entries) < 2 {
			t.Error("everything went into one entry")
		}
		big := fsm.Request{Seq: 1, Cmd: fsm.CreateTask{Text: strings.Repeat("x", 10_000)}}
		if _, err := b.submit(t.Context(), big); err != nil {
			t.Errorf("a command greater than an entry goes alone: %v", err)
		}
		if _, err := b.submit(t.Context(),
			fsm.Request{Cmd: fsm.CreateTask{Text: strings.Repeat("x", maxCommand)}}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("too large a command: %v", err)
		}
	})
}

// A command that is greater than an entry goes in although every entry has beats, and so does what waits behind it;
// also when the beats alone fill an entry.
func TestLargeCommandGoesInBesideBeats(t *testing.T) {
	for what, beats := range map[string]int{"few beats": 1, "beats that fill an entry": 5000} {
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{ID: "s1", Limits: Limits{EntryBytes: 4096}}
			cfg.setDefaults()
			met, err := newMetrics(nil)
			if err != nil {
				t.Fatal(err)
			}
			b := newBatcher(&cfg, met, new(atomic.Int32), nil, nil) // nothing runs: the test builds each entry
			b.open(&stint{ctx: t.Context(), term: 7, clock: newClock(0)})
			agents, incs, kinds := make([]noun.AgentID, beats), make([]noun.Incarnation, beats), make([]uint8, beats)
			for i := range agents {
				agents[i], incs[i], kinds[i] = noun.AgentID(i+1), 1, fsm.BeatFence
			}
			packed := fsm.PackBeats(nil, agents, incs, kinds)
			ctx, giveUp := context.WithCancel(t.Context())
			var callers sync.WaitGroup
			call := func(fn func() error) {
				callers.Go(func() {
					if err := fn(); err != nil && ctx.Err() == nil {
						t.Errorf("%s: %v", what, err)
					}
				})
				synctest.Wait() // it is in the queue
			}
			for _, r := range []fsm.Request{{Seq: 1, Cmd: fsm.CreateTask{Text: strings.Repeat("x", 6000)}}, task(2)} {
				call(func() error { _, err := b.submit(ctx, r); return err })
			}
			commands := 0
			for range 3 {
				call(func() error { _, err := b.beat(ctx, fsm.HostBeats{Host: 1, Packed: packed}); return err })
				s := b.build()
				var e fsm.Entry
				if err := record.Decode(s.data, &e); err != nil {
					t.Fatal(err)
				}
				if len(e.Beats) != 1 {
					t.Errorf("%s: an entry has %d beats", what, len(e.Beats))
				}
				commands += len(e.Requests)
				distribute(s, &answer{outcomes: make([]noun.Outcome, len(e.Requests)),
					beats: make([]noun.BeatAnswer, len(e.Beats))}, nil)
			}
			if commands != 2 {
				t.Errorf("%s: three entries have %d of 2 commands", what, commands)
			}
			synctest.Wait()
			giveUp()
			callers.Wait()
		})
	}
}

func TestTooLargeCommandDoesNotHoldUpItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, _, _ := batching(t, s, nil)
		reqs, outs := []fsm.Request{task(1), {Cmd: fsm.CreateTask{Text: strings.Repeat("x", maxCommand)}},
			task(3)}, make([]noun.Outcome, 3)
		if err := b.submitAll(t.Context(), reqs, outs); !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %v", err)
		}
		if out, err := b.submit(t.Context(), task(4)); err != nil || out.Task != 4 {
			t.Errorf("the next command: %v, %v", out, err)
		}
	})
}

func TestBeatsGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, _, _ := batching(t, s, nil)
		packed := func(n int) []byte {
			agents, incs, kinds := make([]noun.AgentID, n), make([]noun.Incarnation, n), make([]uint8, n)
			for i := range n {
				agents[i], incs[i], kinds[i] = noun.AgentID(i+1), 1, fsm.BeatFence
			}
			return fsm.PackBeats(nil, agents, incs, kinds)
		}
		begun := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				synctest.Wait()
				ans, err := b.beat(t.Context(), fsm.HostBeats{Host: noun.HostID(i), Packed: packed(5)})
				if err != nil || ans.Renewed != uint32(i) {
					t.Errorf("host %d got %v, %v", i, ans, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begun); len(s.entries) != 1 || took < 250*time.Millisecond ||
			took > 260*time.Millisecond {
			t.Errorf("%d entries after %v", len(s.entries), took)
		}
		// Enough of them do not wait, nor do those that can ride with a command.
		begun = time.Now()
		if _, err := b.beat(t.Context(), fsm.HostBeats{Packed: packed(5000)}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 5*time.Millisecond {
			t.Errorf("5000 beats waited for %v", took)
		}
		wg.Go(func() {
			if _, err := b.beat(t.Context(), fsm.HostBeats{Packed: packed(1)}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, err := b.submit(t.Context(), task(1)); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if took := time.Since(begun); took > 10*time.Millisecond {
			t.Errorf("urgent beats took %v", took)
		}
	})
}

func TestBarriersShareAnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, _, _ := batching(t, s, nil)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := b.barrier(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(s.entries) > 3 {
			t.Errorf("%d entries for 100 barriers", len(s.entries))
		}
	})
}

func TestEndOfStintAnswersEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := make(chan struct{})
		s := &script{reply: func(int, *fsm.Entry) error { <-lost; return raft.ErrLeadershipLost }}
		b, _, end := batching(t, s, nil)
		var unknown, never atomic.Int32
		var wg sync.WaitGroup
		submit := func(n int) {
			wg.Go(func() {
				_, err := b.submit(t.Context(), task(n))
				switch {
				case errors.Is(err, noun.ErrUnknownOutcome):
					unknown.Add(1)
				case errors.Is(err, noun.ErrNotLeader):
					never.Add(1)
				default:
					t.Errorf("caller %d: %v", n, err)
				}
			})
		}
		submit(1)
		synctest.Wait()
		submit(2)
		synctest.Wait()
		for i := range 10 {
			submit(3 + i) // two are outstanding: these stay in the queue
		}
		wg.Go(func() {
			if _, err := b.beat(t.Context(), fsm.HostBeats{}); !errors.Is(err, noun.ErrNotLeader) {
				t.Errorf("waiting beat: %v", err)
			}
		})
		synctest.Wait()
		b.close(noun.ErrNotLeader)
		end(errStintOver)
		close(lost)
		wg.Wait()
		if unknown.Load() != 2 || never.Load() != 10 {
			t.Errorf("%d unknown, %d never proposed", unknown.Load(), never.Load())
		}
		if _, err := b.submit(t.Context(), task(99)); !errors.Is(err, noun.ErrNotLeader) {
			t.Errorf("after the stint: %v", err)
		}
	})
}

// A transfer of leadership that fails costs no write; one that succeeds fails
// writes as never proposed.
func TestTransferInProgressIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{reply: func(n int, _ *fsm.Entry) error {
			if n < 3 {
				return raft.ErrLeadershipTransferInProgress
			}
			return nil
		}}
		b, _, end := batching(t, s, nil)
		if out, err := b.submit(t.Context(), task(1)); err != nil || out.Index != 4 {
			t.Errorf("got %v, %v", out, err)
		}
		s.answer(func(int, *fsm.Entry) error { return raft.ErrLeadershipTransferInProgress })
		time.AfterFunc(time.Second, func() { b.close(noun.ErrNotLeader); end(errStintOver) })
		if _, err := b.submit(t.Context(), task(2)); !errors.Is(err, noun.ErrNotLeader) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallerWhoLeavesIsToldTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := &script{reply: func(int, *fsm.Entry) error { <-hold; return nil }}
		b, _, _ := batching(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		errs := make(chan error, 3)
		for i := range 3 {
			go func() { _, err := b.submit(ctx, task(i)); errs <- err }()
			synctest.Wait()
		}
		var proposed, not int
		for range 3 {
			err := <-errs
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, noun.ErrUnknownOutcome) {
				proposed++
			} else {
				not++
			}
		}
		if proposed != 2 || not != 1 {
			t.Errorf("%d proposed, %d not", proposed, not)
		}
		close(hold)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, e := range s.entries[2:] {
			if len(e.Requests) > 0 {
				t.Errorf("a command that was called back was proposed: %v", e.Requests)
			}
		}
	})
}
