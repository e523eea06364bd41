package cli

import (
	"fmt"
	"time"
)

// timeForms are the forms in which people write a time; a time of day is the next such time.
const timeForms = "15:00, 2026-01-31 15:00 or RFC 3339 (2026-01-31T15:00:00+01:00)"

// ParseTime reads a time of day, a day with a time of day, or RFC 3339. Without an offset it is
// in the time zone of now.
func ParseTime(text string, now time.Time) (time.Time, error) {
	for _, form := range [...]string{"15:04", "15:04:05"} {
		t, err := time.ParseInLocation(form, text, now.Location())
		if err != nil {
			continue
		}
		day := func(later int) time.Time {
			return time.Date(now.Year(), now.Month(), now.Day()+later, t.Hour(), t.Minute(), t.Second(), 0,
				now.Location())
		}
		if at := day(0); at.After(now) {
			return at, nil
		}
		return day(1), nil
	}
	for _, form := range [...]string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04",
		"2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write %s", text, timeForms)
}
