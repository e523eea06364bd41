package watchdog

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// What people read of a room's silence.
func TestRoomTellsOfItsSilence(t *testing.T) {
	a := &cli.App{Terminal: term.Terminal{Now: func() time.Time { return time.Unix(9000, 0) }}}
	for want, room := range map[string]*vigilv1.Room{
		"": {},
		"exempt: r/a has declared in_tool": {Quiet: &vigilv1.RoomQuiet{State: "exempt",
			Why: "r/a has declared in_tool"}},
		"stalling: idle timeout, silent for 11m, it is canceled in 30s (limit 10m, deadline 2h)": {
			Quiet: &vigilv1.RoomQuiet{State: "stalling", Reason: "idle_timeout",
				Silent: durationpb.New(11 * time.Minute), CancelIn: durationpb.New(30 * time.Second)},
			Watch: &vigilv1.RoomWatch{IdleLimit: durationpb.New(10 * time.Minute),
				Deadline: durationpb.New(2 * time.Hour)}},
		"active: silent for 3m, stalled in 7m": {Quiet: &vigilv1.RoomQuiet{State: "active",
			Silent: durationpb.New(3 * time.Minute), DueIn: durationpb.New(7 * time.Minute)}},
	} {
		if got := Text(a, room); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	room := &vigilv1.Room{Name: "web", Canceled: &vigilv1.Cancellation{At: timestamppb.New(time.Unix(8940, 0)),
		Reason: "idle_timeout", Tasks: 2}}
	if got := CanceledText(a, room); !strings.Contains(got, "idle timeout, 2 tasks; `vigil room reopen web`") {
		t.Errorf("%q", got)
	}
}
