package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// spanHelp is how durations are written.
const spanHelp = "a duration like 90s, 5m, 1h30m or 2d"

var spanDays = regexp.MustCompile(`^([+-]?)(\d{1,5})d(.*)$`)

// ParseSpan reads a duration as Go writes it, with days before the rest: 90s, 1h30m, 2d, 1d12h. A
// day has 24 hours.
func ParseSpan(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not %s", text, spanHelp)
	m := spanDays.FindStringSubmatch(text)
	if m == nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, wrong
		}
		return d, nil
	}
	days, err := strconv.Atoi(m[2])
	if err != nil {
		return 0, wrong
	}
	rest := time.Duration(0)
	if m[3] != "" {
		if strings.ContainsAny(m[3][:1], "+-") {
			return 0, wrong
		}
		if rest, err = time.ParseDuration(m[3]); err != nil {
			return 0, wrong
		}
	}
	d := time.Duration(days)*24*time.Hour + rest
	if m[1] == "-" {
		d = -d
	}
	return d, nil
}

// PlainSpan writes a duration with days as the cluster reads it, and anything else as it is.
func PlainSpan(text string) string {
	if spanDays.MatchString(text) {
		if d, err := ParseSpan(text); err == nil {
			return d.String()
		}
	}
	return text
}

// spanFlag is a flag for a duration that takes days too.
type spanFlag struct{ pflag.Value }

// Set reads what was written.
func (f spanFlag) Set(text string) error {
	d, err := ParseSpan(text)
	if err != nil {
		return err
	}
	return f.Value.Set(d.String())
}
