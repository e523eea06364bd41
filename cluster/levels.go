package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	announceBound = 5 * time.Second // for servers that have not said yet what they read
	announceLook  = 20 * time.Millisecond
	levelLook     = 250 * time.Millisecond // of a leader, for a level that can begin
)

// levels begins feature levels, and keeps what belongs to one out of the log before.
type levels struct{ *node }

// legible is fsm.ErrOldServers when the command belongs to a feature level that has not begun
// and that a server of the cluster cannot read: it must not get into the log then. Only the
// leader's word about that counts. After an upgrade servers need a moment to say what they
// read, and the leader to begin the level: that is waited for.
func (l *levels) legible(ctx context.Context, req *fsm.Request) error {
	need := fsm.LevelOf(req)
	if need <= fsm.Baseline || l.begun(req.Cmd, need) {
		return nil
	}
	end := time.Now().Add(announceBound)
	look := time.NewTicker(announceLook)
	defer look.Stop()
	for !l.begun(req.Cmd, need) {
		if st, _ := l.stints.current(); st == nil {
			return noun.ErrNotLeader
		}
		silent := slices.ContainsFunc(l.Servers(), func(s Server) bool { return s.Features == 0 })
		if l.Level() < need && !silent || time.Now().After(end) {
			return fmt.Errorf("%w: it needs feature level %d", noun.ErrOldServers, need)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("propose: %w", ctx.Err())
		case <-look.C:
		}
	}
	return nil
}

// begun tells that a command of a level may be written. What has begun never goes back,
// whoever joins the cluster later.
func (l *levels) begun(c fsm.Command, need uint32) bool {
	if _, raise := c.(fsm.RaiseLevel); raise {
		return l.Level() >= need
	}
	return l.levelBegun() >= need
}

// raiseLevel begins a feature level as soon as every member reads it, as long as this
// server leads.
func (l *levels) raiseLevel(st *stint) {
	look := time.NewTicker(levelLook)
	defer look.Stop()
	for {
		level := l.levelBegun()
		if level >= l.cfg.Features {
			return
		}
		if all := l.Level(); all > level {
			if out, err := l.batch.submit(st.ctx, fsm.Request{Planned: true,
				Cmd: fsm.RaiseLevel{Level: all}}); err != nil || out.Code != noun.OK {
				l.log.Debug("feature level not begun yet", "level", all, "code", out.Code, "error", err)
			}
		}
		select {
		case <-st.ctx.Done():
			return
		case <-look.C:
		}
	}
}
