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

// untilForm is how errors name a time.
const untilForm = "2006-01-02 15:04:05 -07:00"

// Add adds the flags to a command; what names the thing that ends.
func (f *UntilFlags) Add(cmd *cobra.Command, what string) {
	cmd.Flags().DurationVar(&f.span, "for", 0, what+" ends by itself after this long, 1s to 365d (0: never)")
	cmd.Flags().StringVar(&f.until, "until", "", what+" ends by itself at this time: "+timeForms)
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]string{"30m", "2h", "8h", "1d"},
		cobra.ShellCompDirectiveNoFileComp)) // the flags are there
	_ = cmd.RegisterFlagCompletionFunc("until", cobra.NoFileCompletions)
}

// Read gives how long it lasts from now on; nil when nothing was said, as where the flags are not there.
func (f *UntilFlags) Read(cmd *cobra.Command, now time.Time) (*durationpb.Duration, error) {
	long, until := cmd.Flags().Changed("for"), cmd.Flags().Changed("until")
	switch {
	case long && until:
		return nil, Usagef("give --for or --until, not both")
	case until:
		at, err := ParseTime(f.until, now)
		if err != nil {
			return nil, Usagef("flag --until: %w", err)
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
