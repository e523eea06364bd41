package shim

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// waitMost bounds the wait that a tool is believed to ask for. What it prints is the agent's text, and
// the end of a life must not be lost in what that says; the cluster parks nobody for longer.
const waitMost = 24 * time.Hour

// outOfQuota tells whether one of the rules recognizes the end of a tool, and how
// long it says to wait; 0: unknown. The first rule that does counts. now is wall
// time in the zone of the host, for rules without one of their own.
//
// Words alone are believed of a tool that has ended itself, with an error: the output holds what an agent
// writes, too, and one whose task is about usage limits would be parked for it. A rule that names its
// exit code is asked for that code alone.
func outOfQuota(rules []UsageRule, code int, tail string, now time.Time) (after time.Duration, hit bool) {
	for _, r := range rules {
		if r.Code != 0 && r.Code != code || r.Code == 0 && (r.Pattern == "" || !failed(code)) {
			continue
		}
		if r.Pattern == "" {
			return min(r.After, waitMost), true
		}
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			continue // agentd has checked it at its start
		}
		// The last notice counts: an agent may have waited for an earlier one to pass.
		all := re.FindAllStringSubmatch(tail, -1)
		if len(all) == 0 {
			continue
		}
		at := now
		if r.zone != nil {
			at = now.In(r.zone)
		}
		if after := waitOf(re, all[len(all)-1], at); after > 0 {
			return min(after, waitMost), true
		}
		return min(r.After, waitMost), true
	}
	return 0, false
}

// signals is how many signals there are: 128 and the number of one is the exit code of a shell, and of others
// that wait for a program, when it ended what they ran.
const signals = 64

// failed tells that a program has ended itself, and not well: -1 is the code of one that a signal ended.
func failed(code int) bool { return code > 0 && (code <= 128 || code > 128+signals) }

// waitOf reads the named groups of a match; 0: they say nothing.
func waitOf(re *regexp.Regexp, match []string, now time.Time) time.Duration {
	var after time.Duration
	for i, name := range re.SubexpNames() {
		text := strings.TrimSpace(match[i])
		if name == "" || text == "" {
			continue
		}
		if name == "at" {
			after += timeUntil(text, now)
			continue
		}
		unit := map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour}[name]
		if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e6 {
			after += time.Duration(n * float64(unit))
		}
	}
	return max(after, 0)
}

// clocks are the ways in which tools write the time of day.
var clocks = []string{"15:04:05", "15:04", "3:04PM", "3:04 PM", "3PM", "3 PM"}

// inZone has the rules read times of day as a tool with this environment prints them: in the zone
// of its TZ, which need not be that of the host. One that is not known here is the host's.
func inZone(rules []UsageRule, env []string) {
	if len(rules) == 0 {
		return
	}
	for _, kv := range env {
		name, ok := strings.CutPrefix(kv, "TZ=")
		if !ok {
			continue
		}
		zone, err := time.LoadLocation(strings.TrimPrefix(name, ":"))
		for i := range rules {
			if err == nil {
				rules[i].zone = zone
			}
		}
		return // the first one is what programs read
	}
}

// overFor is how long a time of day counts as one that has passed. A tool that is asked again right
// after it names the same one, and the next of that name is a day away: no tool means that.
const overFor = 2 * time.Hour

// timeUntil tells how long it is until a time of day, the next one of that name, or
// until seconds since 1970; 0: it says nothing, or has passed.
func timeUntil(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && len(text) >= 9 {
		if len(text) >= 12 { // milliseconds
			return max(0, time.UnixMilli(n).Sub(now))
		}
		return max(0, time.Unix(n, 0).Sub(now))
	}
	text = strings.ToUpper(strings.ReplaceAll(text, ".", ""))
	for _, layout := range clocks {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		next := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
		if !next.After(now) {
			next = next.AddDate(0, 0, 1)
		}
		if now.Sub(next.AddDate(0, 0, -1)) < overFor {
			return 0
		}
		return next.Sub(now)
	}
	return 0
}
