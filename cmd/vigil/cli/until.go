package cli

import (
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"
)

// UntilFlags read how long something lasts that a human sets: --for says how long, --until when it
// ends. The cluster is told a duration in any case, since it has a clock of its own.
type UntilFlags struct {
	span  time.Duration
	until string
}

// What the cluster takes.
const (
	minFor = time.Second
	maxFor = 365 * 24 * time.Hour
)

// untilForms are the forms of --until in local time; a time of day is the next such time.
const untilForms = "15:00, 2026-01-31 15:00 or RFC 3339 (2026-01-31T15:00:00+01:00)"

// untilForm is how errors name a time.
const untilForm = "2006-01-02 15:04:05 -07:00"

// Add adds the flags to a command; what names the thing that ends.
func (f *UntilFlags) Add(cmd *cobra.Command, what string) {
	cmd.Flags().DurationVar(&f.span, "for", 0, what+" ends by itself after this long, 1s to 365d (0: never)")
	cmd.Flags().StringVar(&f.until, "until", "", what+" ends by itself at this time: "+untilForms)
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]string{"30m", "2h", "8h", "1d"},
		cobra.ShellCompDirectiveNoFileComp)) // the flags are there
	_ = cmd.RegisterFlagCompletionFunc("until", cobra.NoFileCompletions)
}

// Read gives how long it lasts from now on; nil when nothing was said.
func (f *UntilFlags) Read(cmd *cobra.Command, now time.Time) (*durationpb.Duration, error) {
	long, until := cmd.Flags().Changed("for"), cmd.Flags().Changed("until")
	switch {
	case long && until:
		return nil, Usagef("give --for or --until, not both")
	case until:
		at, err := untilTime(f.until, now)
		if err != nil {
			return nil, err
		}
		span := at.Sub(now).Round(time.Second)
		switch text := at.Format(untilForm); {
		case !at.After(now):
			return nil, Usagef("flag --until: %s is past, it is %s now", text, now.Format(untilForm))
		case span > maxFor:
			return nil, Usagef("flag --until: %s is more than 365 days from now", text)
		}
		return durationpb.New(max(span, minFor)), nil
	case !long || f.span == 0:
		return nil, nil
	case f.span < minFor || f.span > maxFor:
		return nil, Usagef("flag --for: %s is not possible, give 1s to 365d", f.span)
	}
	return durationpb.New(f.span), nil
}

// untilTime reads a time of day, a day with a time of day, or RFC 3339. Without an offset it is in
// the time zone of now.
func untilTime(text string, now time.Time) (time.Time, error) {
	for _, form := range [...]string{"15:04", "15:04:05"} {
		t, err := time.ParseInLocation(form, text, now.Location())
		if err != nil {
			continue
		}
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		if !at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		return at, nil
	}
	for _, form := range [...]string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04",
		"2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, Usagef("flag --until: %q is not a time: write %s", text, untilForms)
}
