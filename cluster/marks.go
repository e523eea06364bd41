package cluster

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// markJob is a state to be hashed.
type markJob struct {
	index uint64
	image *fsm.Image
}

// lookAtMarks asks for the next Mark when enough entries have gone by; called
// after each entry, from raft's goroutine.
func (r *Replica) lookAtMarks(a *applied) {
	if a.marked != nil {
		r.lastMark.Store(a.index)
		poke(r.marks, markJob{index: a.index, image: a.marked})
	}
	if a.markEvery > 0 && a.index-r.lastMark.Load() >= a.markEvery {
		if st, _ := r.stints.current(); st != nil {
			poke(r.markDue, struct{}{})
		}
	}
	if r.diverged.Swap(a.diverged) != a.diverged && a.diverged {
		poke(r.aside, struct{}{})
	}
}

// proposeMarks proposes a Mark every fsm.View.MarkEvery entries while this server
// leads: from time to time all servers compare the hashes of their states (law L12).
func (r *Replica) proposeMarks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.markDue:
		}
		var due bool
		r.Read(func(s *fsm.View) {
			every := s.MarkEvery()
			due = every > 0 && s.LastIndex()-r.lastMark.Load() >= every
		})
		if st, _ := r.stints.current(); st != nil && due {
			// What fails here is proposed again after the next entry.
			_, _ = r.batch.submit(st.ctx, fsm.Request{Planned: true, Cmd: fsm.Mark{Voters: r.voters()}})
		}
	}
}

// hashMarks hashes marked states in the background and reports them to the leader.
func (r *Replica) hashMarks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-r.marks:
			hash := job.image.Hash()
			job.image = nil
			r.log.Debug("state hashed", "index", job.index, "hash", hex.EncodeToString(hash[:8]))
			err := r.report(ctx, fsm.ReportHash{Server: r.cfg.ID, Index: job.index, Hash: hash[:]})
			if err != nil && ctx.Err() == nil {
				r.log.Warn("cannot report hash of state", "index", job.index, "error", err)
			}
		}
	}
}

// report brings a hash to the leader; a few tries, since elections take a moment.
func (r *Replica) report(ctx context.Context, h fsm.ReportHash) (err error) {
	for try := range 5 {
		if try > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second << try):
			}
		}
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		switch l := r.Leader(); {
		case l.Self:
			_, err = r.batch.submit(short, fsm.Request{Cmd: h})
		case r.cfg.Report == nil:
			cancel()
			return nil
		case l.ID == "":
			err = noun.ErrNotLeader
		default:
			err = r.cfg.Report(short, h)
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
func (r *Replica) watchDivergence(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.aside:
			r.log.Error("this server's state differs from the majority's: " +
				"remove it from the cluster, empty its data directory and add it again")
			r.endStint(noun.ErrDiverged)
			r.stepAside(ctx)
		}
	}
}

// stepAside hands leadership to another server, if this one has it.
func (r *Replica) stepAside(ctx context.Context) {
	for try := 0; try < 10 && ctx.Err() == nil; try++ {
		err := r.transfer(ctx, "")
		if err == nil {
			return
		}
		r.log.Warn("cannot step aside", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
