package sim

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/jepsen/history"
)

// memberBound is how long a change of membership may take while nothing else is
// broken.
const memberBound = 3 * time.Minute

// leaderDoes asks whoever leads until it has done something; false: it has not.
func (b *blow) leaderDoes(what string, fn func(context.Context, *cluster.Replica) error) bool {
	var last error
	ok := b.w.await(memberBound, func() bool {
		st := b.w.ready(memberBound)
		if st == nil {
			return false
		}
		ctx, cancel := context.WithTimeout(b.w.ctx, time.Minute)
		defer cancel()
		last = fn(ctx, st.rep)
		return last == nil
	})
	if !ok && b.w.ctx.Err() == nil {
		b.w.ledger.breach("members", "%s was not done within %v: %v", what, memberBound, last)
	}
	return ok
}

// replaced takes a server out of the cluster and brings it back with an empty disk:
// one that lost its disk, or one that was removed while it ran.
func (b *blow) replaced(lost bool) {
	v := b.server()
	if lost {
		v.kill()
		v.disk.wipe()
	}
	removed := b.leaderDoes("removal of "+v.cfg.ID, func(ctx context.Context, rep *cluster.Replica) error {
		return rep.RemoveServer(ctx, v.cfg.ID, false)
	})
	if !removed {
		return
	}
	b.last()
	v.kill()
	v.disk.wipe()
	v.start()
	b.leaderDoes("addition of "+v.cfg.ID, func(ctx context.Context, rep *cluster.Replica) error {
		return rep.AddServer(ctx, v.cfg.ID, v.cfg.RaftAddr)
	})
}

// restored takes a backup, and brings it back later. What was done in between is
// forgotten, which the law allows.
func (b *blow) restored() {
	backup, from := b.backup()
	if backup == nil {
		return
	}
	b.last()
	b.bringBack(backup, from)
}

// backup takes one, and tells with which log entry it ends; nil: there is none.
func (b *blow) backup() (text []byte, from uint64) {
	var backup bytes.Buffer
	if !b.leaderDoes("backup", func(ctx context.Context, rep *cluster.Replica) error {
		backup.Reset()
		return rep.Snapshot(ctx, &backup)
	}) {
		return nil, 0
	}
	img, err := fsm.Load(bytes.NewReader(backup.Bytes()))
	if err != nil {
		b.w.ledger.breach("backup", "a backup cannot be read: %v", err)
		return nil, 0
	}
	return backup.Bytes(), img.LastIndex()
}

// The room and its role whose TTL differs between a backup and what it replaces, in a fault of
// minutes.
const (
	ttlRoom, ttlRole = "shop", "builder"
	shortTTL         = 45 * s // others have two minutes
	longTTL          = 8 * m
)

// restoredTTLs restores a backup that was made under another TTL while a host is cut off: the
// lives there run for longer than the restored state knows, or for less (law L7: the hold lasts
// for the longest TTL of both states).
func (b *blow) restoredTTLs() {
	before, after := shortTTL, longTTL
	if b.rng.IntN(4) == 0 {
		before, after = after, before
	}
	b.note = " " + before.String() + " then " + after.String()
	defer b.livesWith(0)
	if !b.livesWith(before) {
		return
	}
	backup, from := b.backup()
	if backup == nil || !b.livesWith(after) {
		return
	}
	h := b.w.hosts[b.rng.IntN(len(b.w.hosts))]
	began := b.w.since()
	undo := block(b.w.links, b.w.links.host, h.n)
	b.pause(b.between(s, 20*s))
	b.bringBack(backup, from)
	b.pause(longTTL)
	b.w.heals(h, undo)
	b.w.ledger.story.fault(history.Fault{Kind: "host cut for longer than the TTL", Lane: "hosts", Note: h.key,
		From: int64(began), To: int64(b.w.since())}, history.Cut, h.key)
	b.w.ledger.count("backups with other TTLs restored")
}

// livesWith gives the role a TTL, 0 being its own, and has its agents begin lives under it.
func (b *blow) livesWith(ttl time.Duration) bool {
	w, k := b.w, &client{w: b.w, from: outside}
	apply := fsm.ApplyRoom{Room: ttlRoom, By: "sim"}
	for _, name := range slices.Sorted(maps.Keys(w.roles)) {
		if r := w.roles[name]; r.room == ttlRoom {
			spec := r.spec
			if name == ttlRole {
				spec.TTL = ttl
			}
			apply.Roles = append(apply.Roles, spec)
		}
	}
	if out, err := k.do(w.ctx, apply, nil); err != nil || out.Code != noun.OK {
		if w.ctx.Err() == nil {
			w.ledger.breach("server", "a TTL of %v was not applied: %v, %s", ttl, err, out.Detail)
		}
		return false
	}
	for i := range w.roles[ttlRole].spec.Replicas {
		name := noun.AgentName(ttlRoom, ttlRole, i+1)
		w.ledger.pardoned(name)
		_, _ = k.do(w.ctx, fsm.RestartAgent{Agent: name, By: "sim"}, nil) // some are stopped
	}
	return b.pause(2 * m) // they begin, and beat
}

// bringBack restores a backup. Nobody looks until all servers have it.
func (b *blow) bringBack(backup []byte, from uint64) {
	w := b.w
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	b.leaderDoes("restore", func(ctx context.Context, rep *cluster.Replica) error {
		err := rep.Restore(ctx, bytes.NewReader(backup), fsm.OthersUnsaid)
		var refused *cluster.Refused
		if errors.As(err, &refused) {
			w.ledger.breach("backup", "a backup is refused: %v", err)
			return nil
		}
		return err
	})
	st := w.ready(memberBound)
	same := st != nil && w.await(memberBound, func() bool {
		epochs := map[uint32]bool{}
		for i := range w.n {
			if rep := w.replica(i); rep != nil {
				rep.Read(func(st *fsm.View) { epochs[st.Epoch()] = true })
			}
		}
		return len(epochs) == 1
	})
	if !same && w.ctx.Err() == nil {
		w.ledger.breach("backup", "the servers have not all restored the backup within %v", memberBound)
	}
	w.newest.Store(0) // a backup takes cluster time back
	if st != nil && w.cfg.mutant != hidesRestores {
		w.ledger.restored(from, st.rep.Stats().AppliedIndex, w.clock())
		w.watch.restored()
	}
	w.ledger.count("backups restored")
}
