package chain

import (
	"fmt"
	"strings"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// What triage is asked is JSON. It is written here and not by a library, since all servers
// must write the same text, whatever they were built with (law L12). What it answers is read
// by the door, which has the decision logged: see AnswerLook.

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
	return fmt.Sprintf(`{"overseer":"%s","incarnation":"%s","session":"%s","patrolled":%t,"patrol_age_s":%d,`+
		`"cycle":%d,"last_action":"%s",`+
		`"healthy":%d,"unhealthy":%d,"mail_waiting":%d,"fresh_s":%d,"stale_s":%d,"screen":"%s","screen_s":%d,`+
		`"degraded":%s,"verdict":"%s","mechanical_decision":"%s",`+
		`"answer":"{\"decision\":\"%s\",\"reason\":\"...\"}"}`,
		a.Name, a.Inc, session, f.Patrolled, int64(f.Age.Seconds()), c.Cycle, c.Action,
		c.Healthy, c.Unhealthy, f.Mail, int64(f.Fresh.Seconds()), int64(f.Stale.Seconds()), screen, since,
		jsonString(s.Degraded(a.ID)), v.Kind, judge.Decide(f), strings.Join(noun.DecisionNames(), "|"))
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
