package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A time of day is the next such time, in local time; a day that is given is meant.
func TestN34UntilIsReadAsADuration(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 3, 1, 14, 0, 0, 0, zone)
	for _, tc := range []struct {
		args, says string
		want       time.Duration // 0: no end
	}{
		{"", "", 0},
		{"--for 0", "", 0},
		{"--for 1s", "", time.Second},
		{"--for 2h", "", 2 * time.Hour},
		{"--for 1d12h", "", 36 * time.Hour},
		{"--for 365d", "", 365 * 24 * time.Hour},
		{"--until 15:00", "", time.Hour},
		{"--until 14:00:20", "", 20 * time.Second},
		{"--until 14:00", "", 24 * time.Hour}, // that of tomorrow
		{"--until 08:30", "", 18*time.Hour + 30*time.Minute},
		{"--until 2026-03-02_14:00", "", 24 * time.Hour},
		{"--until 2026-03-01T15:00", "", time.Hour},
		{"--until 2026-03-01T13:00:00Z", "", time.Hour},
		{"--until 2027-03-01T12:00:00Z", "", 365 * 24 * time.Hour},
		{"--for 2h --until 15:00", "not both", 0},
		{"--for 500ms", "500ms is not possible, give 1s to 365d", 0},
		{"--for -1h", "-1h0m0s is not possible", 0},
		{"--for 366d", "1s to 365d", 0},
		{"--until 2026-03-01T11:59:00Z", "2026-03-01 11:59:00 +00:00 is past, it is 2026-03-01 14:00:00 +02:00 now", 0},
		{"--until 2026-03-01_14:00", "2026-03-01 14:00:00 +02:00 is past", 0},
		{"--until 2027-03-01T12:00:01Z", "2027-03-01 12:00:01 +00:00 is more than 365 days from now", 0},
		{"--until tomorrow", `"tomorrow" is not a time: write 15:00`, 0},
		{"--until 25:00", `"25:00" is not a time`, 0},
	} {
		var f UntilFlags
		cmd := &cobra.Command{}
		f.Add(cmd, "it")
		Tune(cmd)
		args := strings.Fields(tc.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatalf("%s: %v", tc.args, err)
		}
		switch got, err := f.Read(cmd, now); {
		case tc.says != "":
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, %v; want %q", tc.args, got, err, tc.says)
			}
		case err != nil || (got == nil) != (tc.want == 0) || got.AsDuration() != tc.want:
			t.Errorf("%s: %v, %v; want %s", tc.args, got.AsDuration(), err, tc.want)
		}
	}
}
