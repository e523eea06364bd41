package fsm

import (
	"fmt"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// manyRooms is a state with active rooms, stalled of which are silent for too long.
func manyRooms(t testing.TB, rooms, stalled int) *State {
	s, e := New(), Entry{Term: 1, Stint: 1, Stamp: 1}
	apply := func(cmds ...Command) {
		e.Index++
		e.Requests = e.Requests[:0]
		for _, c := range cmds {
			e.Requests = append(e.Requests, Request{Cmd: c})
		}
		for _, out := range s.Apply(&e).Outcomes {
			if out.Code != noun.OK {
				t.Fatal(out.Detail)
			}
		}
	}
	apply(PutSettings{Values: []noun.KV{{Key: "max_rooms", Value: fmt.Sprint(rooms)},
		{Key: "max_open_tasks", Value: fmt.Sprint(rooms)},
		{Key: "budget_agents", Value: "8GiB"}, {Key: "watchdog_enabled", Value: "true"}}})
	for i := range rooms {
		if i == stalled {
			e.Stamp = noun.Time(10 * time.Hour)
		}
		room := fmt.Sprintf("r%07d", i)
		apply(ApplyRoom{Room: room, Roles: []noun.RoleSpec{{Name: "w", Replicas: 1}}},
			CreateTask{Room: room, Role: "w", Title: "x"})
	}
	return s
}

// A look for stalled rooms finds those and no others; the benchmark below shows that it visits no
// others, however many rooms there are.
func TestLooksFindStalledRoomsOnly(t *testing.T) {
	s, found := manyRooms(t, 1000, 10), 0
	for rm, q := range s.StalledRooms() {
		if found++; rm.Name > "r0000009" || q.State != RoomStalled {
			t.Errorf("room %s is %s", rm.Name, q.State)
		}
	}
	if found != 10 {
		t.Errorf("%d rooms were found as stalled, want 10", found)
	}
}

func BenchmarkStalledRooms(b *testing.B) {
	for _, rooms := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("rooms=%d", rooms), func(b *testing.B) {
			s := manyRooms(b, rooms, 10)
			b.ResetTimer()
			for b.Loop() {
				n := 0
				for range s.StalledRooms() {
					n++
				}
				if n != 10 {
					b.Fatalf("%d stalled", n)
				}
			}
		})
	}
}
