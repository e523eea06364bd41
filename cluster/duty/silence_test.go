package duty

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// watch is what the conversation watchdog has done.
type watch struct{ Checks, Checked, Warned, Canceled, Errors uint64 }

func watched(d *Duty) watch {
	f := d.Figures().Of("silence")
	return watch{f.Passes, f.Visited, f.Accepted("warn"), f.Accepted("cancel"), f.Errors}
}

// silentRooms are rooms with a task that nobody takes; all time is the simulated one.
func silentRooms(t *testing.T, rooms int) *replica {
	r := newReplica(t)
	for i := range rooms {
		name := fmt.Sprintf("r%02d", i)
		r.do(room(name, noun.RoleSpec{Name: "x", PendingLimit: 7 * 24 * time.Hour}))
		r.do(fsm.CreateTask{Room: name, Role: "x", Title: "secret"})
	}
	return r
}

// after lets time pass and brings it to the state, as beats would.
func (r *replica) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// happened counts the events of a kind and lists their rooms.
func (r *replica) happened(kind string) (rooms []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := range r.w.s.Events(0) {
		if e.Kind == kind {
			rooms = append(rooms, e.Room)
		}
	}
	return rooms
}

// The first look 30 s after taking the lead; a room is warned when it has been silent for 10
// min, and canceled after the grace.
func TestWatchdogStartupAndPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 1)
		inStint(t, r, Config{}, func(d *Duty) {
			r.after(29 * time.Second)
			if got := watched(d); got.Checks != 0 {
				t.Fatalf("before the start delay: %+v", got)
			}
			r.after(2 * time.Second)
			if got := watched(d); got.Checks != 1 || got.Checked != 1 {
				t.Fatalf("after the start delay: %+v", got)
			}
			r.after(5 * time.Minute) // the next pass is at 5:30
			if got := watched(d); got.Checks != 2 || got.Warned != 0 {
				t.Fatalf("after 5 min: %+v", got)
			}
			r.after(5 * time.Minute)
			if got := r.happened("room.stalling"); len(got) != 1 || len(r.happened("room.canceled")) != 0 {
				t.Fatalf("warned: %v", got)
			}
			r.after(time.Minute)
			if got := watched(d); len(r.happened("room.canceled")) != 1 || got.Canceled != 1 || got.Errors != 0 {
				t.Fatalf("after the grace: %+v", got)
			}
			r.after(time.Hour)
			if got := watched(d); got.Checks != 3 {
				t.Errorf("%d passes where nothing has open tasks, want no more than 3", got.Checks)
			}
		})
	})
}

// A word in the grace saves the room.
func TestActivityInTheGraceSavesTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 1)
		inStint(t, r, Config{}, func(d *Duty) {
			r.after(10*time.Minute + 50*time.Second)
			if len(r.happened("room.stalling")) != 1 {
				t.Fatal("not warned")
			}
			r.do(fsm.SetAgent{Agent: "r00/x", By: "ann"})
			r.after(time.Minute)
			if got := watched(d); got.Canceled != 0 || got.Warned != 1 {
				t.Errorf("%+v", got)
			}
		})
	})
}

// A change of leader between warning and cancellation: nothing of it happens twice, and
// the next leader goes on where the last one was.
func TestWatchdogChangeOfLeaderInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 1)
		inStint(t, r, Config{}, func(*Duty) { r.after(10*time.Minute + 45*time.Second) })
		if len(r.happened("room.stalling")) != 1 {
			t.Fatal("not warned")
		}
		r.after(10 * time.Second) // nobody leads
		inStint(t, r, Config{}, func(d *Duty) {
			r.after(time.Hour)
			if got := watched(d); got.Warned != 0 || got.Canceled != 1 {
				t.Errorf("the second leader: %+v", got)
			}
		})
		inStint(t, r, Config{}, func(*Duty) { r.after(time.Hour) })
		for _, kind := range []string{"room.stalling", "room.idle_timeout", "room.canceled", "task.canceled"} {
			if got := r.happened(kind); len(got) != 1 {
				t.Errorf("%d events %s, want 1", len(got), kind)
			}
		}
	})
}

// Incident I141: 10 of 30 rooms in a pass, those first that are silent longest, and 10 in the
// next, not before the interval is over (law L11); each once, and none that is too young.
func TestI141MaxCancellationsPerRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 0)
		inStint(t, r, Config{}, func(d *Duty) {
			var want []string
			for i := range 30 {
				name := fmt.Sprintf("r%02d", (i*7)%30)
				r.do(room(name, noun.RoleSpec{Name: "x"}))
				r.do(fsm.CreateTask{Room: name, Role: "x", Title: "t"})
				if i == 0 {
					r.after(31 * time.Second) // the watch begins
				}
				r.do(fsm.SetAgent{Agent: name + "/x", By: "ann"})
				r.after(time.Second)
				want = append(want, name)
			}
			last := 0
			for minute := range 60 {
				r.after(time.Minute)
				now := len(r.happened("room.canceled"))
				if now-last > 10 {
					t.Fatalf("minute %d: %d rooms were canceled at once", minute, now-last)
				}
				last = now
			}
			if got := r.happened("room.canceled"); !slices.Equal(got, want) {
				t.Errorf("canceled in the order\n%v, want\n%v", got, want)
			}
			if got := watched(d); got.Canceled != 30 || got.Warned != 30 {
				t.Errorf("%+v", got)
			}
			r.do(fsm.PutSettings{Values: []noun.KV{{Key: "watchdog_min_age", Value: "2h"}}})
			r.do(room("young", noun.RoleSpec{Name: "x"}))
			r.do(fsm.CreateTask{Room: "young", Role: "x", Title: "t"})
			r.after(time.Hour)
			if got := watched(d); got.Canceled != 30 || got.Warned != 30 {
				t.Errorf("a room that is too young: %+v", got)
			}
		})
	})
}

// The watchdog switched off; and settings that are changed while it runs.
func TestWatchdogDisabledAndChangedSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 1)
		r.do(fsm.PutSettings{Values: []noun.KV{{Key: "watchdog_enabled", Value: "false"}}})
		inStint(t, r, Config{}, func(d *Duty) {
			r.after(time.Hour)
			if got := watched(d); got.Checks != 0 || len(r.happened("watchdog.on")) != 0 {
				t.Fatalf("switched off: %+v", got)
			}
			r.do(fsm.PutSettings{Values: []noun.KV{{Key: "watchdog_enabled", Value: "true"},
				{Key: "watchdog_interval", Value: "1s"}, {Key: "watchdog_threshold", Value: "3s"},
				{Key: "watchdog_min_age", Value: "0s"}, {Key: "watchdog_grace", Value: "1s"}}})
			r.after(10 * time.Second)
			if got := r.happened("room.canceled"); len(got) != 1 {
				t.Errorf("the new settings do not hold 10 s after they were made: %v", got)
			}
		})
	})
}

// Passes never overlap: a grace longer than the interval holds the next pass back.
func TestWatchdogPassesNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 1)
		r.do(fsm.PutSettings{Values: []noun.KV{{Key: "watchdog_grace", Value: "20m"}}})
		inStint(t, r, Config{}, func(d *Duty) {
			r.after(10*time.Minute + 40*time.Second)
			before := watched(d).Checks
			r.after(19 * time.Minute)
			if got := watched(d); got.Checks != before || got.Warned != 1 || got.Canceled != 0 {
				t.Errorf("in the grace: %+v, %d passes before it", got, before)
			}
			r.after(2 * time.Minute)
			if got := watched(d); got.Canceled != 1 {
				t.Errorf("after the grace: %+v", got)
			}
		})
	})
}

// What cannot be written is an error that is counted and tried again at the next pass.
func TestWatchdogErrorsCancelNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 1)
		r.fail = noun.ErrUnknownOutcome
		inStint(t, r, Config{}, func(d *Duty) {
			r.after(11 * time.Minute)
			if got := watched(d); got.Errors != 3 || got.Checks != 0 {
				t.Errorf("%+v, want 3 errors", got)
			}
			r.mu.Lock()
			r.fail = nil
			r.mu.Unlock()
			r.after(30 * time.Minute)
			if got := watched(d); got.Canceled != 1 {
				t.Errorf("it is over: %+v", got)
			}
		})
	})
}
