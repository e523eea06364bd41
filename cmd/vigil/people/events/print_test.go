package events

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// What happened on another day than today has its day.
func TestEventsOfOtherDaysHaveTheirDay(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 5, 1, 0, 0, 1, 0, time.Local), "00:00:01  host.lost"},
		{time.Date(2026, 4, 30, 23, 59, 59, 0, time.Local), "2026-04-30 23:59:59  host.lost"},
	} {
		var out bytes.Buffer
		a := &cli.App{Terminal: term.Terminal{Out: &out, Now: func() time.Time { return now }}}
		if err := Print(a, &vigilv1.Event{Kind: "host.lost", At: timestamppb.New(tt.at)}); err != nil ||
			out.String() != tt.want+"\n" {
			t.Errorf("%q, %v; want %q", out.String(), err, tt.want)
		}
	}
}
