package logstore

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"
)

// keyAhead is where raft.db says which snapshots are ahead of the log.
var keyAhead = []byte("SnapshotsAhead")

// ahead is a snapshot that ends behind the last entry of the log: one that another server sends, or a backup that is
// restored.
//
// raft v1.7.3 restores a backup on the leader alone, and sends it to the others then. A leader that ends in between
// has a snapshot that nobody agreed on, and the others go on without it. Were it loaded again, its log would be
// deleted, for it ends before the snapshot: with entries that this server had acknowledged (law L8); and what the
// others write next would be applied to the backup (law L12). But as long as the log is what it was when the snapshot
// was written, nothing was said on the strength of it: the log is cut before anything is written or answered that
// builds on the snapshot. Then the snapshot never was.
type ahead struct {
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	Last  uint64 `json:"last"` // of the log, when the snapshot was begun

	Dropped bool `json:"dropped,omitempty"` // it is not loaded any more
}

func (a *ahead) is(index, term uint64) bool { return a.Index == index && a.Term == term }

// noteAhead notes a snapshot before it is written, durably, if it is ahead of a log that holds anything.
func (d *Data) noteAhead(index, term uint64) error {
	last, err := d.Log.LastIndex()
	if err != nil || last == 0 || index <= last {
		return err
	}
	list := slices.DeleteFunc(slices.Clone(d.ahead), func(a ahead) bool { return a.is(index, term) })
	return d.setAhead(append(list, ahead{Index: index, Term: term, Last: last}))
}

func (d *Data) setAhead(list []ahead) error {
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("describe the snapshots that are ahead of the log: %w", err)
	}
	err = d.Log.guard("write which snapshots are ahead of the log", func() error { return d.Log.in.Set(keyAhead, text) })
	if err == nil {
		d.ahead = list
	}
	return err
}

// loadAhead reads what is noted about the snapshots that are there, and judges them by the log.
func (d *Data) loadAhead(metas []*raft.SnapshotMeta) error {
	text, err := d.Log.in.Get(keyAhead)
	switch {
	case noKey(err):
		return nil
	case err != nil:
		return Failed("read which snapshots are ahead of the log", err)
	}
	if err := json.Unmarshal(text, &d.ahead); err != nil {
		return d.Log.in.damagedValue(string(keyAhead), err.Error())
	}
	last, err := d.Log.LastIndex()
	if err != nil {
		return err
	}
	d.ahead = slices.DeleteFunc(d.ahead, func(a ahead) bool {
		return !slices.ContainsFunc(metas, func(m *raft.SnapshotMeta) bool { return a.is(m.Index, m.Term) })
	})
	for i := range d.ahead {
		if a := &d.ahead[i]; a.Last == last {
			a.Dropped = true
		}
	}
	return nil
}

// dropped tells whether a snapshot never was.
func (d *Data) dropped(m *raft.SnapshotMeta) bool {
	return slices.ContainsFunc(d.ahead, func(a ahead) bool { return a.Dropped && a.is(m.Index, m.Term) })
}
