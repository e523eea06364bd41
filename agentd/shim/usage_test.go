package shim

import (
	"testing"
	"time"
)

func TestOutOfQuota(t *testing.T) {
	zone := time.FixedZone("X", 2*3600)
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, zone)
	const at = `resets (?:at )?(?P<at>[0-9:]+ ?(?:[ap]\.?m\.?)?)`
	for name, c := range map[string]struct {
		rules []UsageRule
		code  int
		tail  string
		after time.Duration
		hit   bool
	}{
		"no rules":     {nil, 1, "limit", 0, false},
		"code":         {[]UsageRule{{Code: 3, After: time.Hour}}, 3, "", time.Hour, true},
		"another code": {[]UsageRule{{Code: 3, After: time.Hour}}, 4, "", 0, false},
		"pattern, any code": {[]UsageRule{{Pattern: "(?i)usage limit", After: time.Minute}}, 9,
			"Usage Limit hit", time.Minute, true},
		"pattern, the highest code":     {[]UsageRule{{Pattern: "limit"}}, 255, "limit", 0, true},
		"pattern, it ended well":        {[]UsageRule{{Pattern: "limit"}}, 0, "limit", 0, false},
		"pattern, by signal":            {[]UsageRule{{Pattern: "limit"}}, -1, "limit", 0, false},
		"pattern, by signal in a shell": {[]UsageRule{{Pattern: "limit"}}, 137, "limit", 0, false},
		"pattern and code of a signal":  {[]UsageRule{{Code: 143, Pattern: "limit"}}, 143, "limit", 0, true},
		"both needed":                   {[]UsageRule{{Code: 3, Pattern: "limit"}}, 3, "fine", 0, false},
		"empty rule":                    {[]UsageRule{{After: time.Hour}}, 1, "anything", 0, false},
		"broken pattern":                {[]UsageRule{{Pattern: "("}}, 1, "(", 0, false},
		"first that hits": {[]UsageRule{{Pattern: "b", After: 1}, {Pattern: "a", After: 2},
			{Pattern: "a", After: 3}}, 1, "a", 2, true},
		"seconds": {[]UsageRule{{Pattern: `after (?P<seconds>[\d.]+)s`}}, 1, "after 1.5s",
			1500 * time.Millisecond, true},
		"hours and minutes": {[]UsageRule{{Pattern: `(?:(?P<hours>\d+)h )?(?P<minutes>\d+)m`}}, 1,
			"in 2h 5m", 2*time.Hour + 5*time.Minute, true},
		"minutes alone": {[]UsageRule{{Pattern: `(?:(?P<hours>\d+)h )?(?P<minutes>\d+)m`}}, 1,
			"in 5m", 5 * time.Minute, true},
		"the last one": {[]UsageRule{{Pattern: `wait (?P<seconds>\d+)`}}, 1, "wait 10\nwait 20",
			20 * time.Second, true},
		"at, today":    {[]UsageRule{{Pattern: at}}, 1, "resets 15:04", 34 * time.Minute, true},
		"at, tomorrow": {[]UsageRule{{Pattern: at}}, 1, "resets at 12:30", 22 * time.Hour, true},
		"at, now":      {[]UsageRule{{Pattern: at, After: time.Minute}}, 1, "resets at 14:30", time.Minute, true},
		"at, over for less than two hours": {[]UsageRule{{Pattern: at, After: time.Minute}}, 1, "resets at 12:31",
			time.Minute, true},
		"at, over, nothing else is said": {[]UsageRule{{Pattern: at}}, 1, "resets at 14:29", time.Minute, true},
		"nothing left": {[]UsageRule{{Pattern: `in (?P<minutes>\d+) minutes`, After: time.Hour}}, 1, "in 0 minutes",
			time.Minute, true},
		"at, unix, just now": {[]UsageRule{{Pattern: `reached\|(?P<at>\d+)`, After: time.Hour}}, 1,
			"reached|1772368190", time.Minute, true},
		"at 3pm":       {[]UsageRule{{Pattern: at}}, 1, "resets 3pm (X)", 30 * time.Minute, true},
		"at 3:10 p.m.": {[]UsageRule{{Pattern: at}}, 1, "resets 3:10 p.m.", 40 * time.Minute, true},
		"at 2 AM": {[]UsageRule{{Pattern: `at (?P<at>\d+ [AP]M)`}}, 1, "at 2 AM",
			11*time.Hour + 30*time.Minute, true},
		"at midnight":    {[]UsageRule{{Pattern: at}}, 1, "resets 12am", 9*time.Hour + 30*time.Minute, true},
		"at, unix":       {[]UsageRule{{Pattern: `reached\|(?P<at>\d+)`}}, 1, "reached|1772371800", time.Hour, true},
		"at, unix in ms": {[]UsageRule{{Pattern: `reached\|(?P<at>\d+)`}}, 1, "reached|1772371800000", time.Hour, true},
		"at, unix, has passed": {[]UsageRule{{Pattern: `reached\|(?P<at>\d+)`, After: time.Minute}}, 1,
			"reached|1700000000", time.Minute, true},
		"at, no time": {[]UsageRule{{Pattern: `at (?P<at>\S+)`, After: time.Minute}}, 1, "at 99:99", time.Minute, true},
		"too large": {[]UsageRule{{Pattern: `in (?P<hours>\d+)h`, After: time.Minute}}, 1,
			"in 99999999999h", time.Minute, true},
	} {
		after, hit := outOfQuota(c.rules, c.code, c.tail, now)
		if after != c.after || hit != c.hit {
			t.Errorf("%s: %s %v, want %s %v", name, after, hit, c.after, c.hit)
		}
	}
}

// A tool that is started again right after its limit may name the same time of day once more: that is
// over, not a day away, on either side of midnight, and worth a try at once.
func TestLimitThatHasJustBeenReset(t *testing.T) {
	rules := []UsageRule{{Pattern: `resets (?P<at>[0-9]{1,2}(:[0-9]{2})? ?(am|pm))`, After: time.Hour}}
	for tail, now := range map[string]time.Time{
		"You've hit your limit · resets 3pm":      time.Date(2026, 3, 1, 15, 0, 20, 0, time.UTC),
		"You've hit your limit · resets 11:59pm":  time.Date(2026, 3, 1, 0, 0, 20, 0, time.UTC),
		"You've hit your limit · resets 12am":     time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"You've hit your limit · resets 10:30 pm": time.Date(2026, 3, 1, 0, 29, 59, 0, time.UTC),
	} {
		if after, hit := outOfQuota(rules, 1, tail, now); !hit || after != time.Minute {
			t.Errorf("%q at %s: %s %v, want a minute", tail, now.Format(time.TimeOnly), after, hit)
		}
	}
}

// A limit of a week is reset on a day: that is a date or the name of a weekday, before the time of day.
func TestLimitThatIsResetOnADay(t *testing.T) {
	rules := []UsageRule{{Pattern: `resets (?P<at>[A-Za-z0-9:, ]+)`, After: 10 * time.Minute}}
	now := time.Date(2026, 9, 17, 14, 0, 0, 0, time.UTC) // a Thursday
	for text, want := range map[string]time.Duration{
		"Sep 18 at 3am":             13 * time.Hour,
		"September 18, 3:30 AM":     13*time.Hour + 30*time.Minute,
		"Sep 18th, 2026 10:04 AM":   20*time.Hour + 4*time.Minute,
		"Sep 17 at 3pm":             time.Hour,
		"Sep 17 at 1pm":             time.Minute, // just over
		"Sep 17 at 11am":            10 * time.Minute,
		"Sep 16 at 3pm":             10 * time.Minute,
		"Jan 2 at 3am":              24 * time.Hour, // no tool parks for longer
		"Friday 9am":                19 * time.Hour,
		"Fri at 9:15 am":            19*time.Hour + 15*time.Minute,
		"Thursday 3pm":              time.Hour,
		"Thu 1pm":                   time.Minute,
		"Thu 9am":                   24 * time.Hour,
		"Foo 18 at 3am":             10 * time.Minute,
		"Sep 18":                    10 * time.Minute,
		"Sep 18 at at 3am":          10 * time.Minute,
		"Sep 99999999999999 at 3am": 10 * time.Minute,
		"at":                        10 * time.Minute,
	} {
		if after, hit := outOfQuota(rules, 1, "resets "+text, now); !hit || after != want {
			t.Errorf("%s: %s %v, want %s", text, after, hit, want)
		}
	}
}

// A date without a year is the nearest of that name: after the turn of the year it was yesterday.
func TestLimitThatWasResetLastYear(t *testing.T) {
	rules := []UsageRule{{Pattern: `resets (?P<at>.+)`, After: 10 * time.Minute}}
	now := time.Date(2027, 1, 1, 0, 10, 0, 0, time.UTC)
	if after, hit := outOfQuota(rules, 1, "resets Dec 31 at 11pm", now); !hit || after != time.Minute {
		t.Errorf("%s %v, want a minute", after, hit)
	}
}

// What a tool prints is in the zone of its TZ, whatever that of the host is; a zone that nobody knows is
// the host's.
func TestTimesOfDayAreInTheZoneOfTheAgent(t *testing.T) {
	host := time.FixedZone("host", 9*3600)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		env  []string
		want time.Duration
	}{
		"none":            {[]string{"PATH=/bin", "TZDIR=/x"}, 2 * time.Hour}, // 21:00 on the host
		"UTC":             {[]string{"PATH=/bin", "TZ=UTC"}, 11 * time.Hour},
		"empty is UTC":    {[]string{"TZ="}, 11 * time.Hour},
		"with a colon":    {[]string{"TZ=:UTC"}, 11 * time.Hour},
		"the first one":   {[]string{"TZ=UTC", "TZ=Nowhere/Else"}, 11 * time.Hour},
		"unknown":         {[]string{"TZ=Nowhere/Else"}, 2 * time.Hour},
		"a file":          {[]string{"TZ=/etc/passwd"}, 2 * time.Hour},
		"a folder above":  {[]string{"TZ=../../etc/passwd"}, 2 * time.Hour},
		"a rule of POSIX": {[]string{"TZ=<-03>3"}, 2 * time.Hour},
	} {
		rules := []UsageRule{{Code: 9}, {Pattern: `resets (?P<at>[0-9:]+)`}}
		inZone(rules, c.env)
		if after, hit := outOfQuota(rules, 1, "resets 23:00", now.In(host)); !hit || after != c.want {
			t.Errorf("%s: %s %v, want %s", name, after, hit, c.want)
		}
	}
}

// A1: no text that an agent prints makes its pause longer than a day.
func TestA01TextOfAnAgentParksForADayAtMost(t *testing.T) {
	for _, tail := range []string{"usage limit reached|99999999999",
		"usage limit reached|9223372036854775807", "usage limit reached|253402300799999", "in 999999h 999999m"} {
		rules := []UsageRule{{Pattern: `usage limit reached\|(?P<at>\d+)`},
			{Pattern: `in (?P<hours>\d+)h (?P<minutes>\d+)m`}}
		if after, hit := outOfQuota(rules, 1, tail, time.Now()); !hit || after <= 0 || after > 24*time.Hour {
			t.Errorf("%q: %s %v, want at most a day", tail, after, hit)
		}
	}
	if after, _ := outOfQuota([]UsageRule{{Code: 3, After: 1000 * time.Hour}}, 3,
		"", time.Now()); after != 24*time.Hour {
		t.Errorf("a rule that says 1000 h parks for %s", after)
	}
}
