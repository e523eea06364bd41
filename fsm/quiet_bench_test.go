package fsm

import (
	"fmt"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// manyRooms is a state with active rooms, stalled of which are silent for too long.
func manyRooms(rooms, stalled int) *State {
	s := New()
	s.now = &Entry{}
	s.meta.Clock = noun.Time(time.Hour)
	for i := range rooms {
		rm := s.addRoom(fmt.Sprintf("r%07d", i))
		rm.Quiet = s.meta.Clock
		if i%max(1, rooms/stalled) == 0 && i/max(1, rooms/stalled) < stalled {
			rm.Quiet = noun.Time(i)
		}
		rm.Active = rm.Quiet
		s.roomIndexOf(rm.ID).open = 1
		s.placeRoom(rm)
	}
	return s
}

// A look for stalled rooms visits those and no others, however many rooms there are.
func TestSeed003LooksVisitStalledRoomsOnly(t *testing.T) {
	for _, rooms := range []int{10, 100_000} {
		s := manyRooms(rooms, 10)
		visited, found := 0, 0
		for range s.quietRooms() {
			visited++
		}
		for range s.StalledRooms() {
			found++
		}
		if visited != 10 || found != 10 {
			t.Errorf("of %d rooms %d were visited and %d found as stalled, want 10", rooms, visited, found)
		}
	}
}

func BenchmarkStalledRooms(b *testing.B) {
	for _, rooms := range []int{10, 1_000_000} {
		b.Run(fmt.Sprintf("rooms=%d", rooms), func(b *testing.B) {
			s := manyRooms(rooms, 10)
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
