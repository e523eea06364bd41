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

// waitPassed is the wait for a time that has just passed: the limit is over, or will be in a moment.
const waitPassed = time.Minute

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
		if after, said := waitOf(re, all[len(all)-1], at); said {
			if after == 0 {
				after = waitPassed
			}
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

// waitOf reads the named groups of a match, and tells whether they say anything; 0: it is over.
func waitOf(re *regexp.Regexp, match []string, now time.Time) (after time.Duration, said bool) {
	for i, name := range re.SubexpNames() {
		text := strings.TrimSpace(match[i])
		if name == "" || text == "" {
			continue
		}
		if name == "at" {
			until, ok := timeUntil(text, now)
			after, said = after+until, said || ok
			continue
		}
		unit := map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour}[name]
		if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e6 {
			after, said = after+time.Duration(n*float64(unit)), true
		}
	}
	return max(after, 0), said
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

// timeUntil tells how long it is until a time of day, on the day that is named before it or else the next
// one of that name, or until seconds since 1970; 0: that has just passed. ok is false where it says nothing.
func timeUntil(text string, now time.Time) (left time.Duration, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && len(text) >= 9 {
		if len(text) >= 12 { // milliseconds
			return untilThen(time.UnixMilli(n), now)
		}
		return untilThen(time.Unix(n, 0), now)
	}
	text = strings.ToUpper(strings.ReplaceAll(text, ".", ""))
	day, text, named := dayOf(text, now)
	for _, layout := range clocks {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		then := time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
		if named == "date" {
			return untilThen(then, now)
		}
		every := 1
		if named != "" {
			every = 7
		}
		if !then.After(now) {
			then = then.AddDate(0, 0, every)
		}
		if now.Sub(then.AddDate(0, 0, -every)) < overFor {
			return 0, true
		}
		return then.Sub(now), true
	}
	return 0, false
}

// untilThen tells how long it is until a time that has one date: one that passed long ago says nothing.
func untilThen(then, now time.Time) (left time.Duration, ok bool) {
	return max(0, then.Sub(now)), now.Sub(then) < overFor
}

// dayOf takes the day off a time in upper case, such as "SEP 18 AT 3AM" or "THURSDAY 3PM", and tells how it
// is named: "date", "weekday" or "" for today.
func dayOf(text string, now time.Time) (day time.Time, rest, named string) {
	words := strings.Fields(strings.ReplaceAll(text, ",", " "))
	at := func(n int) string { // what follows the day
		if len(words) > n && words[n] == "AT" {
			n++
		}
		return strings.Join(words[min(n, len(words)):], " ")
	}
	if len(words) < 2 || len(words[0]) < 3 {
		return now, text, ""
	}
	for m := time.January; m <= time.December; m++ {
		n, err := strconv.Atoi(strings.TrimRight(words[1], "DHNRST")) // 18th
		if err != nil || n < 1 || n > 31 || !begins(m.String(), words[0]) {
			continue
		}
		if len(words) > 2 && len(words[2]) == 4 {
			if year, err := strconv.Atoi(words[2]); err == nil {
				return time.Date(year, m, n, 12, 0, 0, 0, now.Location()), at(3), "date"
			}
		}
		day = time.Date(now.Year(), m, n, 12, 0, 0, 0, now.Location())
		switch {
		case now.Sub(day) > 180*24*time.Hour: // of next year
			day = day.AddDate(1, 0, 0)
		case day.Sub(now) > 180*24*time.Hour: // of last year
			day = day.AddDate(-1, 0, 0)
		}
		return day, at(2), "date"
	}
	for w := time.Sunday; w <= time.Saturday; w++ {
		if begins(w.String(), words[0]) {
			return now.AddDate(0, 0, (int(w-now.Weekday())+7)%7), at(1), "weekday"
		}
	}
	return now, text, ""
}

// begins tells that a word in upper case is a name, or the beginning of one.
func begins(name, word string) bool { return strings.HasPrefix(strings.ToUpper(name), word) }
