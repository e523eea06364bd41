package cluster

import (
	"errors"
	"slices"

	"github.com/hashicorp/raft"
)

// trailing decides how much of the log raft keeps.
type trailing struct{ *node }

// keepLog has raft keep as much of the log behind the snapshot that was just written as servers
// that lag may need.
func (k *trailing) keepLog() {
	rf := k.raft.Load()
	if rf == nil || k.cfg.Limits.TrailingLogs != 0 {
		return
	}
	last := rf.LastIndex()
	from := k.machine.trail.from(k.lags, laggardIntervals*k.cfg.Limits.SnapshotBytes)
	k.setTrailing(rf, last-min(last, from)+trailingSlack)
}

// startLog begins anew after a snapshot that was sent to this server: its log has a gap before it, and
// nothing from before helps anybody.
func (k *trailing) startLog() {
	rf := k.raft.Load()
	if rf == nil {
		return // its own snapshot, at the start
	}
	k.met.installed.Inc()
	if k.cfg.Limits.TrailingLogs == 0 {
		k.setTrailing(rf, firstTrailing)
	}
}

func (k *trailing) setTrailing(rf *raft.Raft, entries uint64) {
	conf := rf.ReloadableConfig()
	conf.TrailingLogs = entries
	if err := rf.ReloadConfig(conf); err != nil {
		k.log.Warn("cannot set how much of the log is kept", "entries", entries, "error", err)
	}
}

// lags tells whether this server leads and a member is not known to have the entry.
func (k *trailing) lags(index uint64) bool {
	if k.raft.Load().State() != raft.Leader {
		return false
	}
	return slices.ContainsFunc(k.configuration(), func(s raft.Server) bool {
		return string(s.ID) != k.cfg.ID && k.trans.contactOf(string(s.ID)).last < index
	})
}

// covers tells whether the log lacks an entry and has the one behind it, since the newest snapshot ends
// with it: raft has accepted that snapshot then.
func (k *trailing) covers(index, term uint64) bool {
	var l raft.Log
	if err := k.store.GetLog(index, &l); !errors.Is(err, raft.ErrLogNotFound) {
		return false
	}
	if err := k.store.GetLog(index+1, &l); err != nil {
		return false
	}
	metas, err := k.snaps.List()
	return err == nil && len(metas) > 0 && metas[0].Index == index && metas[0].Term == term
}
