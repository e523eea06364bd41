package cluster

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// markJob is a state to be hashed.
type markJob struct {
	index uint64
	image *fsm.Image
}

// audit has the servers compare the hashes of their states from time to time (law L12).
type audit struct {
	*node
	marks    chan markJob
	markDue  chan struct{}
	aside    chan struct{} // this server has diverged
	lastMark atomic.Uint64
}

func newAudit(n *node) *audit {
	return &audit{node: n, marks: make(chan markJob, 1), markDue: make(chan struct{}, 1), aside: make(chan struct{}, 1)}
}

// lookAtMarks asks for the next Mark when enough entries have gone by; called
// after each entry, from raft's goroutine.
func (a *audit) lookAtMarks(e *applied) {
	if e.marked != nil {
		a.lastMark.Store(e.index)
		poke(a.marks, markJob{index: e.index, image: e.marked})
	}
	if e.markEvery > 0 && e.index-a.lastMark.Load() >= e.markEvery {
		if st, _ := a.stints.current(); st != nil {
			poke(a.markDue, struct{}{})
		}
	}
	if a.diverged.Swap(e.diverged) != e.diverged && e.diverged {
		poke(a.aside, struct{}{})
	}
}

// proposeMarks proposes a Mark every fsm.View.MarkEvery entries while this server
// leads: from time to time all servers compare the hashes of their states (law L12).
func (a *audit) proposeMarks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.markDue:
		}
		var due bool
		a.Read(func(s *fsm.View) {
			every := s.MarkEvery()
			due = every > 0 && s.LastIndex()-a.lastMark.Load() >= every
		})
		if st, _ := a.stints.current(); st != nil && due {
			// What fails here is proposed again after the next entry.
			_, _ = a.batch.submit(st.ctx, fsm.Request{Planned: true, Cmd: fsm.Mark{Voters: a.voters()}})
		}
	}
}

// hashMarks hashes marked states in the background and reports them to the leader.
func (a *audit) hashMarks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-a.marks:
			hash := job.image.Hash()
			job.image = nil
			a.log.Debug("state hashed", "index", job.index, "hash", hex.EncodeToString(hash[:8]))
			err := a.report(ctx, fsm.ReportHash{Server: a.cfg.ID, Index: job.index, Hash: hash[:]})
			if err != nil && ctx.Err() == nil {
				a.log.Warn("cannot report hash of state", "index", job.index, "error", err)
			}
		}
	}
}

// report brings a hash to the leader; a few tries, since elections take a moment.
func (a *audit) report(ctx context.Context, h fsm.ReportHash) (err error) {
	for try := range 5 {
		if try > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second << try):
			}
		}
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		switch l := a.Leader(); {
		case l.Self:
			_, err = a.batch.submit(short, fsm.Request{Cmd: h})
		case a.cfg.Report == nil:
			cancel()
			return nil
		case l.ID == "":
			err = noun.ErrNotLeader
		default:
			err = a.cfg.Report(short, h)
		}
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("report hash: %w", err)
}

// watchDivergence makes a server whose state differs from the majority's give up
// leading. It goes on storing its log, and refuses to serve.
func (a *audit) watchDivergence(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.aside:
			a.log.Error("this server's state differs from the majority's: " +
				"remove it from the cluster, empty its data directory and add it again")
			a.endStint(noun.ErrDiverged)
			a.stepAside(ctx)
		}
	}
}

// stepAside hands leadership to another server, if this one has it.
func (a *audit) stepAside(ctx context.Context) {
	for try := 0; try < 10 && ctx.Err() == nil; try++ {
		err := a.transfer(ctx, "")
		if err == nil {
			return
		}
		a.log.Warn("cannot step aside", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
