package chain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// What triage is asked and answers is JSON. It is written and read here and not by a
// library, since all servers must read the same answer alike, whatever they were built
// with (law L12).

// lookText is the text of the task that asks triage. The field names are a promise; names
// and words of vigil need no escapes, what a host says of itself does.
func (s *View) lookText(a *noun.Agent, f *judge.OverseerFacts) string {
	v, session := s.Verdict(a.ID, true), "alive"
	if f.Dead {
		session = "dead"
	}
	var c noun.Chain
	if x := a.Notes().Chain; x.Inc == a.Inc {
		c = *x
	}
	screen, since := noun.PromptUnknown, int64(0)
	if sc := a.Screen(); sc != nil {
		screen, since = sc.Kind, int64(s.Meta.Clock.Sub(sc.At).Seconds())
	}
	return fmt.Sprintf(`{"overseer":"%s","incarnation":"%s","session":"%s","patrolled":%t,"patrol_age_s":%d,"cycle":%d,"last_action":"%s",`+
		`"healthy":%d,"unhealthy":%d,"mail_waiting":%d,"fresh_s":%d,"stale_s":%d,"screen":"%s","screen_s":%d,"degraded":%s,"verdict":"%s","mechanical_decision":"%s",`+
		`"answer":"{\"decision\":\"%s\",\"reason\":\"...\"}"}`,
		a.Name, a.Inc, session, f.Patrolled, int64(f.Age.Seconds()), c.Cycle, c.Action,
		c.Healthy, c.Unhealthy, f.Mail, int64(f.Fresh.Seconds()), int64(f.Stale.Seconds()), screen, since, jsonString(s.Degraded(a.ID)), v.Kind, judge.Decide(f), strings.Join(noun.DecisionNames(), "|"))
}

// ParseDecision reads the answer of triage: one flat JSON object with the strings decision
// and, if it likes, reason.
func ParseDecision(answer string) (d noun.Decision, reason string, ok bool) {
	fields, ok := flatObject(answer)
	if !ok {
		return 0, "", false
	}
	for d, name := range noun.DecisionNames() {
		if fields["decision"] == name {
			return noun.Decision(d), noun.Clip(fields["reason"], noun.MaxTriageWhy), true
		}
	}
	return 0, "", false
}

// jsonString writes a text as a string of JSON.
func jsonString(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text { // bytes that are no UTF-8 become the replacement character
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&out, "\\u%04x", r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// maxAnswer bounds what is read as an answer, in bytes.
const maxAnswer = 16 << 10

// flatObject reads a JSON object of strings, numbers and words; only strings are kept, of a
// name that comes twice the last one.
func flatObject(text string) (map[string]string, bool) {
	x := jsonText{rest: text}
	if len(text) > maxAnswer || !utf8.ValidString(text) || !x.token('{') {
		return nil, false
	}
	out := map[string]string{}
	for first := true; ; first = false {
		switch {
		case x.token('}'):
			return out, x.end()
		case !first && !x.token(','):
			return nil, false
		}
		name, ok := x.str()
		if !ok || !x.token(':') {
			return nil, false
		}
		if value, ok := x.str(); ok {
			out[name] = value
		} else if !x.word() {
			return nil, false
		}
	}
}

// jsonText is what is left to be read.
type jsonText struct{ rest string }

func (x *jsonText) space() { x.rest = strings.TrimLeft(x.rest, " \t\r\n") }

func (x *jsonText) end() bool {
	x.space()
	return x.rest == ""
}

func (x *jsonText) token(c byte) bool {
	x.space()
	if x.rest == "" || x.rest[0] != c {
		return false
	}
	x.rest = x.rest[1:]
	return true
}

// word takes a number, true, false or null, without judging numbers closely.
func (x *jsonText) word() bool {
	x.space()
	n := strings.IndexAny(x.rest, ",} \t\r\n")
	if n <= 0 {
		return false
	}
	word := x.rest[:n]
	x.rest = x.rest[n:]
	return word == "true" || word == "false" || word == "null" || strings.Trim(word, "+-.0123456789eE") == ""
}

// str takes a string. Without one nothing is taken.
func (x *jsonText) str() (string, bool) {
	x.space()
	if !strings.HasPrefix(x.rest, `"`) {
		return "", false
	}
	var out strings.Builder
	for i := 1; i < len(x.rest); i++ {
		switch c := x.rest[i]; {
		case c == '"':
			x.rest = x.rest[i+1:]
			return out.String(), true
		case c < ' ':
			return "", false
		case c != '\\':
			out.WriteByte(c)
		default:
			r, n := escaped(x.rest[i+1:])
			if n == 0 {
				return "", false
			}
			out.WriteRune(r)
			i += n
		}
	}
	return "", false
}

// escaped reads what follows a backslash; n is how many bytes it takes, 0: it is none. Halves
// of surrogate pairs become the replacement character.
func escaped(s string) (r rune, n int) {
	if s == "" {
		return 0, 0
	}
	if at := strings.IndexByte(`"\/bfnrt`, s[0]); at >= 0 {
		return rune("\"\\/\b\f\n\r\t"[at]), 1
	}
	if s[0] != 'u' || len(s) < 5 {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[1:5], 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(v), 5
}
