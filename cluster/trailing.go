package cluster

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
)

// trailing decides how much of the log raft keeps.
type trailing struct {
	*node
	accepted atomic.Pointer[logEnd] // of the snapshot that this process was sent last; nil: none
	base     atomic.Pointer[logEnd] // of the farthest snapshot that this process began with or was sent; nil: none
	free     func() (uint64, error) // bytes that the disk of the log has room for; nil: that is not known
}

// logEnd is the last entry that a snapshot holds.
type logEnd struct{ index, term uint64 }

// keepLog has raft keep as much of the log behind the snapshot that was just written as servers
// that lag may need.
func (k *trailing) keepLog() {
	rf := k.raft.Load()
	if rf == nil || k.cfg.Limits.TrailingLogs != 0 {
		return
	}
	last := rf.LastIndex()
	from := k.machine.trail.from(k.lags, k.most())
	k.setTrailing(rf, last-min(last, from)+trailingSlack)
}

// most is how many bytes of log are kept for members that lag: four intervals, and on a disk that is nearly full no
// more than twice what it has room for. Who is sent a snapshot instead needs longer; a full disk would end this server.
func (k *trailing) most() int64 {
	interval := k.cfg.Limits.SnapshotBytes
	most := laggardIntervals * interval
	if k.free == nil {
		return most
	}
	free, err := k.free()
	if err != nil {
		k.log.Warn("cannot measure the disk of the log", "error", err)
		return most
	}
	return max(interval, min(most, 2*int64(min(free, 1<<60))))
}

// startLog begins anew after a snapshot that was sent to this server, or a backup that was restored: the
// log goes on behind it, and nothing from before helps anybody. Raft waits meanwhile, and takes the
// snapshot for its own as soon as this returns.
func (k *trailing) startLog(index, term uint64) {
	rf := k.raft.Load()
	if rf == nil {
		return // its own snapshot, at the start
	}
	k.met.installed.Inc()
	if rf.State() == raft.Leader {
		k.store.CoverNext(index)
	} else if err := k.store.Covered(index); err != nil {
		k.fail(logstore.Failed("cut log behind a snapshot", err))
		return
	}
	k.accepted.Store(&logEnd{index, term})
	k.buildOn(index, term)
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

// buildOn notes a snapshot that what comes behind it in the log builds on.
func (k *trailing) buildOn(index, term uint64) {
	if at := k.base.Load(); index > 0 && (at == nil || at.index < index) {
		k.base.Store(&logEnd{index, term})
	}
}

// disproves tells whether a leader has another entry where the snapshot ends that this server builds on. Leaders have
// all that was ever agreed on: so the snapshot was not. It is a backup that was restored here, or sent by a leader
// that restored it, and that no majority took before another server led.
func (k *trailing) disproves(a *raft.AppendEntriesRequest) bool {
	at, rf := k.base.Load(), k.raft.Load()
	if at == nil || rf == nil || a.Term < rf.CurrentTerm() { // else from a leader of before
		return false
	}
	if a.PrevLogEntry >= at.index { // nearly always it is far behind
		return a.PrevLogEntry == at.index && a.PrevLogTerm != at.term
	}
	return slices.ContainsFunc(a.Entries, func(l *raft.Log) bool { return l.Index == at.index && l.Term != at.term })
}

// covers tells whether the log lacks an entry since the snapshot that raft goes on from ends with it: one
// that was sent, or an own one when the log has the entry behind it.
func (k *trailing) covers(index, term uint64) bool {
	var l raft.Log
	if err := k.store.GetLog(index, &l); !errors.Is(err, raft.ErrLogNotFound) {
		return false
	}
	if at := k.accepted.Load(); at != nil && *at == (logEnd{index, term}) {
		return true
	}
	if err := k.store.GetLog(index+1, &l); err != nil {
		return false
	}
	metas, err := k.snaps.List()
	return err == nil && len(metas) > 0 && metas[0].Index == index && metas[0].Term == term
}
