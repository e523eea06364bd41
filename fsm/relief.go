package fsm

import "github.com/tidwall/btree"

// What goes when a budget is full: texts of old finished tasks, then those tasks, and closed
// mail. What somebody still works on or waits for never does.

// roomItem orders what has ended by its room, then by when.
type roomItem struct {
	room RoomID
	seq  uint64 // FinishSeq of a task, the id of a mail
	id   uint64
}

func lessRoomItem(a, b roomItem) bool {
	switch {
	case a.room != b.room:
		return a.room < b.room
	case a.seq != b.seq:
		return a.seq < b.seq
	}
	return a.id < b.id
}

// ended finds what may go, the oldest first: in the cluster (room 0) and in each room.
type ended struct{ *btree.BTreeG[roomItem] }

func newEnded() ended {
	return ended{btree.NewBTreeGOptions(lessRoomItem, btree.Options{NoLocks: true})}
}

func (e ended) put(room RoomID, seq, id uint64, in bool) {
	if in {
		e.Set(roomItem{room, seq, id})
	} else {
		e.Delete(roomItem{room, seq, id})
	}
}

// worthDropping is from how many bytes on the texts of a finished task are dropped alone.
const worthDropping = 256

// droppable is what would be saved if a task lost its texts; its title stays.
func (t *Task) droppable() (n int) {
	n = len(t.Text) + len(t.Note) + len(t.Result)
	for i := range t.Late {
		n += len(t.Late[i].Result) + costLate
	}
	return n
}

// dropTexts takes a finished task's texts, and leaves a mark that says so.
func (s *State) dropTexts(t *Task) {
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
func (s *State) indexEnded(t *Task, by int) {
	wordy := by > 0 && t.droppable() >= worthDropping
	s.roomEnded.put(t.Room, t.FinishSeq, uint64(t.ID), by > 0)
	s.wordy.put(0, t.FinishSeq, uint64(t.ID), wordy)
	s.wordy.put(t.Room, t.FinishSeq, uint64(t.ID), wordy)
}

// relief is what could go, and how much that would free.
type relief struct {
	texts []TaskID
	tasks []TaskID
	mails []MailID
	bytes int64
}

// relief looks for what to remove from a purse, of a room (0: any), to free so many bytes
// and, of mail, so many rows. What has changed in this entry stays: somebody may ask for it.
func (s *State) relief(p Purse, room RoomID, bytes int64, rows int) (r relief) {
	switch p {
	case ForTasks:
		s.spentTexts(room, bytes, &r)
		s.spentTasks(room, bytes, &r)
	case ForMail:
		s.mailsEnded.Ascend(roomItem{room: room}, func(x roomItem) bool {
			if x.room != room || r.bytes >= bytes && len(r.mails) >= rows || len(r.mails) == reliefSteps {
				return false
			}
			n := costOfMail(s.mails.get(x.id))
			r.mails, r.bytes = append(r.mails, MailID(x.id)), r.bytes+n
			return true
		})
	}
	return r
}

func (s *State) spentTexts(room RoomID, bytes int64, r *relief) {
	s.wordy.Ascend(roomItem{room: room}, func(x roomItem) bool {
		if x.room != room || r.bytes >= bytes || len(r.texts) == reliefSteps {
			return false
		}
		if t := s.tasks.get(x.id); t.Rev != s.meta.Index {
			r.texts = append(r.texts, t.ID)
			r.bytes += int64(t.droppable())
		}
		return true
	})
}

func (s *State) spentTasks(room RoomID, bytes int64, r *relief) {
	if r.bytes >= bytes {
		return
	}
	dropped := map[TaskID]bool{}
	for _, id := range r.texts {
		dropped[id] = true
	}
	s.oldest(room, func(id TaskID) bool {
		if r.bytes >= bytes || len(r.tasks) == reliefSteps {
			return false
		}
		t := s.tasks.get(uint64(id))
		if t.Rev == s.meta.Index {
			return true
		}
		n := costOfTask(t)
		if dropped[id] {
			n -= int64(t.droppable())
		}
		r.tasks, r.bytes = append(r.tasks, id), r.bytes+n
		return true
	})
}

// oldest yields finished tasks of a room (0: of all), those first that ended first.
func (s *State) oldest(room RoomID, yield func(TaskID) bool) {
	if room == 0 {
		s.finished.Scan(func(f finishedTask) bool { return yield(f.id) })
		return
	}
	s.roomEnded.Ascend(roomItem{room: room}, func(x roomItem) bool { return x.room == room && yield(TaskID(x.id)) })
}

// relieve removes what was found. What another list has removed before is skipped.
func (s *State) relieve(r *relief) {
	for _, id := range r.texts {
		if t := s.tasks.mut(uint64(id)); t != nil && !t.TextGone {
			s.dropTexts(t)
		}
	}
	for _, id := range r.tasks {
		if t := s.tasks.mut(uint64(id)); t != nil {
			s.removeTask(t)
		}
	}
	for _, id := range r.mails {
		if s.mails.get(uint64(id)) != nil {
			s.removeMail(id)
		}
	}
}
