package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// F21: the larger the state, the more entries lie between two comparisons of the servers: a state of
// 64 MiB is hashed half as often as one of 32.
func TestF21LargeStatesAreComparedMoreRarely(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "builder", Replicas: 1})
	if got, want := d.s.MarkEvery(), d.s.Settings().MarkEvery; got != want {
		t.Errorf("a small state is compared every %d entries, want every %d", got, want)
	}
	text := strings.Repeat("x", 200_000)
	for range 400 {
		d.must(CreateTask{Room: "demo", Role: "builder", Title: "t", Text: text})
	}
	if got, least := d.s.MarkEvery(), uint64(400*200_000/core.BytesPerMarkedEntry); got < least || got > 2*least {
		t.Errorf("a state of 80 MB is compared every %d entries, want some %d", got, least)
	}
	d.set("mark_every", "0")
	if got := d.s.MarkEvery(); got != 0 {
		t.Errorf("compared every %d entries although that is off", got)
	}
}

// F19: a page of rooms begins where the last one ended, also behind a room that is gone.
func TestF19RoomsAreListedFromTheNamedOne(t *testing.T) {
	d := newDrive(t)
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprintf("r%02d", i))
		d.room(all[i], noun.RoleSpec{Name: "builder", Replicas: 1})
	}
	for _, after := range append(all, "", "r", "r07a", "z") {
		var got, want []string
		for rm := range d.s.Rooms(after) {
			got = append(got, rm.Name)
		}
		for _, name := range all {
			if name > after {
				want = append(want, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %q: %v, want %v", after, got, want)
		}
	}
}
