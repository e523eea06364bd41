package form

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

// Limits of requests beyond those of fsm: rows, bytes and counts.
const (
	MaxPage     = 1000 // rows
	DefaultPage = 100
	MaxWho      = 128 // who says it, names of clients and hosts, versions
	maxKVs      = 64
	MaxKVValue  = 1 << 10 // bytes of a value, and of an address
	maxDuration = 365 * 24 * time.Hour
	MaxLogLines = 10_000  // of output or of a screen
	maxNudge    = 4 << 10 // bytes typed at once
)

// Checks collects the first fault of a request. Its methods do nothing once there
// is one, so handlers read as lists. The zero value is ready.
type Checks struct{ Err error }

// Fail notes a fault, unless there is one.
func (c *Checks) Fail(format string, args ...any) {
	if c.Err == nil {
		c.Err = fault.Invalid(format, args...)
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

// Name asks for the name of a room, role or runner.
func (c *Checks) Name(field, s string) {
	if c.Err != nil || validName(s) {
		return
	}
	if s == "" {
		c.Fail("%s is missing; %s.", field, nameRule)
		return
	}
	c.Fail("%s %s is not a name; %s.", field, fault.Quote(s), nameRule)
}

// OptionalName is Name for what may be left out.
func (c *Checks) OptionalName(field, s string) {
	if s != "" {
		c.Name(field, s)
	}
}

// NewHostName asks for a host's name that may stand in a command; it may be missing.
func (c *Checks) NewHostName(s string) {
	if s == "" || c.Err != nil {
		return
	}
	c.Text("name", s, fsm.MaxHostName)
	if err := fsm.CheckHostName(s); err != nil {
		c.Fail("name %v.", err)
	}
}

// Agent asks for room/role or room/role.N, with star also for room/role.*.
func (c *Checks) Agent(field, s string, star bool) {
	if c.Err != nil {
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
		c.Fail("%s is missing; write room/role, or room/role.2 for the second agent of a role.", field)
		return
	}
	c.Fail("%s %s is not an agent; write room/role, or room/role.2 for the second agent of a role.", field,
		fault.Quote(s))
}

// Address asks for whom mail is: room, room/role, room/role.* or room/role.N.
func (c *Checks) Address(field, s string) {
	if validName(s) || c.Err != nil {
		return
	}
	first, ok := strings.CutSuffix(s, ".1")
	if ok {
		s = first
	}
	if c.Agent(field, s, !ok); c.Err != nil {
		c.Err = nil
		c.Fail("%s %s is no address; write room, room/role, or room/role.2 for the second agent of a role.",
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

// Text asks for valid UTF-8 of at most max bytes; more is too_large.
func (c *Checks) Text(field, s string, limit int) {
	if c.Err != nil {
		return
	}
	if len(s) > limit {
		c.Err = fault.New(code.TooLarge,
			"%s has %d bytes, at most %d are allowed; put large content into a file and name it instead.",
			field, len(s), limit)
		return
	}
	if !utf8.ValidString(s) {
		c.Fail("%s is not valid UTF-8; send text, or encode binary content.", field)
	}
}

// Line asks for text without control characters.
func (c *Checks) Line(field, s string, limit int) {
	c.Text(field, s, limit)
	if c.Err != nil {
		return
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		c.Fail("%s holds a control character at byte %d; send one line of text.", field, i)
	}
}

// Typed asks for what may be typed into a terminal: lines of text. Other control characters are keys,
// and ESC would end the paste that the text travels in.
func (c *Checks) Typed(field, s string) {
	c.Text(field, s, maxNudge)
	c.Line(field, strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s), maxNudge)
}

// FactText makes text of what a host reports, at most limit bytes. What has happened is not refused for
// the words in which it is told: they come from agents, and the fact would be lost with them.
func FactText(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "")
}

// FactLine is FactText without control characters.
func FactLine(s string, limit int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, FactText(s, limit))
}

// Present asks for a word that is not empty; remedy says what to send.
func (c *Checks) Present(field, s, remedy string) {
	if s == "" {
		c.Fail("%s is missing; %s.", field, remedy)
	}
}

// Task asks for the number of a task.
func (c *Checks) Task(id uint64) {
	if id == 0 {
		c.Fail("task is missing; give the number that `vigil task list` shows.")
	}
}

// AtMost asks for a count within its limit.
func (c *Checks) AtMost(what string, n, limit int) {
	if n > limit {
		c.Fail("%d %s are too many; at most %d are allowed.", n, what, limit)
	}
}

// Duration converts an optional duration; nil is 0.
func (c *Checks) Duration(field string, d *durationpb.Duration) time.Duration {
	if d == nil || c.Err != nil {
		return 0
	}
	v := d.AsDuration()
	if d.CheckValid() != nil || v < 0 || v > maxDuration {
		c.Fail("%s is %s; give a duration from 0 to %d days.", field, v, int(maxDuration.Hours()/24))
		return 0
	}
	return v
}

// Expect is how long a task may take; 0: not said.
func (c *Checks) Expect(field string, d *durationpb.Duration) time.Duration {
	v := c.Duration(field, d)
	if err := noun.CheckExpect(v); err != nil && c.Err == nil {
		c.Fail("%s is %s; give %s to %d days.", field, v, noun.MinExpect, int(noun.MaxExpect.Hours()/24))
	}
	return v
}

// After is how long a task is put off; 0: it is not.
func (c *Checks) After(d *durationpb.Duration) time.Duration {
	v := c.Duration("after", d)
	if err := noun.CheckAfter(v); err != nil && c.Err == nil {
		c.Fail("after is %s; give at most %d days.", v, int(noun.MaxAfter.Hours()/24))
	}
	return v
}

// Page gives the number of rows of a page.
func (c *Checks) Page(limit, otherwise uint32) int {
	if limit > MaxPage {
		c.Fail("limit %d is too large; ask for at most %d and page with after.", limit, MaxPage)
	}
	if limit == 0 {
		return int(otherwise)
	}
	return int(limit)
}

// KVs converts a map to sorted pairs.
func (c *Checks) KVs(field string, m map[string]string) []noun.KV {
	c.AtMost(field, len(m), maxKVs)
	if c.Err != nil || len(m) == 0 {
		return nil
	}
	out := sortedKVs(m)
	for _, kv := range out {
		c.Line("A key of "+field, kv.Key, MaxWho)
		c.Present("A key of "+field, kv.Key, "remove the empty one")
		c.Text(field+" "+kv.Key, kv.Value, MaxKVValue)
	}
	return out
}

// RoomWatch validates what a room sets for the watchdog.
func (c *Checks) RoomWatch(w *vigilv1.RoomWatch) noun.RoomWatch {
	out := noun.RoomWatch{IdleLimit: c.Duration("watch.idle_limit", w.GetIdleLimit()),
		Deadline: c.Duration("watch.deadline", w.GetDeadline()), Disabled: w.GetDisabled()}
	var err error
	if out.Untaken, err = noun.ParseUntaken(w.GetUntaken()); err != nil {
		c.Fail("watch.untaken: %v.", err)
	}
	if err := out.Check(); err != nil {
		c.Fail("%v.", err)
	}
	return out
}

// Speaking validates who speaks; joining allows incarnation 0 and room/role.*.
func (c *Checks) Speaking(s *vigilv1.Speaker, joining bool) fsm.Speaker {
	byHand := joining && s.GetIncarnation() == 0
	c.Agent("speaker.agent", s.GetAgent(), byHand)
	c.Text("speaker.token", s.GetToken(), noun.MaxReason)
	if s.GetIncarnation() == 0 && !joining {
		c.Fail("speaker.incarnation is missing; use VIGIL_INCARNATION, or the number that join answered with.")
	}
	return Speaker(s)
}

// Lasts is how long something lasts that a human sets; 0: until somebody ends it. What takes such a
// word back, as ends names it, does not last.
func (c *Checks) Lasts(d *durationpb.Duration, set bool, ends string) time.Duration {
	if d == nil || c.Err != nil {
		return 0
	}
	v := d.AsDuration()
	switch {
	case !set:
		c.Fail("for is %s; %s is over at once, leave it out.", v, ends)
	case d.CheckValid() != nil || v == 0 || noun.CheckFor(v) != nil:
		c.Fail("for is %s; give %s to %d days.", v, noun.MinFor, noun.MaxFor/(24*time.Hour))
	}
	return v
}

// Boot asks for the two identities of a host's words.
func (c *Checks) Boot(boot string) {
	c.Line("boot", boot, MaxWho)
	c.Present("boot", boot, "send the boot id of the machine")
}
