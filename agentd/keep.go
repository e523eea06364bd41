package agentd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"vigil/agentd/disk"
)

// Retention says how long what lives that are over have left on this host is kept. What the running life of an agent
// has written never goes, nor that of its last one when that was here; nor does a folder that a runner names.
type Retention struct {
	// Deleted is for logs, folders and refused results of agents that the cluster has deleted, since something
	// in them was used last; 0: for ever.
	Deleted time.Duration
	// Ended is for rotated logs and refused results of lives before the last one; 0: for ever.
	Ended time.Duration
	// Moved is for all that is here of agents whose last life was begun on another host; 0: for ever.
	Moved time.Duration
	// Bytes bounds all of that together: beyond it the oldest goes before its time; 0: no bound. What is kept for ever
	// goes neither for this nor for a full disk.
	Bytes int64
}

// fate is what the cluster says of an agent that does not run here.
type fate uint8

const (
	resident fate = iota // its last life was here, or nobody knows
	moved                // its last life was elsewhere
	deleted
)

// unit is what goes as a whole: a file of an earlier life, or all that is left of an agent.
type unit struct {
	agent  string
	fate   fate // resident: it is a file
	pieces []disk.Piece
	bytes  int64
	used   time.Time
	limit  time.Duration // of its age; not 0
}

// units splits what an agent has left into what may go at some time.
func (k Retention) units(agent string, left *disk.Leftover, now fate) (all []unit) {
	limit := map[fate]time.Duration{resident: k.Ended, moved: k.Moved, deleted: k.Deleted}[now]
	switch {
	case limit == 0:
	case now != resident:
		u := unit{agent: agent, fate: now, pieces: left.Pieces, used: left.Used, limit: limit}
		for _, p := range left.Pieces {
			u.bytes += p.Bytes
		}
		return []unit{u}
	default:
		for _, p := range left.Pieces {
			// Not that of the moment in which the newest life began: clocks of disks are coarse.
			if p.Earlier || p.Kind == disk.OldLog && !left.Begun.IsZero() && p.Used.Before(left.Begun.Add(-time.Second)) {
				all = append(all, unit{agent: agent, pieces: []disk.Piece{p}, bytes: p.Bytes, used: p.Used, limit: limit})
			}
		}
	}
	return all
}

// Reasons for which something goes.
const (
	goneByAge  = "age"
	goneBySize = "size"
	goneByDisk = "disk"
)

// choose has gone called for what is to go, oldest first: what is older than its limit, then as much of the rest as
// is beyond the bound of bytes, or as short tells that the disk is full. It gives what stays. gone tells whether it
// went.
func (k Retention) choose(units []unit, now time.Time, short func() bool, gone func(u *unit, why string) bool) []unit {
	slices.SortFunc(units, func(a, b unit) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(a.agent, b.agent))
	})
	held := int64(0)
	for _, u := range units {
		held += u.bytes
	}
	pass := func(why string, due func(*unit) bool) {
		units = slices.DeleteFunc(units, func(u unit) bool {
			if !due(&u) || !gone(&u, why) {
				return false
			}
			held -= u.bytes
			return true
		})
	}
	pass(goneByAge, func(u *unit) bool { return now.Sub(u.used) >= u.limit })
	pass(goneBySize, func(*unit) bool { return k.Bytes != 0 && held > k.Bytes })
	pass(goneByDisk, func(*unit) bool { return short() })
	return units
}

// what says in the log what a unit is.
func (u *unit) what() string {
	switch u.fate {
	case deleted:
		return "all of an agent that was deleted"
	case moved:
		return "all of an agent that lives elsewhere"
	}
	return u.pieces[0].Path
}
