package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// quarantined has a task, in room k, of which a life has died, so that a human decides about it.
func quarantined(t *testing.T, level uint32) (d *drive, id noun.TaskID) {
	d = newDrive(t)
	if level > Baseline {
		d.must(RaiseLevel{Level: level})
	}
	d.room("r", noun.RoleSpec{Name: "a"})
	h := d.host("h1", "worker")
	d.room("k", managed("a", func(r *noun.RoleSpec) { r.KillLimit = 1 }))
	me := d.start("k/a", h)
	d.must(Join{Speaker: me})
	id = d.must(CreateTask{Room: "k", Role: "a", Title: "t", Text: strings.Repeat("q", 5000), By: "ann"}).Task
	d.must(Claim{Speaker: me})
	d.must(ReportExit{Host: h, Agent: d.agent("k/a").ID, Inc: me.Inc, Signal: "killed"})
	if x := d.s.Task(id); x.State != noun.TaskQuarantined {
		t.Fatalf("it is %s", x.State)
	}
	return d, id
}

// ends makes tasks that are over at once.
func (d *drive) ends(tasks int, text string) {
	for range tasks {
		id := d.must(CreateTask{Room: "r", Role: "a", Title: "t", Text: text}).Task
		d.must(CancelTask{Task: id, By: "ann"})
	}
}

// asked tells whether the escalation about a quarantined task is open.
func (d *drive) asked(id noun.TaskID) bool {
	for e := range d.s.Escalations(0) {
		if e.Kind == noun.EscTaskQuarantined && e.Task == id {
			return e.State == noun.EscalationOpen
		}
	}
	return false
}

// L8: what waits for a human keeps its text and its escalation, whatever ends beside it and however long it takes.
func TestL8AQuarantinedTaskIsKeptForAHuman(t *testing.T) {
	waits := func(d *drive, id noun.TaskID) {
		t.Helper()
		x := d.s.Task(id)
		if x == nil || x.TextGone || len(x.Text) != 5000 || !d.asked(id) {
			t.Fatalf("the task is there: %v, its escalation is open: %v", x != nil, d.asked(id))
		}
	}
	for name, press := range map[string]func(*drive){
		"the budget is full": func(d *drive) {
			d.set("budget_tasks", "64KiB", "budget_room_share", "100")
			d.ends(100, strings.Repeat("x", 5000))
		},
		"many end": func(d *drive) {
			d.set("tasks_kept", "3")
			d.ends(10, "")
			d.jump(time.Second)
			if n := d.s.Finished.Len(); n != 3 {
				d.t.Errorf("%d finished tasks are kept", n)
			}
		},
		"8 days": func(d *drive) {
			d.ends(10, "")
			d.jump(8 * 24 * time.Hour)
			d.must(LeaderEstablished{Server: "a"})
			if n := d.s.TaskTable.Len(); n != 1 {
				d.t.Errorf("%d tasks are kept", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, id := quarantined(t, core.LevelRetry)
			press(d)
			waits(d, id)
			d.s = reload(t, d.s)
			waits(d, id)
			d.must(UnquarantineTask{Task: id, By: "ann"})
			if x := d.s.Task(id); x.State != noun.TaskPending || len(x.Text) != 5000 {
				t.Errorf("tried again it is %s, with a text of %d bytes", x.State, len(x.Text))
			}
		})
	}
}

// L11: what waits for a human counts as what is open, in its room too, so that there are no more of them than memory
// was set aside for.
func TestL11QuarantinedTasksCountAsOpen(t *testing.T) {
	d, id := quarantined(t, core.LevelRetry)
	d.set("max_open_tasks", "4", "budget_room_share", "50")
	d.must(CreateTask{Room: "k", Role: "a", Title: "t"})
	if out := d.want(noun.Full, CreateTask{Room: "k", Role: "a", Title: "t"}); !strings.Contains(out.Detail,
		`2 open or QUARANTINED tasks in room "k"`) {
		t.Errorf("the refusal: %s", out.Detail)
	}
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	d.room("s", noun.RoleSpec{Name: "a"})
	d.want(noun.Full, CreateTask{Room: "s", Role: "a", Title: "t"})
	if u := d.use("open_tasks"); u.Used != 4 {
		t.Errorf("in use: %+v", u)
	}
	d.must(CancelTask{Task: id, By: "ann"}) // decided, it is one that has ended as others
	d.must(CreateTask{Room: "s", Role: "a", Title: "t"})
	d.jump(8 * 24 * time.Hour)
	d.must(LeaderEstablished{Server: "a"})
	if d.s.Task(id) != nil || d.asked(id) {
		t.Error("it was decided, and is kept")
	}
}

// L8: a room that is deleted takes with it what waits in it.
func TestL8QuarantinedTasksGoWithTheirRoom(t *testing.T) {
	d, id := quarantined(t, core.LevelRetry)
	d.must(DeleteRoom{Room: "k", By: "ann"})
	d.jump(time.Minute)
	if d.s.Task(id) != nil || d.s.Room("k") != nil || d.asked(id) {
		t.Errorf("the room is deleted, and there are %+v, %+v", d.s.Room("k"), d.s.Task(id))
	}
}

// L12: before the level it goes as what has ended does, as servers of the version before have it; what is left when
// the level begins stays.
func TestL12QuarantinedTasksAreKeptFromTheLevelOn(t *testing.T) {
	d, id := quarantined(t, Baseline)
	d.set("max_open_tasks", "1")
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	d.jump(6 * 24 * time.Hour)
	d.must(RaiseLevel{Level: core.LevelRetry})
	d.jump(2 * 24 * time.Hour)
	d.must(LeaderEstablished{Server: "a"})
	if d.s.Task(id) == nil || !d.asked(id) {
		t.Errorf("it is %+v", d.s.Task(id))
	}
	d, id = quarantined(t, Baseline)
	d.jump(8 * 24 * time.Hour)
	d.must(LeaderEstablished{Server: "a"})
	if d.s.Task(id) != nil {
		t.Error("it is kept before the level")
	}
}

// L8: in random logs that meet every limit a QUARANTINED task ends by a word about it or its room and by nothing else,
// and what else has ended is what a naive count says.
func TestL8RandomLogsForgetNoQuarantinedTask(t *testing.T) {
	kept, gone := 0, 0
	for _, seed := range seeds(t, 12) {
		c, s := newChaos(seed, true), New()
		c.retries, c.climbs = true, true
		for _, e := range append(c.opening(), c.entry(Request{Cmd: PutSettings{Values: []noun.KV{
			{Key: "handoff_limit", Value: "1"},
			{Key: "tasks_kept", Value: "5"}, {Key: "task_retention", Value: "5s"}}}})) {
			s.Apply(e)
		}
		waits := map[noun.TaskID]noun.Task{}
		for n := range 1500 {
			if n%150 == 0 {
				s.Apply(c.entry(Request{Cmd: c.budgets()}))
			}
			e, last, set := c.lavish(c.next(s)), s.Meta.NextEvent-1, *s.Settings() // it forgets before it sets others
			for i, r := range e.Requests {                                         // a hand-off alone has work wait for a human by one word
				if h, ok := r.Cmd.(Handoff); ok {
					h.Text = strings.Repeat("y", 1000)
					e.Requests[i].Cmd = h
				}
			}
			s.Apply(e)
			decided := map[noun.TaskID]bool{}
			for ev := range s.Events(last) {
				if ev.Kind == "task.canceled" || ev.Kind == "task.retried" || ev.Kind == "task.unquarantined" {
					decided[ev.Task] = true
				}
			}
			for id, was := range waits {
				if rm := s.RoomByID(was.Room); rm == nil || rm.Deleting || decided[id] {
					continue
				}
				if x := s.Task(id); x == nil || x.State != noun.TaskQuarantined || x.Text != was.Text {
					t.Fatalf("seed %d, entry %d: task %d waited for a human, and is %+v", seed, e.Index, id, x)
				}
			}
			clear(waits)
			others := uint64(0)
			for x := range s.Tasks(0) {
				switch {
				case x.State == noun.TaskQuarantined:
					waits[x.ID] = *x
					if s.Clock().Sub(x.FinishedAt) > set.TaskRetention {
						kept++
					}
				case x.State.Terminal():
					if x.Rev != e.Index { // else what was said in the entry, which forgets before, may have ended it
						others++
					}
					if s.Clock().Sub(x.FinishedAt) >= set.TaskRetention {
						t.Fatalf("seed %d, entry %d: task %d ended at %s and is kept", seed, e.Index, x.ID,
							time.Duration(x.FinishedAt))
					}
				}
			}
			if others > set.TasksKept {
				t.Fatalf("seed %d, entry %d: %d finished tasks are kept", seed, e.Index, others)
			}
			gone += int(s.Meta.NextTask-1) - s.TaskTable.Len()
			if err := s.Check(); err != nil {
				t.Fatalf("seed %d, entry %d: %v", seed, e.Index, err)
			}
			if c.one(40) {
				s = reload(t, s)
			}
		}
	}
	if (kept == 0 || gone == 0) && *seedFlag == 0 {
		t.Errorf("%d were kept beyond the retention, %d others gone: the logs exercise nothing", kept, gone)
	}
}
