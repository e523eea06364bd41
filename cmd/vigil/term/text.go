package term

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/fsm/noun"
)

// Cut shortens text to width columns, with an ellipsis.
func Cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// Short prints a duration with its two largest units at most: 350ms, 12s, 3m 20s,
// 5h 2m, 3d.
func Short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Short(-d)
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute && d%time.Minute >= time.Second:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 10*time.Hour && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

var goSpans = regexp.MustCompile(`\b(\d+h)?(\d+m)(\d+s)\b`)

// Tidy writes Go's durations in a text of the cluster as people do: 24h0m0s is 24h, 5m0s is 5m,
// 2m15s is 2m 15s, as in Short, and what is whole days from two on is days.
func Tidy(text string) string {
	return goSpans.ReplaceAllStringFunc(text, func(span string) string {
		d, err := time.ParseDuration(span)
		if err != nil {
			return span
		}
		const day = 24 * time.Hour
		if d >= 2*day && d%day == 0 {
			return fmt.Sprintf("%dd", d/day)
		}
		var parts []string
		for _, part := range goSpans.FindStringSubmatch(span)[1:] {
			if strings.Trim(part, "0hms") != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, " ")
	})
}

// Span prints a duration of an answer; "" when there is none.
func Span(d *durationpb.Duration) string {
	if d == nil || d.AsDuration() == 0 {
		return ""
	}
	return Short(d.AsDuration())
}

// Ago prints a wall time as "12s ago"; "" when there is none.
func (t *Terminal) Ago(at *timestamppb.Timestamp) string {
	if at == nil || at.GetSeconds() == 0 && at.GetNanos() == 0 {
		return ""
	}
	// Clocks of two machines differ: what seems to be in the future is just now.
	d := t.Now().Sub(at.AsTime())
	if d < time.Second {
		return "just now"
	}
	return Short(d) + " ago"
}

// Left says how long something still lasts, or since when it does no more; "" when nothing is known of that.
func Left(d *durationpb.Duration) string {
	if d == nil || d.AsDuration() == 0 {
		return ""
	}
	if d.AsDuration() < 0 {
		return "ended " + Short(-d.AsDuration()) + " ago"
	}
	return "ends in " + Short(d.AsDuration())
}

// EndsText says when something ends by itself, in words and in local time; "" when it does not.
func (t *Terminal) EndsText(in *durationpb.Duration) string {
	if in == nil {
		return ""
	}
	return fmt.Sprintf("%s (for another %s)", t.EndTime(in), Short(in.AsDuration().Round(time.Second)))
}

// EndTime is EndsText without for how long that is; for people, since the cluster has a clock of its own.
func (t *Terminal) EndTime(in *durationpb.Duration) string {
	if in == nil {
		return ""
	}
	now := t.Now()
	at, form := now.Add(in.AsDuration()).Round(time.Second), "15:04" // the answer was some moments on the way
	if in.AsDuration() >= 24*time.Hour || at.YearDay() != now.YearDay() {
		form = "2006-01-02 15:04"
	}
	return " until " + at.Format(form)
}

// Because adds the reason that a human gave, if any.
func Because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// Times counts in words: once, 2 times.
func Times(n uint32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Plural says "1 shim", "2 shims", as events do.
func Plural[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N, one string, many ...string) string {
	return noun.Plural(n, one, many...)
}

// BytesText prints a size: 512 B, 3.4 MiB.
func BytesText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, unit = range [...]string{"KiB", "MiB", "GiB", "TiB"} {
		if f /= 1024; f < 1024 {
			break
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + unit
}

// OrWord gives text, or another word where there is none.
func OrWord(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// OrZero gives the text of a duration, 0s where there is none.
func OrZero(text string) string {
	if text == "" {
		return "0s"
	}
	return text
}

// TitleOf gives the first line of a text.
func TitleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return Cut(OneLine(strings.TrimLeft(line, "# ")), 120)
}

// Shown makes text of others safe for a terminal; in a pipe it stays as it is.
func (t *Terminal) Shown(text string) string {
	if t.Screen.Width == 0 {
		return text
	}
	return Safe(text)
}
