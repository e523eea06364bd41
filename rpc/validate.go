package rpc

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// Limits of requests beyond those of fsm.
const (
	maxPage     = 1000
	defaultPage = 100
	maxBatch    = 4096
	maxBeats    = 1 << 16
	maxWho      = 128 // who says it, names of clients and hosts, versions
	maxKVs      = 64
	maxKVValue  = 1 << 10
	maxWait     = 10 * time.Minute
	maxDuration = 365 * 24 * time.Hour
	maxLogLines = 10_000
	maxNudge    = 4 << 10 // bytes typed at once
	maxRunning  = 16_384
	maxRoom     = 512 << 10 // bytes of a whole room; a log entry has 1 MiB
)

// checks collects the first fault of a request. Its methods do nothing once there
// is one, so handlers read as lists.
type checks struct{ err error }

func (c *checks) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fault.Invalid(format, args...)
	}
}

// validName tells whether s matches [a-z0-9][a-z0-9_-]{0,63}.
func validName(s string) bool {
	if len(s) == 0 || len(s) > noun.MaxName {
		return false
	}
	for i := range len(s) {
		ch := s[i]
		switch {
		case ch >= 'a' && ch <= 'z', ch >= '0' && ch <= '9':
		case i > 0 && (ch == '_' || ch == '-'):
		default:
			return false
		}
	}
	return true
}

const nameRule = "use 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit"

// name asks for the name of a room, role or runner.
func (c *checks) name(field, s string) {
	if c.err != nil || validName(s) {
		return
	}
	if s == "" {
		c.fail("%s is missing; %s.", field, nameRule)
		return
	}
	c.fail("%s %s is not a name; %s.", field, fault.Quote(s), nameRule)
}

func (c *checks) optionalName(field, s string) {
	if s != "" {
		c.name(field, s)
	}
}

// newHostName asks for a host's name that may stand in a command; it may be missing.
func (c *checks) newHostName(s string) {
	if s == "" || c.err != nil {
		return
	}
	c.text("name", s, fsm.MaxHostName)
	if err := fsm.CheckHostName(s); err != nil {
		c.fail("name %v.", err)
	}
}

// agent asks for room/role or room/role.N, with star also for room/role.*.
func (c *checks) agent(field, s string, star bool) {
	if c.err != nil {
		return
	}
	room, rest, ok := strings.Cut(s, "/")
	role, n, numbered := strings.Cut(rest, ".")
	ok = ok && validName(room) && validName(role)
	if ok && numbered && !(star && n == "*") {
		ok = slotNumber(n)
	}
	if ok {
		return
	}
	if s == "" {
		c.fail("%s is missing; write room/role, or room/role.2 for the second agent of a role.", field)
		return
	}
	c.fail("%s %s is not an agent; write room/role, or room/role.2 for the second agent of a role.", field,
		fault.Quote(s))
}

// address asks for whom mail is: room, room/role, room/role.* or room/role.N.
func (c *checks) address(field, s string) {
	if validName(s) || c.err != nil {
		return
	}
	first, ok := strings.CutSuffix(s, ".1")
	if ok {
		s = first
	}
	if c.agent(field, s, !ok); c.err != nil {
		c.err = nil
		c.fail("%s %s is no address; write room, room/role, or room/role.2 for the second agent of a role.",
			field, fault.Quote(s))
	}
}

// slotNumber tells whether n is 2..MaxReplicas without leading zeros.
func slotNumber(n string) bool {
	if n == "" || n[0] == '0' || len(n) > 5 {
		return false
	}
	v := 0
	for i := range len(n) {
		if n[i] < '0' || n[i] > '9' {
			return false
		}
		v = v*10 + int(n[i]-'0')
	}
	return v >= 2 && v <= noun.MaxReplicas
}

// text asks for valid UTF-8 of at most max bytes; more is too_large.
func (c *checks) text(field, s string, limit int) {
	if c.err != nil {
		return
	}
	if len(s) > limit {
		c.err = fault.New(code.TooLarge,
			"%s has %d bytes, at most %d are allowed; put large content into a file and name it instead.",
			field, len(s), limit)
		return
	}
	if !utf8.ValidString(s) {
		c.fail("%s is not valid UTF-8; send text, or encode binary content.", field)
	}
}

// line asks for text without control characters.
func (c *checks) line(field, s string, limit int) {
	c.text(field, s, limit)
	if c.err != nil {
		return
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		c.fail("%s holds a control character at byte %d; send one line of text.", field, i)
	}
}

// typed asks for what may be typed into a terminal: lines of text. Other control characters are keys,
// and ESC would end the paste that the text travels in.
func (c *checks) typed(field, s string) {
	c.text(field, s, maxNudge)
	c.line(field, strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s), maxNudge)
}

// factText makes text of what a host reports, at most limit bytes. What has happened is not refused for
// the words in which it is told: they come from agents, and the fact would be lost with them.
func factText(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "")
}

// factLine is factText without control characters.
func factLine(s string, limit int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, factText(s, limit))
}

func (c *checks) present(field, s, remedy string) {
	if s == "" {
		c.fail("%s is missing; %s.", field, remedy)
	}
}

func (c *checks) task(id uint64) {
	if id == 0 {
		c.fail("task is missing; give the number that `vigil task list` shows.")
	}
}

// atMost asks for a count within its limit.
func (c *checks) atMost(what string, n, limit int) {
	if n > limit {
		c.fail("%d %s are too many; at most %d are allowed.", n, what, limit)
	}
}

// duration converts an optional duration; nil is 0.
func (c *checks) duration(field string, d *durationpb.Duration) time.Duration {
	if d == nil || c.err != nil {
		return 0
	}
	v := d.AsDuration()
	if d.CheckValid() != nil || v < 0 || v > maxDuration {
		c.fail("%s is %s; give a duration from 0 to %d days.", field, v, int(maxDuration.Hours()/24))
		return 0
	}
	return v
}

// expect is how long a task may take; 0: not said.
func (c *checks) expect(field string, d *durationpb.Duration) time.Duration {
	v := c.duration(field, d)
	if err := noun.CheckExpect(v); err != nil && c.err == nil {
		c.fail("%s is %s; give %s to %d days.", field, v, noun.MinExpect, int(noun.MaxExpect.Hours()/24))
	}
	return v
}

// after is how long a task is put off; 0: it is not.
func (c *checks) after(d *durationpb.Duration) time.Duration {
	v := c.duration("after", d)
	if err := noun.CheckAfter(v); err != nil && c.err == nil {
		c.fail("after is %s; give at most %d days.", v, int(noun.MaxAfter.Hours()/24))
	}
	return v
}

// page gives the number of rows of a page.
func (c *checks) page(limit, otherwise uint32) int {
	if limit > maxPage {
		c.fail("limit %d is too large; ask for at most %d and page with after.", limit, maxPage)
	}
	if limit == 0 {
		return int(otherwise)
	}
	return int(limit)
}

// kvs converts a map to sorted pairs.
func (c *checks) kvs(field string, m map[string]string) []noun.KV {
	c.atMost(field, len(m), maxKVs)
	if c.err != nil || len(m) == 0 {
		return nil
	}
	out := sortedKVs(m)
	for _, kv := range out {
		c.line("A key of "+field, kv.Key, maxWho)
		c.present("A key of "+field, kv.Key, "remove the empty one")
		c.text(field+" "+kv.Key, kv.Value, maxKVValue)
	}
	return out
}

// roomWatch validates what a room sets for the watchdog.
func (c *checks) roomWatch(w *vigilv1.RoomWatch) noun.RoomWatch {
	out := noun.RoomWatch{IdleLimit: c.duration("watch.idle_limit", w.GetIdleLimit()),
		Deadline: c.duration("watch.deadline", w.GetDeadline()), Disabled: w.GetDisabled()}
	var err error
	if out.Untaken, err = noun.ParseUntaken(w.GetUntaken()); err != nil {
		c.fail("watch.untaken: %v.", err)
	}
	if err := out.Check(); err != nil {
		c.fail("%v.", err)
	}
	return out
}

// speaking validates who speaks; joining allows incarnation 0 and room/role.*.
func (c *checks) speaking(s *vigilv1.Speaker, joining bool) fsm.Speaker {
	byHand := joining && s.GetIncarnation() == 0
	c.agent("speaker.agent", s.GetAgent(), byHand)
	c.text("speaker.token", s.GetToken(), noun.MaxReason)
	if s.GetIncarnation() == 0 && !joining {
		c.fail("speaker.incarnation is missing; use VIGIL_INCARNATION, or the number that join answered with.")
	}
	return speaker(s)
}

// lasts is how long something lasts that a human sets; 0: until somebody ends it. What takes such a
// word back, as ends names it, does not last.
func (c *checks) lasts(d *durationpb.Duration, set bool, ends string) time.Duration {
	if d == nil || c.err != nil {
		return 0
	}
	v := d.AsDuration()
	switch {
	case !set:
		c.fail("for is %s; %s is over at once, leave it out.", v, ends)
	case d.CheckValid() != nil || v == 0 || noun.CheckFor(v) != nil:
		c.fail("for is %s; give %s to %d days.", v, noun.MinFor, noun.MaxFor/(24*time.Hour))
	}
	return v
}

// boot asks for the two identities of a host's words.
func (c *checks) boot(boot string) {
	c.line("boot", boot, maxWho)
	c.present("boot", boot, "send the boot id of the machine")
}
