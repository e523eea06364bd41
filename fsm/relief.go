package fsm

import (
	"github.com/tidwall/btree"

	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// What goes when a budget is full: texts of old finished tasks, then those tasks, and closed
// mail. What somebody still works on or waits for never does.

// roomItem orders what has ended by its room, then by when.
type roomItem[K table.ID] struct {
	room noun.RoomID
	seq  uint64 // FinishSeq of a task, the id of a mail
	id   K
}

func lessRoomItem[K table.ID](a, b roomItem[K]) bool {
	switch {
	case a.room != b.room:
		return a.room < b.room
	case a.seq != b.seq:
		return a.seq < b.seq
	}
	return a.id < b.id
}

// ended finds what may go, the oldest first: in the cluster (room 0) and in each room.
type ended[K table.ID] struct{ *btree.BTreeG[roomItem[K]] }

func newEnded[K table.ID]() ended[K] { return ended[K]{sorted(lessRoomItem[K])} }

func (e ended[K]) put(room noun.RoomID, seq uint64, id K, in bool) {
	if in {
		e.Set(roomItem[K]{room, seq, id})
	} else {
		e.Delete(roomItem[K]{room, seq, id})
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
	t.Text, t.Note, t.Result, t.Late, t.TextGone = "", "", "", nil, true
	t.Rev = s.meta.Index
	s.indexEnded(t, +1)
	s.figures.Dropped++
}

// indexEnded adds (by 1) or takes away (by -1) a finished task's place among what may go. Its texts may have
// changed since it was added: both times every place is set as it should be, since one that stayed would
// be looked up when its task is gone.
func (s *State) indexEnded(t *noun.Task, by int) {
	wordy := by > 0 && t.Droppable() >= worthDropping
	s.roomEnded.put(t.Room, t.FinishSeq, t.ID, by > 0)
	s.wordy.put(0, t.FinishSeq, t.ID, wordy)
	s.wordy.put(t.Room, t.FinishSeq, t.ID, wordy)
}

// relief is what could go, and how much that would free.
type relief struct {
	texts []noun.TaskID
	tasks []noun.TaskID
	bytes int64
	rows  int    // of others, that drop removes
	drop  func() // nil: none
}

// relief looks for what to remove from a purse, of a room (0: any), to free so many bytes
// and, of mail, so many rows. What has changed in this entry stays: somebody may ask for it.
func (v *View) relief(p noun.Purse, room noun.RoomID, bytes int64, rows int) (r relief) {
	switch p {
	case noun.ForTasks:
		v.spentTexts(room, bytes, &r)
		v.spentTasks(room, bytes, &r)
	default:
		if find := v.hooks.Relief[p]; find != nil {
			return find(room, bytes, rows)
		}
	}
	return r
}

func (v *View) spentTexts(room noun.RoomID, bytes int64, r *relief) {
	v.wordy.Ascend(roomItem[noun.TaskID]{room: room}, func(x roomItem[noun.TaskID]) bool {
		if x.room != room || r.bytes >= bytes || len(r.texts) == reliefSteps {
			return false
		}
		if t := v.tasks.Get(x.id); t.Rev != v.meta.Index {
			r.texts = append(r.texts, t.ID)
			r.bytes += int64(t.Droppable())
		}
		return true
	})
}

func (v *View) spentTasks(room noun.RoomID, bytes int64, r *relief) {
	if r.bytes >= bytes {
		return
	}
	dropped := map[noun.TaskID]bool{}
	for _, id := range r.texts {
		dropped[id] = true
	}
	v.oldest(room, func(id noun.TaskID) bool {
		if r.bytes >= bytes || len(r.tasks) == reliefSteps {
			return false
		}
		t := v.tasks.Get(id)
		if t.Rev == v.meta.Index {
			return true
		}
		n := noun.CostOfTask(t)
		if dropped[id] {
			n -= int64(t.Droppable())
		}
		r.tasks, r.bytes = append(r.tasks, id), r.bytes+n
		return true
	})
}

// oldest yields finished tasks of a room (0: of all), those first that ended first.
func (v *View) oldest(room noun.RoomID, yield func(noun.TaskID) bool) {
	if room == 0 {
		v.finished.Scan(func(f finishedTask) bool { return yield(f.id) })
		return
	}
	v.roomEnded.Ascend(roomItem[noun.TaskID]{room: room}, func(x roomItem[noun.TaskID]) bool { return x.room == room && yield(x.id) })
}

// relieve removes what was found. What another list has removed before is skipped.
func (s *State) relieve(r *relief) {
	for _, id := range r.texts {
		if t := s.tasks.Mut(id); t != nil && !t.TextGone {
			s.dropTexts(t)
		}
	}
	for _, id := range r.tasks {
		if t := s.tasks.Mut(id); t != nil {
			s.removeTask(t)
		}
	}
	if r.drop != nil {
		r.drop()
	}
}
