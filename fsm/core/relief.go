package core

import (
	"iter"

	"github.com/tidwall/btree"

	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// What goes when a budget is full: texts of old finished tasks, then those tasks, and closed
// mail. What somebody still works on or waits for never does, nor does a QUARANTINED task: a human
// decides about it, with its text, however long that takes.

// RoomItem orders what has ended by its room, then by when.
type RoomItem[K table.ID] struct {
	Room noun.RoomID
	seq  uint64 // FinishSeq of a task, the id of a mail
	Id   K
}

func lessRoomItem[K table.ID](a, b RoomItem[K]) bool {
	switch {
	case a.Room != b.Room:
		return a.Room < b.Room
	case a.seq != b.seq:
		return a.seq < b.seq
	}
	return a.Id < b.Id
}

// Ended finds what may go, the oldest first: in the cluster (room 0) and in each room.
type Ended[K table.ID] struct{ *btree.BTreeG[RoomItem[K]] }

func NewEnded[K table.ID]() Ended[K] { return Ended[K]{Sorted(lessRoomItem[K])} }

func (e Ended[K]) Put(room noun.RoomID, seq uint64, id K, in bool) {
	if in {
		e.Set(RoomItem[K]{room, seq, id})
	} else {
		e.Delete(RoomItem[K]{room, seq, id})
	}
}

// worthDropping is from how many bytes on the texts of a finished task are dropped alone.
const worthDropping = 256

// dropTexts takes a finished task's texts, and leaves a mark that says so.
func (s *State) dropTexts(t *noun.Task) {
	s.indexEnded(t, -1)
	for i := range t.Late {
		t.Dropped += uint64(len(t.Late[i].Result))
	}
	t.Dropped += uint64(len(t.Text) + len(t.Note) + len(t.Result))
	s.resultDropped(t, int64(len(t.Result)))
	t.Text, t.Note, t.Result, t.Late, t.TextGone = "", "", "", nil, true
	t.Rev = s.Meta.Index
	s.indexEnded(t, +1)
	s.Tally.Dropped++
}

// resultDropped notes that so many bytes of the result went, so that nobody takes what is left for all of it.
func (s *State) resultDropped(t *noun.Task, bytes int64) {
	if bytes > 0 && s.retries() {
		t.ChangeRetry(func(r *noun.Retry) { r.ResultDropped += uint32(bytes) })
	}
}

// asks tells that a human decides about a task that has ended. So it stays until that is done.
func (v *View) asks(t *noun.Task) bool { return t.State == noun.TaskQuarantined && v.retries() }

// indexEnded adds (by 1) or takes away (by -1) a finished task's place among what may go. Its texts may have
// changed since it was added: both times every place is set as it should be, since one that stayed would
// be looked up when its task is gone.
func (s *State) indexEnded(t *noun.Task, by int) {
	goes := by > 0 && !s.asks(t)
	wordy := goes && t.Droppable() >= worthDropping
	if f := (FinishedTask{t.FinishSeq, t.ID}); goes {
		s.Finished.Set(f)
	} else {
		s.Finished.Delete(f)
	}
	s.roomEnded.Put(t.Room, t.FinishSeq, t.ID, goes)
	s.wordy.Put(0, t.FinishSeq, t.ID, wordy)
	s.wordy.Put(t.Room, t.FinishSeq, t.ID, wordy)
	if t.State == noun.TaskQuarantined {
		s.quarantined.Put(0, t.FinishSeq, t.ID, by > 0)
		s.quarantined.Put(t.Room, t.FinishSeq, t.ID, by > 0)
	}
}

// keepQuarantined takes the tasks that wait for a human from among what may go, when the level begins that does so.
func (s *State) keepQuarantined() {
	var list []noun.TaskID
	for id := range s.quarantinedOf(0) {
		list = append(list, id)
	}
	for _, id := range list {
		s.indexEnded(s.TaskTable.Get(id), +1)
	}
}

// quarantinedOf yields the QUARANTINED tasks of a room (0: of all), the last one first.
func (v *View) quarantinedOf(room noun.RoomID) iter.Seq[noun.TaskID] {
	return func(yield func(noun.TaskID) bool) {
		v.quarantined.Descend(RoomItem[noun.TaskID]{Room: room, seq: ^uint64(0)},
			func(x RoomItem[noun.TaskID]) bool { return x.Room == room && yield(x.Id) })
	}
}

// Relief is what could go, and how much that would free.
type Relief struct {
	texts []noun.TaskID
	tasks []noun.TaskID
	Bytes int64
	Rows  int    // of others, that drop removes
	Drop  func() // nil: none
	// More tells that this is not enough, and that it is all that one command may remove: more could go.
	More bool

	shrinks bool // it is not enough, and frees more than its command needs
}

// relief looks for what to remove from a purse, of a room (0: any), to free so many bytes
// and, of mail, so many rows. What has changed in this entry stays: somebody may ask for it.
func (v *View) relief(p noun.Purse, room noun.RoomID, bytes int64, rows int) (r Relief) {
	switch p {
	case noun.ForTasks:
		v.spentTexts(room, bytes, &r)
		v.spentTasks(room, bytes, &r)
		r.More = r.Bytes < bytes && max(len(r.texts), len(r.tasks)) == ReliefSteps
	default:
		if find := v.Hooks.Relief[p]; find != nil {
			return find(room, bytes, rows)
		}
	}
	return r
}

func (v *View) spentTexts(room noun.RoomID, bytes int64, r *Relief) {
	v.wordy.Ascend(RoomItem[noun.TaskID]{Room: room}, func(x RoomItem[noun.TaskID]) bool {
		if x.Room != room || r.Bytes >= bytes || len(r.texts) == ReliefSteps {
			return false
		}
		if t := v.TaskTable.Get(x.Id); t.Rev != v.Meta.Index {
			r.texts = append(r.texts, t.ID)
			r.Bytes += int64(t.Droppable())
		}
		return true
	})
}

func (v *View) spentTasks(room noun.RoomID, bytes int64, r *Relief) {
	if r.Bytes >= bytes {
		return
	}
	dropped := map[noun.TaskID]bool{}
	for _, id := range r.texts {
		dropped[id] = true
	}
	v.oldest(room, func(id noun.TaskID) bool {
		if r.Bytes >= bytes || len(r.tasks) == ReliefSteps {
			return false
		}
		t := v.TaskTable.Get(id)
		if t.Rev == v.Meta.Index {
			return true
		}
		n := noun.CostOfTask(t)
		if dropped[id] {
			n -= int64(t.Droppable())
		}
		r.tasks, r.Bytes = append(r.tasks, id), r.Bytes+n
		return true
	})
}

// oldest yields finished tasks of a room (0: of all) that may go, those first that ended first.
func (v *View) oldest(room noun.RoomID, yield func(noun.TaskID) bool) {
	if room == 0 {
		v.Finished.Scan(func(f FinishedTask) bool { return yield(f.Id) })
		return
	}
	v.roomEnded.Ascend(RoomItem[noun.TaskID]{Room: room},
		func(x RoomItem[noun.TaskID]) bool { return x.Room == room && yield(x.Id) })
}

// relieve removes what was found. What another list has removed before is skipped.
func (s *State) relieve(r *Relief) {
	for _, id := range r.texts {
		if t := s.TaskTable.Mut(id); t != nil && !t.TextGone {
			s.dropTexts(t)
		}
	}
	for _, id := range r.tasks {
		if t := s.TaskTable.Mut(id); t != nil {
			s.removeTask(t)
		}
	}
	if r.Drop != nil {
		r.Drop()
	}
}
